//! Weir's nginx module, which a run measures.

use std::path::{Path, PathBuf};

use crate::error::MeasureError;

/// The module's file name after a build.
const FILE: &str = "libngx_http_weir_module.so";
/// Where builds lie, besides the directory of the running program.
const BUILDS: &[&str] = &["target/release", "target/quick"];
/// What to do when the module is missing.
pub(crate) const NO_MODULE: &str =
    "Weir's module has not been built; `make build` does it, --module or WEIR_MODULE names another";

/// The module to measure: as asked, else the one that was built with this program, else the newest
/// build. `None` if there is none.
pub fn find(asked: Option<&Path>) -> Result<Option<PathBuf>, MeasureError> {
    let asked = asked.map(Path::to_owned).or_else(|| std::env::var_os("WEIR_MODULE").map(PathBuf::from));
    if let Some(path) = asked {
        // nginx resolves relative paths against its own prefix.
        return std::fs::canonicalize(&path).map(Some).map_err(MeasureError::file(path));
    }
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name(FILE));
    if let Some(path) = beside.filter(|path| path.exists()) {
        return Ok(Some(path));
    }
    let built = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let builds = BUILDS.iter().map(|directory| Path::new(directory).join(FILE));
    let newest = builds.filter(|path| built(path).is_some()).max_by_key(built);
    newest.map(|path| std::fs::canonicalize(&path).map_err(MeasureError::file(path))).transpose()
}
