//! Probes in JVMs, as commands reach them: by the registration files of this machine, or through the control daemon.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weir_control::client::{Client, Method, Target, encode};

use crate::Failure;
use crate::api::{Api, SOCKET, refusal};
use crate::arguments::{Arguments, WhichProbes};

/// The directory of registration files [default: `/tmp/weir-probe-UID`].
const DIRECTORY: &str = "WEIR_PROBE_DIR";
/// Most bytes of a registration file.
const MAX_FILE: u64 = 64 << 10;
/// Most registration files that are read.
const MAX_FILES: usize = 4_096;
/// The longest wait for a probe, and for one that checks its isolation.
const ANSWER: Duration = Duration::from_secs(10);
const CHECK: Duration = Duration::from_secs(70);

/// A probe.
pub(crate) struct Probe {
    pub app: String,
    pub pid: u32,
    pub host: String,
    /// The user of its process, if that is on this machine.
    pub user: Option<u32>,
    way: Way,
    runtime: Rc<Runtime>,
}

/// How it is reached.
enum Way {
    /// By its own address.
    Direct(Target),
    /// Through control, by the prefix of its paths.
    Control(Rc<Client>, String),
}

impl Probe {
    /// `shop-4242`.
    pub fn name(&self) -> String {
        format!("{}-{}", self.app, self.pid)
    }

    /// What it says of itself.
    pub fn describe(&self) -> Result<Value, Failure> {
        self.call(Method::Get, "probe", None)
    }

    /// What its join points have cost.
    pub fn cost(&self) -> Result<Value, Failure> {
        self.call(Method::Get, "cost", None)
    }

    /// Arms, disarms, silences, wakes or masks.
    pub fn act(&self, action: &str, body: &Value) -> Result<Value, Failure> {
        self.call(Method::Post, action, Some(body))
    }

    /// The shadow configuration in force; with a body, another one.
    pub fn shadow(&self, body: Option<&Value>) -> Result<Value, Failure> {
        self.call(if body.is_some() { Method::Put } else { Method::Get }, "shadow", body)
    }

    fn call(&self, method: Method, what: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let limit = if what == "arm" || matches!(method, Method::Put) { CHECK } else { ANSWER };
        let answer = match &self.way {
            // It closes each connection, so there is none to keep.
            Way::Direct(target) => {
                let (client, path) = (Client::new(target.clone()), format!("/v1/{what}"));
                self.runtime.block_on(async { tokio::time::timeout(limit, client.call(method, &path, body)).await })
            }
            Way::Control(client, prefix) => {
                let path = if what == "probe" { prefix.clone() } else { format!("{prefix}/{what}") };
                self.runtime.block_on(async { tokio::time::timeout(limit, client.call(method, &path, body)).await })
            }
        };
        let dead = |error: &dyn std::fmt::Display| {
            Failure::new(format!("the probe of {} does not answer: {error}", self.name()))
                .hint("weir probes lists those that do")
        };
        let answer = answer.map_err(|_| dead(&"no answer in time"))?.map_err(|error| dead(&error))?;
        if answer.status < 300 { Ok(answer.body) } else { Err(refusal(answer.status, &answer.body, &|_| None)) }
    }
}

/// All probes that the command line means; an error if there is none.
pub(crate) fn some(arguments: &Arguments, which: &WhichProbes) -> Result<Vec<Probe>, Failure> {
    let found = find(arguments, which)?;
    if found.is_empty() {
        let wanted = if which.app.is_empty() && which.pid.is_empty() { "" } else { " of that --app or --pid" };
        let hint =
            "start the JVM with -javaagent:weir-probe.jar; --probe-dir, or WEIR_PROBE_DIR, is where it registers";
        return Err(Failure::new(format!("there is no JVM with a probe{wanted}")).hint(hint));
    }
    Ok(found)
}

/// All probes that the command line means. Control is asked if it was named, or if it has a socket.
pub(crate) fn find(arguments: &Arguments, which: &WhichProbes) -> Result<Vec<Probe>, Failure> {
    let runtime = Rc::new(tokio::runtime::Builder::new_current_thread().enable_all().build()?);
    let mut found = Vec::new();
    for directory in directories(which.probe_dir.as_deref())? {
        read(&directory, &runtime, &mut found)?;
    }
    let is_named = arguments.control.is_some();
    if is_named || arguments.runtime.join(SOCKET).exists() {
        let api = Api::of(arguments)?;
        match api.get("/api/v1/probes") {
            Ok(listed) => add(&listed, &api, &runtime, &mut found),
            Err(failure) if is_named => return Err(failure),
            Err(_) => {}
        }
    }
    found.retain(|probe| {
        (which.app.is_empty() || which.app.contains(&probe.app))
            && (which.pid.is_empty() || which.pid.contains(&probe.pid))
    });
    found.sort_by(|a, b| (&a.app, &a.host, a.pid).cmp(&(&b.app, &b.host, b.pid)));
    Ok(found)
}

/// Those of control that no registration file has.
fn add(listed: &Value, api: &Api, runtime: &Rc<Runtime>, found: &mut Vec<Probe>) {
    let client = Rc::new(Client::new(api.target().clone()));
    for row in listed["probes"].as_array().into_iter().flatten() {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let pid = row["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
        if found.iter().any(|known| known.pid == pid && known.host == text("host")) {
            continue;
        }
        let way = Way::Control(Rc::clone(&client), format!("/api/v1/probes/{}", encode(&text("id"))));
        let runtime = Rc::clone(runtime);
        found.push(Probe { app: text("app"), pid, host: text("host"), user: None, way, runtime });
    }
}

/// Where probes register: what was named, or each user's own directory; root sees those of all users.
fn directories(named: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    if let Some(named) = named.map(Path::to_owned).or_else(|| std::env::var_os(DIRECTORY).map(PathBuf::from)) {
        return Ok(vec![named]);
    }
    let own = fs::metadata("/proc/self")?.uid();
    let mut found = Vec::new();
    for entry in fs::read_dir("/tmp")?.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(uid) = name.to_str().and_then(|name| name.strip_prefix("weir-probe-")?.parse::<u32>().ok()) else {
            continue;
        };
        // In /tmp anybody can make a directory for another user.
        let is_owned =
            entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == uid && about.mode() & 0o022 == 0);
        if (own == 0 || own == uid) && is_owned {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn read(directory: &Path, runtime: &Rc<Runtime>, found: &mut Vec<Probe>) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::new(format!("{}: {error}", directory.display()));
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(fail)?,
    };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "json")).take(MAX_FILES) {
        match registration(&path) {
            Ok(Some(((app, pid, host), owner, target))) => {
                // Not of a process that was killed, nor one that another user says is there.
                let process = fs::metadata(Path::new("/proc").join(pid.to_string()));
                if process.is_ok_and(|process| process.uid() == owner) {
                    let (way, runtime) = (Way::Direct(target), Rc::clone(runtime));
                    found.push(Probe { app, pid, host, user: Some(owner), way, runtime });
                }
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::new(format!("{}: {error}", path.display()))),
        }
    }
    Ok(())
}

/// Application, process id and host, the owner of the file, and the way to it.
type Registration = ((String, u32, String), u32, Target);

/// Reads a registration file; `None` if it is not one.
fn registration(path: &Path) -> io::Result<Option<Registration>> {
    use std::io::Read;
    // Any user can put anything into a directory of its own: a pipe that would keep root waiting, a link elsewhere.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match fs::File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(None),
        file => file?,
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(None);
    }
    let owner = about.uid();
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let Ok(about) = serde_json::from_str::<Value>(&text) else { return Ok(None) };
    let word = |key: &str| about[key].as_str().map(str::to_owned);
    let parts = || {
        let port = about["port"].as_u64().and_then(|port| u16::try_from(port).ok())?;
        let pid = about["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())?;
        // A probe that listens on all addresses is reached on loopback.
        let host = word("address").filter(|address| !["0.0.0.0", "::", "0:0:0:0:0:0:0:0"].contains(&address.as_str()));
        let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
        let target = Target::Tcp { host, port, tls: false, token: Some(word("token")?) };
        Some(((word("app")?, pid, word("host").unwrap_or_default()), owner, target))
    };
    Ok(parts())
}

/// The body of a mask for a while: which plugins are silent, and for how long if nobody renews it.
pub(crate) fn mask(off: &[&str], time: Duration, edges: bool) -> Value {
    json!({"off": off, "for_ms": if off.is_empty() { 0 } else { time.as_millis().min(600_000) as u64 }, "edges": edges})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_read_and_others_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let own = std::process::id();
        write("1.json", &format!(r#"{{"app":"shop","pid":{own},"port":1,"address":"0.0.0.0","token":"t"}}"#));
        write("2.json", r#"{"app":"gone","pid":4194305,"port":1,"address":"127.0.0.1","token":"t"}"#);
        write("3.json", r#"{"app":"half","pid":"#);
        write("4.json", &format!(r#"{{"app":"none","pid":{own},"port":99999,"token":"t"}}"#));
        write("5.part", "x");
        write("6.json", r#"{"app":"init","pid":1,"port":1,"address":"127.0.0.1","token":"t"}"#);
        std::os::unix::fs::chown(dir.path().join("6.json"), Some(4242), None).ok();
        std::os::unix::fs::symlink("1.json", dir.path().join("7.json")).unwrap();
        let pipe = std::ffi::CString::new(dir.path().join("8.json").into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: a path that ends in a NUL byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        fs::write(dir.path().join("9.json"), [0xff, 0xfe]).unwrap();
        let runtime = Rc::new(tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
        let mut found = Vec::new();
        read(dir.path(), &runtime, &mut found).unwrap();
        read(&dir.path().join("none"), &runtime, &mut found).unwrap();
        assert_eq!(found.iter().map(Probe::name).collect::<Vec<_>>(), [format!("shop-{own}")]);
        assert!(matches!(&found[0].way, Way::Direct(target) if target.to_string() == "http://127.0.0.1:1"));
        let failure = found[0].describe().unwrap_err();
        assert!(failure.to_string().contains(&format!("the probe of shop-{own} does not answer")), "{failure}");
    }
}
