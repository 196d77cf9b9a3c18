//! Sends every stage's bytes on a connection of its own, several at a time.
//!
//! Requests carry no mark: a header that the case does not have may change what rules see. What
//! ties a request to its log lines is the client's port, which nginx writes into its access log
//! beside the number of the connection; ports are therefore never used twice in a run.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::case::Stage;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Stream, status};
use weir_measure::interrupt::check_interrupted;

/// Connections at a time: enough that cases which wait for a time-out delay nobody.
const CONNECTIONS: usize = 8;
/// How long an answer may take: nginx with CRS at paranoia 4 needs up to 20 ms on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for an answer that must not come.
const IMPATIENCE: Duration = Duration::from_millis(1500);
/// Answers are read up to this size; the origin's and nginx's own are tiny.
const ANSWER_BYTES: u64 = 64 << 10;
/// How often a connection is made anew because its port was used before.
const PORT_TRIES: usize = 1000;
/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// What came back for one stage.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Our port on this connection; 0 if there was none.
    pub port: u16,
    /// Status; `None` if nothing came, or no status line.
    pub status: Option<u16>,
    /// The bytes of the answer.
    pub bytes: Vec<u8>,
}

/// Sends all and returns the answers in the order of the stages.
pub fn all(port: u16, stages: &[&Stage]) -> Result<Vec<Answer>, MeasureError> {
    let next = AtomicUsize::new(0);
    let ports = Mutex::new(HashSet::new());
    let answers: Vec<Mutex<Answer>> = stages.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let Some((index, stage)) = take(&next, stages) {
            let answer = send(port, stage, &ports).unwrap_or_default();
            *answers[index].lock().expect("no thread panics while it holds an answer") = answer;
        }
    };
    let interrupted = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
        let live = std::io::stderr().is_terminal();
        while !threads.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            if let Err(error) = check_interrupted() {
                next.store(stages.len(), Ordering::Relaxed);
                return Err(error);
            }
            if live {
                let _ =
                    write!(io::stderr(), "\r\x1b[K{}/{}", next.load(Ordering::Relaxed).min(stages.len()), stages.len());
            }
            std::thread::sleep(TICK);
        }
        if live {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        Ok(())
    });
    interrupted?;
    let whole = |answer: Mutex<Answer>| answer.into_inner().expect("no thread panics while it holds an answer");
    Ok(answers.into_iter().map(whole).collect())
}

fn take<'s>(next: &AtomicUsize, stages: &[&'s Stage]) -> Option<(usize, &'s Stage)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    stages.get(index).map(|stage| (index, *stage))
}

fn send(port: u16, stage: &Stage, used: &Mutex<HashSet<u16>>) -> io::Result<Answer> {
    let patience = if stage.expected.error { IMPATIENCE } else { PATIENCE };
    let (mut stream, own) = connect(port, patience, used)?;
    // A server that refuses the head may close before it has read the body: its answer counts.
    let _ = stream.write_all(&stage.request);
    let mut bytes = Vec::new();
    let _ = stream.take(ANSWER_BYTES).read_to_end(&mut bytes);
    Ok(Answer { port: own, status: status(&bytes), bytes })
}

/// A connection from a port that this run has not used yet.
fn connect(port: u16, patience: Duration, used: &Mutex<HashSet<u16>>) -> io::Result<(Stream, u16)> {
    for _ in 0..PORT_TRIES {
        let stream = Address::local(port).connect(patience)?;
        let own = stream.local_port()?;
        if used.lock().expect("no thread panics while it holds the ports").insert(own) {
            return Ok((stream, own));
        }
    }
    Err(io::Error::other("every port of this machine has been used"))
}
