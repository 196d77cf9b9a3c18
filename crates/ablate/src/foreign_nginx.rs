//! Any nginx: a whole configuration for each variant, one of them running at a time, because they
//! listen on the same ports.
//!
//! A configuration is started from a directory of links to what lies beside it, so that its
//! relative includes are found, as a copy without `daemon`, `pid` and `master_process`: an nginx that
//! runs from the same file keeps its pid file, and ours stays in the foreground.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::stage::Stage;
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::nginx;
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// Directives of the main context that we set ourselves.
const OURS: [&str; 3] = ["daemon", "pid", "master_process"];
/// Longest configuration that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Configurations, the whole one first.
pub struct ForeignNginx<'s> {
    site: &'s Site,
    configurations: Vec<PathBuf>,
    address: SocketAddr,
    running: Option<(usize, Server)>,
    fresh: bool,
}

impl<'s> ForeignNginx<'s> {
    /// Reads them; starts nothing. `configurations` has the one with everything first.
    pub fn new(site: &'s Site, configurations: &[PathBuf], address: SocketAddr) -> Result<Self, MeasureError> {
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            return Err(MeasureError::Usage(format!(
                "{address} is not an address of this machine, where nginx is started"
            )));
        }
        let copies = configurations.iter().enumerate().map(|(number, path)| copy(site, number, path));
        Ok(Self { site, configurations: copies.collect::<Result<_, _>>()?, address, running: None, fresh: false })
    }
}

/// Makes the directory from which a configuration is started; the configuration's path in it.
fn copy(site: &Site, number: usize, path: &Path) -> Result<PathBuf, MeasureError> {
    let path = std::fs::canonicalize(path).map_err(MeasureError::file(path))?;
    let length = std::fs::metadata(&path).map_err(MeasureError::file(&path))?.len();
    if length > MAX_BYTES {
        return Err(MeasureError::Usage(format!("{}: longer than {} MiB", path.display(), MAX_BYTES >> 20)));
    }
    let text = std::fs::read_to_string(&path).map_err(MeasureError::file(&path))?;
    let directory = site.directory_of(&format!("configuration-{number}"))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or(OsStr::new("nginx.conf"));
    for entry in std::fs::read_dir(folder).map_err(MeasureError::file(folder))? {
        let entry = entry.map_err(MeasureError::file(folder))?;
        if entry.file_name() != name {
            let link = directory.join(entry.file_name());
            std::os::unix::fs::symlink(entry.path(), &link).map_err(MeasureError::file(&link))?;
        }
    }
    let copy = directory.join(name);
    write(&copy, &stripped(&text))?;
    Ok(copy)
}

/// The text without those of its main directives that we set ourselves. Line breaks stay, so that
/// nginx's messages name the right lines.
fn stripped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut quote, mut comment) = (0usize, None, false);
    let mut statement = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        statement.push(character);
        if comment || character == '#' && quote.is_none() && begins_word(&statement) {
            comment = character != '\n';
            continue;
        }
        match (quote, character) {
            (_, '\\') => statement.extend(characters.next()),
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if begins_word(&statement) => quote = Some(character),
            (None, ';' | '{' | '}') => {
                match character {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                let ours = depth == 0 && character == ';' && OURS.contains(&first_word(&statement));
                if ours {
                    out.extend(statement.chars().filter(|character| *character == '\n'));
                } else {
                    out.push_str(&statement);
                }
                statement.clear();
            }
            _ => {}
        }
    }
    out + &statement
}

/// Whether the last character begins a word, as quotes and comments must.
fn begins_word(statement: &str) -> bool {
    statement.chars().rev().nth(1).is_none_or(|before| before.is_whitespace())
}

/// The first word behind comments.
fn first_word(statement: &str) -> &str {
    let line = statement.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.and_then(|line| line.split([' ', '\t', ';']).next()).unwrap_or_default()
}

impl Stage for ForeignNginx<'_> {
    fn enter(&mut self, variant: usize, _copy: usize, _on: &[bool]) -> Result<(), MeasureError> {
        if self.running.as_ref().is_some_and(|(running, _)| *running == variant) {
            return Ok(());
        }
        self.fresh = true;
        self.running = None;
        let directory = self.site.directory_of(&format!("variant-{variant}"))?;
        let pid = directory.join("nginx.pid");
        let main = format!("daemon off; master_process on; pid {};", pid.display());
        let arguments: Vec<OsString> =
            vec!["-c".into(), self.configurations[variant].clone().into(), "-g".into(), main.into()];
        let child = Child::start(Launch {
            program: OsStr::new(&nginx::binary()),
            arguments,
            environment: Vec::new(),
            core: self.site.placement.tested,
            nice: self.site.placement.nice,
            output: directory.join("error.log"),
        })?;
        self.running = Some((variant, Server::adopt(child, self.address.port(), directory, Vec::new(), true)?));
        Ok(())
    }

    fn take_fresh(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_ns(&mut self) -> Result<u64, MeasureError> {
        let (_, server) =
            self.running.as_ref().ok_or_else(|| MeasureError::program("nginx", "has not been started"))?;
        Ok(server.cpu()?.run_ns)
    }

    fn explain(&self) -> String {
        self.running.as_ref().map(|(_, server)| server.error_log()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_directives_of_the_main_context_go_and_lines_stay() {
        for (text, want) in [
            ("user root;\npid /run/nginx.pid;\nevents {}\n", "user root;\n\nevents {}\n"),
            ("# pid x;\ndaemon on; master_process off;http{pid x;}", "\nhttp{pid x;}"),
            ("log_format a 'pid; {'; pid\n  x;\n", "log_format a 'pid; {';\n\n"),
            ("map $a $b { \"~^{\" 1; } daemon off;", "map $a $b { \"~^{\" 1; }"),
            ("error_log x; # pid y;\npid z;", "error_log x;\n"),
            ("", ""),
        ] {
            assert_eq!(stripped(text), want, "{text}");
        }
    }
}
