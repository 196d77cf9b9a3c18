//! Writes replies: all that are ready with one call, and none to a client that does not read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use weir_inspect::frame::{VERSION, Writer, bare, hello, kind};
use weir_inspect::own::write_answer;
use weir_inspect::{Advice, Answer};

use crate::desk::Desk;
use crate::log;

/// How long a write may take.
const WRITE: Duration = Duration::from_secs(10);
/// Replies that are written together.
const BATCH: usize = 256;
/// A buffer that has grown beyond this is given back.
const KEPT_BYTES: usize = 256 << 10;

/// What is to be written.
pub(super) enum Reply {
    /// The service's hello, with the names of its detectors.
    Hello(Vec<String>),
    /// An answer; the question's place is free once it is written.
    Answer { id: u32, answer: Answer, _place: OwnedSemaphorePermit },
    /// The answer to a ping.
    Pong(u32),
    /// The service is about to stop.
    Goodbye,
}

/// The answer after a fault in a detector.
pub(super) fn fault() -> Answer {
    Answer { advice: Advice::Unable, reason: "the detector failed".into(), ..Answer::default() }
}

/// Writes replies until there are no more senders, or the client does not read.
pub(super) async fn write<S: AsyncWrite>(mut sink: WriteHalf<S>, mut queue: mpsc::Receiver<Reply>, desk: Arc<Desk>) {
    let mut replies = Vec::with_capacity(BATCH);
    let mut buffer = Vec::new();
    while queue.recv_many(&mut replies, BATCH).await > 0 {
        replies.iter().for_each(|reply| append(&mut buffer, reply));
        match tokio::time::timeout(WRITE, sink.write_all(&buffer)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                desk.metrics.slow.fetch_add(1, Ordering::Relaxed);
                log::warning!("closed: a client has not read answers for {} s", WRITE.as_secs());
                return;
            }
        }
        replies.clear();
        buffer.clear();
        buffer.shrink_to(KEPT_BYTES);
    }
    let _ = sink.shutdown().await;
}

fn append(buffer: &mut Vec<u8>, reply: &Reply) {
    match reply {
        Reply::Hello(detectors) => {
            let mut frame = Writer::begin(buffer, kind::HELLO, 0);
            frame.item(hello::VERSION, &[VERSION]);
            detectors.iter().for_each(|name| _ = frame.item(hello::DETECTOR, &[name.as_bytes()]));
            frame.end().expect("names of so few detectors fit into a frame");
        }
        Reply::Answer { id, answer, .. } => {
            if write_answer(buffer, *id, answer).is_err() {
                let reason = "the answer is too long".to_owned();
                let short = Answer { advice: Advice::Unable, reason, ..Answer::default() };
                write_answer(buffer, *id, &short).expect("a short answer fits into a frame");
            }
        }
        Reply::Pong(id) => bare(buffer, kind::PONG, *id),
        Reply::Goodbye => bare(buffer, kind::GOODBYE, 0),
    }
}
