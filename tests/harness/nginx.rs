//! A running nginx that ends with the test.

use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use crate::wait::until;
use crate::{Connection, Request, Response, Setup, log};

/// The time that nginx may take to shut down before it is killed.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// A running nginx: master and workers.
pub struct Nginx {
    setup: Setup,
    master: Child,
    /// Port of the first server on 127.0.0.1.
    pub port: u16,
}

impl Nginx {
    /// Starts nginx with the configuration in `setup` and waits until it listens.
    ///
    /// # Panics
    /// If nginx does not start; the message contains the error log.
    #[must_use]
    pub fn start(setup: Setup) -> Self {
        setup.write();
        let mut command = setup.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // SAFETY: prctl is async-signal-safe and touches nothing of this process.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let master = command.spawn().expect("nginx is installed");
        let port = setup.port;
        let mut this = Self { setup, master, port };
        until("nginx to listen", || {
            if let Some(status) = this.master.try_wait().expect("our own child") {
                panic!("nginx ended with {status}:\n{}", this.error_log());
            }
            let up = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
            (up && this.workers().len() == usize::from(this.setup.workers)).then_some(())
        });
        this
    }

    /// The directory of this nginx.
    #[must_use]
    pub fn prefix(&self) -> &Path {
        self.setup.prefix()
    }

    /// A file in that directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.prefix().join(name)
    }

    /// A new connection to the first server.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(self.port)
    }

    /// Sends `request` on a new connection.
    #[must_use]
    pub fn send(&self, request: &Request) -> Response {
        request.send(self.port)
    }

    /// `GET target` on a new connection.
    #[must_use]
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// The error log so far.
    #[must_use]
    pub fn error_log(&self) -> String {
        let log = fs::read(self.path("error.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits for `count` lines of the attack log.
    #[must_use]
    pub fn attacks(&self, count: usize) -> Vec<Value> {
        log::wait(&self.path("attack.log"), count)
    }

    /// Waits for `count` lines of the access log.
    #[must_use]
    pub fn accesses(&self, count: usize) -> Vec<Value> {
        log::wait(&self.path("access.log"), count)
    }

    /// Process id of the master.
    ///
    /// # Panics
    /// Never on Linux: its process ids are positive and small.
    #[must_use]
    pub fn master(&self) -> i32 {
        i32::try_from(self.master.id()).expect("Linux's process ids fit")
    }

    /// Process ids of the workers that run and are not shutting down.
    #[must_use]
    pub fn workers(&self) -> Vec<i32> {
        children(self.master())
            .into_iter()
            .filter(|pid| title(*pid).contains("worker process") && !title(*pid).contains("shutting down"))
            .collect()
    }

    /// Sends `signal` to the master.
    pub fn signal(&self, signal: i32) {
        kill(self.master(), signal);
    }

    /// Sends `SIGHUP` and waits until all workers are new ones. Returns whether that happened.
    pub fn reload(&self) {
        let old = self.workers();
        self.signal(libc::SIGHUP);
        until("new workers after the reload", || {
            let now = self.workers();
            // Old ones end after all new ones have been started; `old` may have had workers of the reload before.
            (!now.is_empty() && now.iter().all(|pid| !old.contains(pid))).then_some(())
        });
    }

    /// Sends `SIGHUP` for a reload that must fail, and waits for `complaint` in the error log.
    pub fn reload_refused(&self, complaint: &str) {
        self.signal(libc::SIGHUP);
        until(&format!("{complaint:?} in the error log"), || self.error_log().contains(complaint).then_some(()));
    }

    /// Sends `SIGUSR1`, which reopens the logs.
    pub fn reopen(&self) {
        self.signal(libc::SIGUSR1);
    }

    /// Kills one worker and waits until the master has replaced it. Returns both process ids.
    ///
    /// # Panics
    /// If there is no worker.
    pub fn kill_worker(&self) -> (i32, i32) {
        let before = self.workers();
        let victim = *before.first().expect("workers run");
        kill(victim, libc::SIGKILL);
        let new = until("a new worker in the killed one's place", || {
            self.workers().into_iter().find(|pid| !before.contains(pid))
        });
        (victim, new)
    }

    /// Replaces the policy file as a whole: a reload that is under way reads the old one or the new one.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_policy(&self, policy: &str) {
        let (new, path) = (self.path("policy.yaml.new"), self.path("policy.yaml"));
        fs::write(&new, policy).and_then(|()| fs::rename(new, path)).expect("the prefix is writable");
    }

    /// Runs `nginx -t` on the current configuration.
    #[must_use]
    pub fn check(&self) -> std::process::Output {
        self.setup.check()
    }

    /// Lines of the error log that report a crash.
    #[must_use]
    pub fn crashes(&self) -> Vec<String> {
        let log = self.error_log();
        let bad =
            |line: &&str| line.contains("exited on signal") && !line.contains("signal 9") || line.contains("[emerg]");
        log.lines().filter(bad).map(str::to_owned).collect()
    }

    /// Stops nginx at once and waits for its end, so that all logs are complete.
    pub fn stop(&mut self) {
        if matches!(self.master.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal(libc::SIGQUIT);
        let start = Instant::now();
        while matches!(self.master.try_wait(), Ok(None)) {
            if start.elapsed() > SHUTDOWN {
                kill(-self.master(), libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- error log of {}\n{}---", self.prefix().display(), self.error_log());
        }
        if matches!(self.master.try_wait(), Ok(None)) {
            self.signal(libc::SIGTERM);
            let start = Instant::now();
            while matches!(self.master.try_wait(), Ok(None)) && start.elapsed() < SHUTDOWN {
                thread::sleep(Duration::from_millis(2));
            }
        }
        // Workers outlive a master that was killed.
        kill(-self.master(), libc::SIGKILL);
        let _ = self.master.wait();
    }
}

/// Sends a signal; a process that has ended is not an error.
pub fn kill(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory of this process.
    unsafe { libc::kill(pid, signal) };
}

pub(crate) fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The title that nginx sets for a process.
fn title(pid: i32) -> String {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
