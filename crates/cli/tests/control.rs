//! Commands beside a running control daemon: what a change says about files, and which state directory is meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A control daemon without nginx, in a directory of its own.
struct Daemon {
    dir: tempfile::TempDir,
    process: Child,
}

impl Daemon {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        let mut command = command();
        command.arg("--runtime").arg(path("run")).arg("control").arg("--state").arg(path("state"));
        command.arg("--files").arg(dir.path()).stderr(Stdio::null());
        let process = command.spawn().expect("starts");
        let begun = Instant::now();
        while std::os::unix::net::UnixStream::connect(path("run/control.sock")).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the daemon does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { dir, process }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn weir(&self, arguments: &[&str]) -> Output {
        weir(&self.path("run"), arguments)
    }

    /// Standard output of a command that must succeed.
    fn out(&self, arguments: &[&str]) -> String {
        let output = self.weir(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("is UTF-8")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    ["WEIR_RUNTIME", "WEIR_CONTROL", "WEIR_STATE"].iter().for_each(|name| {
        command.env_remove(name);
    });
    command
}

fn weir(runtime: &Path, arguments: &[&str]) -> Output {
    command().arg("--runtime").arg(runtime).args(arguments).output().expect("runs")
}

#[test]
fn files_of_a_change_are_one_line() {
    let daemon = Daemon::start();
    fs::create_dir(daemon.path("rules")).expect("is made");
    for n in 1..=3 {
        let rule = format!("SecRule ARGS \"@contains evil{n}\" \"id:{n},phase:2,deny\"\n");
        fs::write(daemon.path(&format!("rules/{n}.conf")), rule).expect("is written");
    }
    fs::write(daemon.path("words.txt"), "evil\n").expect("is written");
    let rules = format!("{{files: ['{}/*.conf']}}", daemon.path("rules").display());
    let put = |options: &[&str]| daemon.out(&[&["put", "rule_sets/own", &rules], options].concat());
    let sum: u64 =
        (1..=3).map(|n| fs::metadata(daemon.path(&format!("rules/{n}.conf"))).expect("is there").len()).sum();
    let dry = put(&["--dry-run"]);
    assert_eq!(dry.lines().next(), Some("captured or no longer used: 3 files"), "{dry}");
    let made = put(&[]);
    assert_eq!(made, format!("captured: 3 files, {sum} bytes\nrevision 1; no worker is running\n"));
    let words = format!("{{kind: strings, file: {}}}", daemon.path("words.txt").display());
    let one = daemon.out(&["put", "lists/words", &words]);
    assert_eq!(
        one.lines().next(),
        Some(&*format!("captured: {}, 5 bytes", daemon.path("words.txt").display())),
        "{one}"
    );
    let gone = daemon.out(&["delete", "rule_sets/own", "--verbose"]);
    let lines: Vec<&str> = gone.lines().collect();
    assert_eq!(lines.first(), Some(&"no longer used: 3 files"), "{gone}");
    let names: Vec<String> = ["", "1.conf", "2.conf", "3.conf"]
        .iter()
        .map(|name| format!("  {}/{name}", daemon.path("rules").display()))
        .collect();
    assert_eq!(&lines[1..5], &names[..], "{gone}");
    let back = daemon.out(&["rollback", "1"]);
    assert!(back.contains("captured: 3 files, ") && back.contains("no longer used: /"), "{back}");
}

#[test]
fn tokens_go_to_the_daemon_that_the_command_line_leads_to() {
    let daemon = Daemon::start();
    let (state, other) = (daemon.path("state"), daemon.path("other"));
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let told = |directory: &Path| format!("state directory: {}\n", directory.display());
    let made = daemon.weir(&["token", "create", "ci"]);
    assert!(made.status.success() && said(&made).starts_with(&told(&state)), "{made:?}");
    assert_eq!(String::from_utf8_lossy(&made.stdout).lines().count(), 1, "only the token: {made:?}");
    let listed = daemon.weir(&["token", "list"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("ci ") && said(&listed) == told(&state), "{listed:?}");
    let named = daemon.weir(&["token", "create", "cd", "--state", &other.to_string_lossy()]);
    assert!(named.status.success() && said(&named).starts_with(&told(&other)), "{named:?}");
    assert!(fs::read_to_string(other.join("tokens")).expect("is there").starts_with("cd "));
    assert!(daemon.weir(&["token", "revoke", "ci"]).status.success());
    assert_eq!(fs::read_to_string(state.join("tokens")).expect("is there"), "");
    let hanging = daemon.path("hanging.sock");
    let _never_answers = std::os::unix::net::UnixListener::bind(&hanging).expect("binds");
    for arguments in [
        &["token", "create", "ci", "--control", "http://127.0.0.1:1"][..],
        &["token", "revoke", "ci", "--control", "/nowhere.sock"],
        &["token", "revoke", "ci", "--control", &hanging.to_string_lossy()],
        &["ablate", "--restore", "--control", "/nowhere.sock"],
    ] {
        let refused = daemon.weir(arguments);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(said(&refused).contains("name it with --state or WEIR_STATE"), "{refused:?}");
    }
    assert_eq!(weir(&daemon.path("elsewhere"), &["token", "create", "ci"]).status.code(), Some(1));
}
