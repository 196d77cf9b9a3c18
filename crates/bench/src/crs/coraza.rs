//! Coraza behind a small proxy of its own (`bench/peers/coraza`), built with the Go that is here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
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

/// The CRS 4 that it runs, as Weir reads it: a directory with `rules` and `crs-setup.conf`.
pub fn rules(site: &Site) -> Result<PathBuf, MeasureError> {
    let directory = site.directory_of("crs4")?;
    write_files(&directory)?;
    let said = go(&directory, &["mod", "download", "-json", "github.com/corazawaf/coraza-coreruleset/v4"])?;
    let about: serde_json::Value = serde_json::from_slice(&said).unwrap_or_default();
    let source = about["Dir"].as_str().ok_or_else(|| missing("go does not say where the CRS of Coraza lies".into()))?;
    let source = Path::new(source).join("rules");
    for (from, to) in [("@owasp_crs", "rules"), ("@crs-setup.conf.example", "crs-setup.conf")] {
        let link = directory.join(to);
        if !link.exists() {
            std::os::unix::fs::symlink(source.join(from), &link).map_err(MeasureError::file(&link))?;
        }
    }
    Ok(directory)
}

fn build(directory: &Path) -> Result<(), MeasureError> {
    write_files(directory)?;
    go(directory, &["build", "-o", "coraza", "."]).map(drop)
}

fn write_files(directory: &Path) -> Result<(), MeasureError> {
    FILES.iter().try_for_each(|(name, text)| write(&directory.join(name), text))
}

fn missing(why: String) -> MeasureError {
    MeasureError::Missing(format!("Coraza and its CRS 4 cannot be built: {why}"))
}

/// What a command of Go prints.
fn go(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>, MeasureError> {
    let output = Command::new(OsStr::new("go")).args(arguments).current_dir(directory).output();
    let output =
        output.map_err(|error| missing(format!("go cannot be started ({error}); it needs Go 1.25 or later")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(missing(format!("go says: {}", words.trim().lines().last().unwrap_or("nothing"))))
}
