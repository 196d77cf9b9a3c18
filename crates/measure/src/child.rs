//! A program that we started and that dies with us, whatever happens.
//!
//! Three nets: dropping the handle ends it; a signal to us is turned into a flag that every
//! wait looks at, so that handles are dropped; and if we are killed outright, the kernel sends
//! it SIGTERM (`PR_SET_PDEATHSIG`). SIGTERM and not SIGKILL: a killed nginx master would leave
//! its workers behind. Nothing is ever ended by name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::error::MeasureError;
use crate::interrupt::check_interrupted;

/// Where Debian has programs that are not in everybody's `PATH`.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Where a program is installed; `None`: it is not.
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = SYSTEM_DIRECTORIES.iter().map(PathBuf::from);
    std::env::split_paths(&path).chain(beside).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// How long a program may take to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a wait looks again.
const POLL: Duration = Duration::from_millis(10);
/// How much of a program's own output an error quotes.
const QUOTED_BYTES: usize = 2000;

/// A program to start.
#[derive(Debug)]
pub struct Launch<'l> {
    /// Program: a path, or a name to look for in PATH.
    pub program: &'l OsStr,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Environment variables to add.
    pub environment: Vec<(&'static str, String)>,
    /// The core to stay on, if any.
    pub core: Option<usize>,
    /// Nice value.
    pub nice: i32,
    /// File that takes both of its output streams.
    pub output: PathBuf,
}

/// A running program.
#[derive(Debug)]
pub struct Child {
    inner: std::process::Child,
    program: String,
    output: PathBuf,
}

impl Child {
    /// Starts it. Must be called on a thread that outlives the program: the kernel's
    /// parent-death signal is tied to the thread.
    pub fn start(launch: Launch<'_>) -> Result<Self, MeasureError> {
        let output = File::create(&launch.output).map_err(MeasureError::file(&launch.output))?;
        let errors = output.try_clone().map_err(MeasureError::file(&launch.output))?;
        let mut command = Command::new(launch.program);
        command.args(&launch.arguments).stdin(Stdio::null()).stdout(output).stderr(errors);
        command.envs(launch.environment.iter().map(|(name, value)| (*name, value)));
        let (core, nice) = (launch.core, launch.nice);
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on the
        // stack of the child; no allocation, no lock.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
                // A session of its own: Ctrl-C comes to us alone, and the scheduler weighs it as a
                // group of its own where it groups by session (sched(7), autogroup).
                libc::setsid();
                if nice != 0 {
                    be_nice(nice)?;
                }
                match core {
                    Some(core) => stay_on(core),
                    None => Ok(()),
                }
            });
        }
        let program = launch.program.to_string_lossy().into_owned();
        let inner =
            command.spawn().map_err(|error| MeasureError::program(&program, format!("cannot be started: {error}")))?;
        Ok(Self { inner, program, output: launch.output })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// The end of what it has written so far.
    #[must_use]
    pub fn said(&self) -> String {
        tail(&self.output)
    }

    /// An error if it has ended.
    pub fn expect_running(&mut self) -> Result<(), MeasureError> {
        match self.inner.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(MeasureError::program(&self.program, format!("ended with {status}\n{}", self.said())))
            }
            Err(error) => Err(MeasureError::program(&self.program, error.to_string())),
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: libc::c_int) {
        signal_process(self.inner.id(), signal);
    }

    /// Waits for its end, at most `limit`; past that it is ended and this is an error.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus, MeasureError> {
        self.wait_and(limit, &mut || Ok(()))
    }

    /// The same, and calls `meanwhile` again and again.
    pub fn wait_and(
        &mut self,
        limit: Duration,
        meanwhile: &mut dyn FnMut() -> Result<(), MeasureError>,
    ) -> Result<ExitStatus, MeasureError> {
        let deadline = Instant::now() + limit;
        loop {
            check_interrupted()?;
            meanwhile()?;
            match self.inner.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                Ok(None) => {
                    return Err(MeasureError::program(
                        &self.program,
                        format!("did not end within {limit:?}\n{}", self.said()),
                    ));
                }
                Err(error) => return Err(MeasureError::program(&self.program, error.to_string())),
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.inner.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal(libc::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if matches!(self.inner.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        for child in crate::process::children(self.inner.id()) {
            signal_process(child, libc::SIGKILL);
        }
        self.signal(libc::SIGKILL);
        let _ = self.inner.wait();
    }
}

/// Sends `signal` to process `pid`.
pub fn signal_process(pid: u32, signal: libc::c_int) {
    if let Ok(pid) = libc::pid_t::try_from(pid) {
        // SAFETY: kill takes two integers; the pid is of a process that we have not reaped yet
        // or a worker of such a one, so it cannot have been given to someone else.
        unsafe { libc::kill(pid, signal) };
    }
}

/// The last bytes of a text file; empty if it cannot be read.
#[must_use]
pub fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(QUOTED_BYTES)..]).trim().to_owned()
}

/// Sets the nice value of this process and, where there is one, of its session's group: within
/// groups alone a nice value says nothing against other sessions.
pub fn be_nice(nice: i32) -> std::io::Result<()> {
    // SAFETY: setpriority takes three integers.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // "-15" at most; written by hand because nothing may be allocated here.
    let (magnitude, negative) = (nice.unsigned_abs() as u8, nice < 0);
    let digits = [if negative { b'-' } else { b'0' }, b'0' + magnitude / 10 % 10, b'0' + magnitude % 10];
    // SAFETY: the path is a C string, the digits live on our stack, and the descriptor is ours.
    unsafe {
        let file = libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, digits.as_ptr().cast(), digits.len());
            libc::close(file);
        }
    }
    Ok(())
}

/// Keeps the calling thread on a core.
pub fn stay_on(core: usize) -> std::io::Result<()> {
    // SAFETY: the set is a plain bit array that lives on our stack; CPU_SET bounds the core.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch<'l>(program: &'l str, arguments: &[&str], output: PathBuf) -> Launch<'l> {
        Launch {
            program: OsStr::new(program),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            core: None,
            nice: 0,
            output,
        }
    }

    #[test]
    fn dropping_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let child = Child::start(launch("sleep", &["100"], directory.path().join("out"))).unwrap();
        let pid = child.id();
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        drop(child);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn an_early_end_is_an_error_with_its_words() {
        let directory = tempfile::tempdir().unwrap();
        let mut child =
            Child::start(launch("sh", &["-c", "echo broken >&2; exit 3"], directory.path().join("out"))).unwrap();
        child.wait(Duration::from_secs(10)).unwrap();
        let message = child.expect_running().unwrap_err().to_string();
        assert!(message.contains("exit status: 3") && message.contains("broken"), "{message}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = Child::start(launch("no-such-program-here", &[], directory.path().join("out"))).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }
}
