//! A running proxy or origin: its process, its port, and which processes do its work.

use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::child::Child;
use crate::error::MeasureError;
use crate::interrupt::check_interrupted;
use crate::process::{self, CpuTime};

/// How long a server may take from its start to its first accepted connection. Compiling
/// 10,000 rules, or ModSecurity's CRS, takes seconds.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a server may take to end when it is asked to finish what it has begun.
const QUIT_LIMIT: Duration = Duration::from_secs(30);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(20);

/// A started server.
#[derive(Debug)]
pub struct Server {
    /// The process that we started: nginx's master, or the only process.
    child: Child,
    /// Port on 127.0.0.1 that it serves.
    pub port: u16,
    /// Files that it writes while serving; emptied between rounds.
    pub logs: Vec<PathBuf>,
    /// Its directory.
    pub directory: PathBuf,
    /// Whether the work is done by children of the process that we started.
    forks: bool,
}

impl Server {
    /// Takes over a started process and waits until it serves.
    pub fn adopt(
        child: Child,
        port: u16,
        directory: PathBuf,
        logs: Vec<PathBuf>,
        forks: bool,
    ) -> Result<Self, MeasureError> {
        let mut server = Self { child, port, logs, directory, forks };
        let deadline = Instant::now() + START_LIMIT;
        loop {
            check_interrupted()?;
            server.child.expect_running().map_err(|error| server.with_error_log(error))?;
            let ready = TcpStream::connect(("127.0.0.1", port)).is_ok() && !server.workers().is_empty();
            if ready {
                return Ok(server);
            }
            if Instant::now() > deadline {
                return Err(server.with_error_log(MeasureError::program(
                    "server",
                    format!("serves nothing on port {port} after {START_LIMIT:?}"),
                )));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Process id of the process that we started.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Process ids that do the work under test.
    #[must_use]
    pub fn workers(&self) -> Vec<u32> {
        if !self.forks {
            return vec![self.child.id()];
        }
        let workers = process::children(self.child.id());
        // An old worker that is still finishing after a reload does not serve new requests.
        workers.into_iter().filter(|&pid| process::command_line(pid) == "nginx: worker process").collect()
    }

    /// CPU time of the workers so far.
    pub fn cpu(&self) -> Result<CpuTime, MeasureError> {
        self.workers().into_iter().try_fold(CpuTime::default(), |sum, pid| Ok(sum.plus(CpuTime::of(pid)?)))
    }

    /// Sends a signal to the process that we started.
    pub fn signal(&self, signal: libc::c_int) {
        self.child.signal(signal);
    }

    /// Ends nginx gracefully: requests under way are answered, and logs are written to the end.
    pub fn quit(mut self) -> Result<(), MeasureError> {
        self.child.signal(libc::SIGQUIT);
        self.child.wait(QUIT_LIMIT).map(drop)
    }

    /// Empties the files that it writes: a bench writes gigabytes. They are opened for append,
    /// so the writers go on at the new end.
    pub fn empty_logs(&self) -> Result<(), MeasureError> {
        for path in &self.logs {
            match std::fs::OpenOptions::new().write(true).open(path) {
                Ok(file) => file.set_len(0).map_err(MeasureError::file(path))?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(MeasureError::file(path)(error)),
            }
        }
        Ok(())
    }

    /// The end of nginx's error log.
    #[must_use]
    pub fn error_log(&self) -> String {
        crate::child::tail(&self.directory.join("error.log"))
    }

    fn with_error_log(&self, error: MeasureError) -> MeasureError {
        match (error, self.error_log()) {
            (MeasureError::Program { program, message }, log) if !log.is_empty() => {
                MeasureError::Program { program, message: format!("{message}\n{log}") }
            }
            (error, _) => error,
        }
    }
}
