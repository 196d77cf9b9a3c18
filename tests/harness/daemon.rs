//! An nginx that runs as a daemon. Only a daemon takes a binary upgrade: nginx ignores `SIGUSR2` while the process that
//! started it lives.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

use crate::nginx::{children, kill};
use crate::wait::until;
use crate::{Request, Response, Setup};

/// A running nginx. Its process group ends with the test.
pub struct Daemon {
    setup: Setup,
    group: i32,
}

impl Daemon {
    pub(crate) fn start(setup: Setup) -> Self {
        setup.write();
        let ran = setup.command().output().expect("nginx is installed");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let mut this = Self { setup, group: 0 };
        this.group = until("nginx to write its process id", || this.master());
        until("nginx to listen", || TcpStream::connect((Ipv4Addr::LOCALHOST, this.setup.port)).is_ok().then_some(()));
        this
    }

    /// The master that has the name `nginx.pid`: the newest one.
    #[must_use]
    pub fn master(&self) -> Option<i32> {
        fs::read_to_string(self.setup.prefix().join("nginx.pid")).ok()?.trim().parse().ok()
    }

    /// Loads another build of the module from the next configuration on.
    pub fn set_module(&mut self, path: &Path) {
        self.setup.set_module(path);
    }

    /// `SIGUSR2`, and waits for `said` in the error log: the new master must not start.
    ///
    /// # Panics
    /// If nginx does not run.
    pub fn upgrade_refused(&self, said: &str) {
        let old = self.master().expect("nginx runs");
        kill(old, libc::SIGUSR2);
        until(&format!("{said:?} in the error log"), || self.error_log().contains(said).then_some(()));
        until("the old master to have its name back", || (self.master() == Some(old)).then_some(()));
    }

    /// `SIGUSR2`, then `SIGQUIT` to the old master once the new one has a worker; waits for the old one's end.
    ///
    /// # Panics
    /// If nginx does not run.
    pub fn upgrade(&self) {
        let old = self.master().expect("nginx runs");
        kill(old, libc::SIGUSR2);
        until("the new master's workers", || {
            self.master().filter(|new| *new != old && !children(*new).is_empty()).map(|_| ())
        });
        kill(old, libc::SIGQUIT);
        until("the old master's end", || (!Path::new(&format!("/proc/{old}/stat")).exists()).then_some(()));
    }

    /// `SIGKILL` to the workers; waits until the master has replaced them.
    ///
    /// # Panics
    /// If nginx does not run.
    pub fn kill_workers(&self) {
        let master = self.master().expect("nginx runs");
        let before = children(master);
        before.iter().for_each(|worker| kill(*worker, libc::SIGKILL));
        until("new workers", || {
            let now = children(master);
            (now.len() == before.len() && !now.iter().any(|worker| before.contains(worker))).then_some(())
        });
    }

    /// `GET target` on a new connection.
    #[must_use]
    pub fn get(&self, target: &str) -> Response {
        Request::get(target).send(self.setup.port)
    }

    /// The error log so far.
    #[must_use]
    pub fn error_log(&self) -> String {
        let log = fs::read(self.setup.prefix().join("error.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- error log of nginx\n{}---", self.error_log());
        }
        if self.group > 0 {
            kill(-self.group, libc::SIGKILL);
        }
    }
}
