//! The parent's side: one child, its pipes, and the eye on its clock.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::death::Death;
use super::fault_injection::SWITCH;
use super::wire::{self, Answer, Granted, Hello, MAX_ANSWER_BYTES, MAX_JOB_BYTES, Said, Task};
use super::{Limits, Wished};
use crate::objects::Objects;

/// How often the CPU time of a working child is read.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// Of what a child says to standard error, so much is kept: its last words.
const MAX_LAST_WORDS: usize = 4096;

/// How long a child that closed its output may take to be gone.
const MAX_DYING: Duration = Duration::from_millis(500);

/// A child. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    last_words: Arc<Mutex<Vec<u8>>>,
    jobs: u32,
}

impl Process {
    /// Starts a child in a folder and tells it its limits.
    pub async fn start(exe: &Path, folder: &Path, objects: &Objects, limits: &Limits) -> Result<Self, Death> {
        let mut command = Command::new(exe);
        command.arg("sandbox").env_clear().current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(value) = std::env::var_os(SWITCH) {
            command.env(SWITCH, value);
        }
        let mut child = command.spawn().map_err(|error| Death::Start(format!("{}: {error}", exe.display())))?;
        let input = child.stdin.take().expect("its input is a pipe");
        let output = child.stdout.take().expect("its output is a pipe");
        let errors = child.stderr.take().expect("its errors are a pipe");
        let last_words = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(listen(errors, Arc::clone(&last_words)));
        let mut process = Self { child, input, output, last_words, jobs: 0 };
        let hello = wire::framed(
            &Hello { memory_bytes: limits.memory_bytes, objects: objects.dir().to_owned() },
            MAX_JOB_BYTES,
        );
        let hello = hello.expect("a greeting is short");
        match process.input.write_all(&hello).await {
            Ok(()) => Ok(process),
            Err(_) => Err(Death::Start(format!("{}: it ended at once", exe.display()))),
        }
    }

    /// Jobs so far.
    pub fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Its number, while it lives.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Does a task. After an error the child is dead or about to be, and of no use.
    pub async fn perform(
        &mut self,
        task: &Task,
        objects: &Arc<Objects>,
        wished: &mut Wished,
        limits: &Limits,
    ) -> Result<Answer, Death> {
        let frame = wire::framed(task, MAX_JOB_BYTES).map_err(|error| Death::TooLong(error.to_string()))?;
        if self.jobs > 0 && self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return Err(Death::Idle);
        }
        self.jobs += 1;
        let pid = self.child.id();
        let watch = watch(pid, limits);
        let talk = talk(&mut self.input, &mut self.output, &frame, objects, wished);
        tokio::select! {
            biased;
            answer = talk => match answer {
                Some(answer) => Ok(answer),
                None => Err(self.post_mortem().await),
            },
            death = watch => {
                let _ = self.child.kill().await;
                Err(death)
            }
        }
    }

    /// Why a child ended that nobody killed.
    async fn post_mortem(&mut self) -> Death {
        let status = tokio::time::timeout(MAX_DYING, self.child.wait()).await;
        let status = status.ok().and_then(Result::ok);
        if status.is_none() {
            let _ = self.child.kill().await;
        }
        // Whatever it said is in the pipe; give the listener a turn to fetch it.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        Death::of(status, &String::from_utf8_lossy(&words))
    }
}

/// Sends a task, captures the files that the child wants, and reads the answer; `None` if the child broke off or talks
/// nonsense.
async fn talk(
    input: &mut ChildStdin,
    output: &mut ChildStdout,
    frame: &[u8],
    objects: &Arc<Objects>,
    wished: &mut Wished,
) -> Option<Answer> {
    input.write_all(frame).await.ok()?;
    loop {
        let mut head = [0; 4];
        output.read_exact(&mut head).await.ok()?;
        let mut body = vec![0; wire::length(head, MAX_ANSWER_BYTES).ok()?];
        output.read_exact(&mut body).await.ok()?;
        let (path, max_bytes) = match serde_json::from_slice(&body).ok()? {
            Said::Done(answer) => return Some(answer),
            Said::Want { path, max_bytes } => (path, max_bytes),
        };
        let (objects, named) = (Arc::clone(objects), path.clone());
        let capture = tokio::task::spawn_blocking(move || objects.capture_or_keep(&path, max_bytes));
        let granted: Granted = capture.await.ok()?.map_err(|error| {
            let text = error.to_string();
            if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
                wished.full = Some(format!("{}: {text}", named.display()));
            }
            text
        });
        wished.files.extend(granted.clone());
        input.write_all(&wire::framed(&granted, MAX_JOB_BYTES).ok()?).await.ok()?;
    }
}

/// Ends when a child has used more than it may.
async fn watch(pid: Option<u32>, limits: &Limits) -> Death {
    let start = Instant::now();
    let before = pid.and_then(cpu_time).unwrap_or_default();
    loop {
        tokio::time::sleep(WATCH_EVERY).await;
        if pid.and_then(cpu_time).unwrap_or_default().saturating_sub(before) > limits.cpu {
            return Death::Cpu;
        }
        if start.elapsed() > limits.wall {
            return Death::Wall;
        }
    }
}

/// CPU time of a process so far: `utime` and `stime` of proc(5).
fn cpu_time(pid: u32) -> Option<Duration> {
    /// Position of `utime` behind the name, which is in parentheses and may contain spaces.
    const UTIME: usize = 11;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(UTIME);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let sum = ticks()? + ticks()?;
    // SAFETY: a plain call that reads a constant of the system.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&ticks| ticks > 0)?;
    Some(Duration::from_millis(sum * 1000 / per_second))
}

/// Keeps the end of what a child says to standard error.
async fn listen(mut errors: ChildStderr, last_words: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend_from_slice(&buffer[..length]);
        let excess = words.len().saturating_sub(MAX_LAST_WORDS);
        words.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_process_grows() {
        let pid = std::process::id();
        let before = cpu_time(pid).unwrap();
        const PATIENCE: Duration = Duration::from_secs(20);
        let start = Instant::now();
        while cpu_time(pid).unwrap() == before {
            assert!(start.elapsed() < PATIENCE, "it never grew");
        }
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
