//! A running `weir up` on its own port.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time that anything here may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A started `weir up`; killed when dropped.
pub struct Running {
    pub child: Child,
    pub port: u16,
    /// The output until it was ready.
    pub introduction: Vec<String>,
    lines: Receiver<String>,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

/// The command under test: `WEIR_BIN`, or the one beside the most recently built module.
pub fn weir() -> PathBuf {
    let beside = || weir_tests::setup::module().parent().expect("is in a directory").join("weir");
    let path = std::env::var_os("WEIR_BIN").map_or_else(beside, PathBuf::from);
    assert!(path.exists(), "the command is not built: `make build` makes {}", path.display());
    path
}

/// `weir` with arguments and the module under test, not started yet.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(weir());
    command
        .args(arguments)
        .env("WEIR_MODULE", weir_tests::setup::module())
        .env_remove("WEIR_RUNTIME")
        .env_remove("WEIR_PORT");
    command.current_dir(root()).stdin(Stdio::null());
    command
}

impl Running {
    /// Starts `weir up` and waits until it is ready.
    pub fn start(more: &[&str]) -> Self {
        Self::start_on(weir_tests::port::free(), more)
    }

    /// Does the same on a given port.
    pub fn start_on(port: u16, more: &[&str]) -> Self {
        let mut child = command(&[&["up", "--port", &port.to_string()], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("starts");
        let output = child.stdout.take().expect("is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut this = Self { child, port, introduction: Vec::new(), lines };
        let ready = format!("weir: ready on http://127.0.0.1:{port}");
        loop {
            match this.line() {
                Some(line) if line == ready => return this,
                Some(line) => this.introduction.push(line),
                None => panic!("ended before it was ready: {:?}", this.introduction),
            }
        }
    }

    /// The next line of output; `None` if the process has ended.
    pub fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing printed for {} s", PATIENCE.as_secs()),
        }
    }

    /// The run directory.
    pub fn dir(&self) -> PathBuf {
        std::env::temp_dir().join(format!("weir-{}", self.port))
    }

    /// Process ids of nginx's master and workers, as their parent links say.
    pub fn nginx(&self) -> Vec<u32> {
        let pid = std::fs::read_to_string(self.dir().join("nginx.pid")).expect("nginx has written its pid");
        let master: u32 = pid.trim().parse().expect("is a number");
        let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap_or_default();
        std::iter::once(master).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).expect("is a pid");
        // SAFETY: sends a signal to the child just started.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process runs; a zombie does not.
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits until `done`.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
