//! The nginx configuration of `weir up`: what a small real one looks like, with every path in
//! the run directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::installation::Installation;
use super::port;
use super::run_dir::RunDir;
use super::worker_user::WorkerUser;
use crate::Failure;
use crate::arguments::Up;

/// With a gateway that control configures.
const GATEWAY: &str = include_str!("gateway.conf");
/// With a policy that nginx loads itself.
const ALONE: &str = include_str!("nginx.conf");

/// Writes it and returns its path.
pub(super) fn write(dir: &RunDir, installation: &Installation, up: &Up) -> Result<PathBuf, Failure> {
    let path = dir.path().join("nginx.conf");
    let text = match &installation.policy {
        Some(policy) => {
            ALONE.replace("@POLICY@", &quotable(policy)?).replace("@ORIGIN@", &port::any_free()?.to_string())
        }
        None => GATEWAY.to_owned(),
    };
    let text = fill(text, dir, installation, up)?;
    fs::write(&path, text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

fn fill(template: String, dir: &RunDir, installation: &Installation, up: &Up) -> Result<String, Failure> {
    let values = [
        ("@DIR@", quotable(dir.path())?),
        ("@MODULE@", quotable(&installation.module)?),
        ("@USER@", user_line()),
        ("@WORKERS@", up.workers.to_string()),
        ("@PORT@", up.port.to_string()),
    ];
    Ok(values.iter().fold(template, |text, (name, value)| text.replace(name, value)))
}

/// Workers give up root; without root nginx would ignore the line and warn.
fn user_line() -> String {
    WorkerUser::find().map_or_else(String::new, |user| format!("user {} {};", user.name, user.group))
}

fn quotable(path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '$', '\n']) => Ok(text.to_owned()),
        _ => Err(Failure::new(format!("{}: nginx's configuration cannot hold such a name", path.display()))),
    }
}
