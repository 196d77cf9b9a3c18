//! Weir's own nginx: one for each variant, with a copy of the policy in which parts are off.
//!
//! All of them run all the time and take turns. Two processes of the same build differ by a percent
//! or two for as long as they live, by where their memory happens to lie, so they are started anew
//! after every round, or where that takes long, every few: then it is noise that the interval
//! shows, and not a cost.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::load::FRESH_WARM_UP;
use super::part::{self, Part};
use super::stage::Stage;
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// Servers run for at least so many times what starting and warming them has taken.
const RENEWING: u32 = 3;
/// Keys of a policy whose values are files, relative to the policy's folder.
const FILE_KEYS: [&str; 8] = ["file", "files", "country", "asn", "path", "setup", "before", "after"];
/// Parts of a policy in which those keys mean something else.
const NO_FILES: [&str; 2] = ["client_address", "when"];

/// Running variants.
pub struct OwnNginx<'s> {
    site: &'s Site,
    _origin: Server,
    parts: Vec<Part>,
    /// The policy with paths that hold from anywhere.
    document: Value,
    /// By variant and copy.
    servers: HashMap<(usize, usize), Server>,
    current: (usize, usize),
    /// Those that have had no load yet.
    fresh: HashSet<(usize, usize)>,
    started: u32,
    /// What starting the servers that run has taken.
    starting: Duration,
    /// When the last of those before them ended.
    since: Instant,
}

impl<'s> OwnNginx<'s> {
    /// Starts the origin. `path` is where the policy lies.
    pub fn new(site: &'s Site, path: &Path, document: &Value, parts: Vec<Part>) -> Result<Self, MeasureError> {
        site.weir_module()?;
        let document = movable(path, document)?;
        let origin = nginx::start_origin(site)?;
        let (servers, since) = (HashMap::new(), Instant::now());
        let (current, fresh, started, starting) = ((0, 0), HashSet::new(), 0, Duration::ZERO);
        Ok(Self { site, _origin: origin, parts, document, servers, current, fresh, started, starting, since })
    }

    fn start(&mut self, variant: usize, on: &[bool]) -> Result<Server, MeasureError> {
        let document = variant_of(&self.document, &self.parts, on);
        self.started += 1;
        let name = format!("variant-{variant}-{}", self.started);
        let directory = self.site.directory_of(&name)?;
        let path = directory.join("policy.json");
        write(&path, &document.to_string())?;
        let parts = NginxParts {
            modules: vec![self.site.weir_module()?],
            http: format!("  weir_policy {};\n  weir_runtime {};\n", path.display(), directory.join("run").display()),
            server: "    weir on;\n    weir_body_limit 2m;\n".into(),
            directory,
            ..NginxParts::default()
        };
        nginx::start_proxy(self.site, &name, parts)
    }

    fn server(&self) -> Result<&Server, MeasureError> {
        self.servers
            .get(&self.current)
            .ok_or_else(|| MeasureError::program("nginx", "the variant has not been started"))
    }
}

impl Stage for OwnNginx<'_> {
    fn enter(&mut self, variant: usize, copy: usize, on: &[bool]) -> Result<(), MeasureError> {
        let place = (variant, copy);
        if !self.servers.contains_key(&place) {
            let begin = Instant::now();
            let server = self.start(variant, on)?;
            self.starting += begin.elapsed() + FRESH_WARM_UP;
            self.servers.insert(place, server);
            self.fresh.insert(place);
        }
        self.current = place;
        Ok(())
    }

    fn take_fresh(&mut self) -> bool {
        self.fresh.remove(&self.current)
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.server().map_or(0, |server| server.port)))
    }

    fn cpu_ns(&mut self) -> Result<u64, MeasureError> {
        Ok(self.server()?.cpu()?.run_ns)
    }

    fn ledger(&self) -> Option<PathBuf> {
        self.server().ok().map(|server| server.directory.join("run"))
    }

    fn round_ends(&mut self) -> Result<(), MeasureError> {
        if self.since.elapsed() >= self.starting * RENEWING {
            (self.starting, self.since) = (Duration::ZERO, Instant::now());
            for (_, server) in self.servers.drain() {
                let directory = server.directory.clone();
                drop(server);
                // What it has left is only in the way; a failure shows when the site is removed.
                let _ = std::fs::remove_dir_all(directory);
            }
        }
        Ok(())
    }

    fn explain(&self) -> String {
        self.server().map(Server::error_log).unwrap_or_default()
    }
}

/// A policy file's document with some parts off.
#[must_use]
pub fn variant_of(document: &Value, parts: &[Part], on: &[bool]) -> Value {
    let mut document = document.clone();
    let off = part::off(parts, on);
    for policy in document["policies"].as_array_mut().into_iter().flatten() {
        let id = policy["id"].as_str().unwrap_or_default().to_owned();
        part::switch_off(&id, policy, &off);
    }
    document
}

/// The document of a policy at `path`, with paths that hold from anywhere.
pub fn movable(path: &Path, document: &Value) -> Result<Value, MeasureError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(folder).map_err(MeasureError::file(folder))?;
    let mut document = document.clone();
    absolute(&mut document, &folder);
    Ok(document)
}

/// Makes the paths of files absolute, so that the policy can lie elsewhere.
fn absolute(value: &mut Value, folder: &Path) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|item| absolute(item, folder)),
        Value::Object(keys) => {
            short_geo(keys);
            for (key, value) in keys.iter_mut().filter(|(key, _)| !NO_FILES.contains(&key.as_str())) {
                match value {
                    _ if !FILE_KEYS.contains(&key.as_str()) => absolute(value, folder),
                    Value::String(path) => *path = joined(folder, path),
                    Value::Array(paths) => {
                        for path in paths {
                            if let Value::String(path) = path {
                                *path = joined(folder, path);
                            }
                        }
                    }
                    other => absolute(other, folder),
                }
            }
        }
        _ => {}
    }
}

/// `geo: FILE` is short for `geo: {country: FILE}`.
fn short_geo(keys: &mut Map<String, Value>) {
    if let Some(geo) = keys.get_mut("geo").filter(|geo| geo.is_string()) {
        *geo = serde_json::json!({ "country": geo.take() });
    }
}

fn joined(folder: &Path, path: &str) -> String {
    folder.join(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_are_found_wherever_the_policy_lies_and_nothing_else_is_touched() {
        let mut document = json!({
            "client_address": {"from": "x-forwarded-for"}, "geo": "c.mmdb",
            "lists": {"l": {"kind": "addresses", "file": "l.txt"}, "m": {"strings": ["file"]}},
            "policies": [{"id": "p", "rules": [
                {"id": "file", "when": "file", "action": {"crs": {"setup": "/etc/s.conf", "before": ["b/*.conf"]}}},
            ]}],
        });
        absolute(&mut document, Path::new("/etc/weir"));
        assert_eq!(document["geo"], json!({"country": "/etc/weir/c.mmdb"}));
        assert_eq!(document["lists"]["l"]["file"], "/etc/weir/l.txt");
        assert_eq!(document["lists"]["m"], json!({"strings": ["file"]}));
        assert_eq!(document["client_address"], json!({"from": "x-forwarded-for"}));
        let rule = &document["policies"][0]["rules"][0];
        assert_eq!(rule["action"]["crs"], json!({"setup": "/etc/s.conf", "before": ["/etc/weir/b/*.conf"]}));
        assert_eq!((&rule["id"], &rule["when"]), (&json!("file"), &json!("file")));
    }
}
