//! Coraza behind a small proxy of its own (`bench/peers/coraza`), built with the Go that is here.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

const FILES: &[(&str, &str)] = &[
    ("main.go", include_str!("../../../../bench/peers/coraza/main.go")),
    ("go.mod", include_str!("../../../../bench/peers/coraza/go.mod")),
    ("go.sum", include_str!("../../../../bench/peers/coraza/go.sum")),
];

/// Builds and starts it in front of the origin, on one core as everyone else.
pub fn start(site: &Site, name: &str) -> Result<Server, MeasureError> {
    let directory = site.directory_of(name)?;
    build(&directory)?;
    let port = weir_measure::port::free()?;
    let program = directory.join("coraza");
    let child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: vec![format!("127.0.0.1:{port}").into(), format!("127.0.0.1:{}", site.origin_port).into()],
        environment: vec![("GOMAXPROCS", "1".into())],
        core: site.placement.tested,
        nice: site.placement.nice,
        output: directory.join("coraza.out"),
    })?;
    Server::adopt(child, port, directory, Vec::new(), false)
}

fn build(directory: &Path) -> Result<(), MeasureError> {
    for (name, text) in FILES {
        write(&directory.join(name), text)?;
    }
    let missing = |why: String| MeasureError::Missing(format!("coraza cannot be built: {why}"));
    let output = Command::new(OsStr::new("go")).args(["build", "-o", "coraza", "."]).current_dir(directory).output();
    let output =
        output.map_err(|error| missing(format!("go cannot be started ({error}); it needs Go 1.25 or later")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(missing(format!("go says: {}", words.trim().lines().last().unwrap_or("nothing"))))
}
