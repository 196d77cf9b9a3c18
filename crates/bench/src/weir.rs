//! The command `weir`, which scenarios run as its users do.

use std::path::PathBuf;

use weir_measure::error::MeasureError;

/// Path of the command: `WEIR_BIN`, or the one that was built beside this program.
pub fn command() -> Result<PathBuf, MeasureError> {
    let path = match std::env::var_os("WEIR_BIN") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe().map_err(MeasureError::file("/proc/self/exe"))?.with_file_name("weir"),
    };
    std::fs::canonicalize(&path).map_err(|error| {
        let path = path.display();
        MeasureError::Missing(format!("{path}: {error}; `make build` builds the command, WEIR_BIN names another"))
    })
}
