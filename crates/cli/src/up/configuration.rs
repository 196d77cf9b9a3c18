//! The nginx configuration of `weir up`: what a small real one looks like, with every path in
//! the run directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::parts::Parts;
use super::run_dir::{RunDir, user};
use crate::Failure;
use crate::arguments::Up;

const TEMPLATE: &str = include_str!("nginx.conf");

/// Writes it and returns its path.
pub(super) fn write(dir: &RunDir, parts: &Parts, policy: &Path, up: &Up, origin: u16) -> Result<PathBuf, Failure> {
    let path = dir.path().join("nginx.conf");
    let text = fill(dir, parts, policy, up, origin)?;
    fs::write(&path, text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(path)
}

fn fill(dir: &RunDir, parts: &Parts, policy: &Path, up: &Up, origin: u16) -> Result<String, Failure> {
    let values = [
        ("@DIR@", quotable(dir.path())?),
        ("@MODULE@", quotable(&parts.module)?),
        ("@POLICY@", quotable(policy)?),
        ("@USER@", user_line()),
        ("@WORKERS@", up.workers.to_string()),
        ("@PORT@", up.port.to_string()),
        ("@ORIGIN@", origin.to_string()),
    ];
    Ok(values.iter().fold(TEMPLATE.to_owned(), |text, (name, value)| text.replace(name, value)))
}

/// Workers give up root where somebody else exists; without root nginx ignores the line and warns.
fn user_line() -> String {
    let exists = |name: &str| {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        users.lines().any(|line| line.split(':').next() == Some(name))
    };
    if user() != 0 {
        return String::new();
    }
    let known = [("www-data", "www-data"), ("nginx", "nginx"), ("nobody", "nogroup"), ("nobody", "nobody")];
    let found = known.iter().find(|(name, _)| exists(name));
    found.map_or_else(String::new, |(name, group)| format!("user {name} {group};"))
}

fn quotable(path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '$', '\n']) => Ok(text.to_owned()),
        _ => Err(Failure::new(format!("{}: nginx's configuration cannot hold such a name", path.display()))),
    }
}
