//! One connection of a gateway: questions come in any number, answers go in any order.
//!
//! Each question is a task, so that a dear one does not hold up the others of its connection; those that only compute
//! run on a thread of the runtime to their end (the engine bounds their work; with a long body, other tasks leave it). Answers that are ready together are
//! written with one call. All is bounded: questions by [`Limits::in_flight`] and by the bytes that the desk has room
//! for, after which nothing more is read; the time for a hello; the time in which a write has to go on.

mod hello;
mod input;
mod writer;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use weir_inspect::Answer;
use weir_inspect::frame::{Frame, kind};
use weir_inspect::own::read_question;

pub(crate) use input::Limits;

use crate::desk::Desk;
use crate::log;
use crate::stop::ended;
use input::{Broken, Head, Input};
use writer::{Reply, write};

/// How long a client that was told to go may still ask.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// How long nothing has to come after a goodbye until the connection is closed.
const QUIET: Duration = Duration::from_millis(500);

/// Serves a connection to its end; `from` is its address for the log.
pub(crate) async fn serve<S>(stream: S, from: &str, desk: Arc<Desk>, limits: Limits, stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, sink) = tokio::io::split(stream);
    let places = limits.in_flight.max(1);
    // Replies to pings have no place of their own: they wait for room in the channel like all others.
    let (replies, queue) = mpsc::channel(places + 1);
    let mut session = Session {
        input: Input::new(reader),
        desk: Arc::clone(&desk),
        places: Arc::new(Semaphore::new(places)),
        replies,
    };
    let writing = tokio::spawn(write(sink, queue, Arc::clone(&desk)));
    let abort = writing.abort_handle();
    let closed = session.replies.clone();
    let ended = tokio::select! {
        ended = session.run(&limits, stop) => ended,
        // Nothing can be answered any more.
        () = closed.closed() => Ok(()),
    };
    if let Err(broken) = &ended {
        report(broken, from, &desk);
    }
    drop((session, closed));
    // Answers that are under way are still written, unless the connection broke.
    if ended.is_err() || tokio::time::timeout(DRAIN, writing).await.is_err() {
        abort.abort();
    }
}

fn report(broken: &Broken, from: &str, desk: &Desk) {
    match broken {
        Broken::Hello("wrong token") => {
            desk.metrics.unauthenticated.fetch_add(1, Ordering::Relaxed);
            log::warning!("{from}: closed: wrong token");
        }
        Broken::Frame(_) | Broken::Hello(_) | Broken::Kind(_) => {
            desk.metrics.malformed.fetch_add(1, Ordering::Relaxed);
            log::warning!("{from}: closed: {broken}");
        }
        // A gateway that was killed is not worth a line.
        Broken::Io(_) => {}
    }
}

struct Session<S> {
    input: Input<S>,
    desk: Arc<Desk>,
    places: Arc<Semaphore>,
    replies: mpsc::Sender<Reply>,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Session<S> {
    async fn run(&mut self, limits: &Limits, mut stop: watch::Receiver<bool>) -> Result<(), Broken> {
        let names: Vec<String> = self.desk.detectors().iter().map(|(name, _)| name.clone()).collect();
        if !hello::exchange(&mut self.input, limits, &names, &self.replies).await? {
            return Ok(());
        }
        loop {
            while let Some(head) = self.input.buffered()? {
                self.take(head).await?;
            }
            tokio::select! {
                more = self.input.more() => if !more? { return Ok(()) },
                () = ended(&mut stop) => break,
            }
        }
        let _ = self.replies.send(Reply::Goodbye).await;
        let end = Instant::now() + DRAIN;
        while Instant::now() < end {
            while let Some(head) = self.input.buffered()? {
                self.take(head).await?;
            }
            match tokio::time::timeout(QUIET, self.input.more()).await {
                Ok(more) => {
                    if !more? {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Carries out a frame, and forgets it.
    async fn take(&mut self, head: Head) -> Result<(), Broken> {
        let Head { kind, id, length } = head;
        match kind {
            kind::QUESTION => self.ask(id, length, Instant::now()).await?,
            kind::PING => _ = self.replies.send(Reply::Pong(id)).await,
            kind::HELLO | kind::ANSWER => return Err(Broken::Kind(kind)),
            _ => {} // a pong, a goodbye, or of a newer gateway
        }
        self.input.forget(length);
        Ok(())
    }

    async fn ask(&self, id: u32, length: usize, received: Instant) -> Result<(), Broken> {
        let metrics = &self.desk.metrics;
        metrics.questions.fetch_add(1, Ordering::Relaxed);
        let place = Arc::clone(&self.places).acquire_owned().await;
        let room = self.desk.room(length).await;
        let (Ok(place), Some(room)) = (place, room) else { return Ok(()) };
        let Some((frame, _)) = Frame::first(self.input.unread())? else { return Ok(()) };
        let question = read_question(frame)?;
        metrics.queue.fetch_add(1, Ordering::Relaxed);
        let desk = Arc::clone(&self.desk);
        let mut owed = Owed { id, place: Some(place), replies: self.replies.clone(), desk: Arc::clone(&desk) };
        tokio::spawn(async move {
            let answer = desk.answer(&question, received).await;
            drop((question, room));
            owed.pay(answer).await;
        });
        Ok(())
    }
}

/// The answer that a gateway waits for. A fault in a detector must not leave it without one.
struct Owed {
    id: u32,
    place: Option<OwnedSemaphorePermit>,
    replies: mpsc::Sender<Reply>,
    desk: Arc<Desk>,
}

impl Owed {
    async fn pay(&mut self, answer: Answer) {
        if let Some(place) = self.place.take() {
            self.desk.metrics.queue.fetch_sub(1, Ordering::Relaxed);
            let _ = self.replies.send(Reply::Answer { id: self.id, answer, _place: place }).await;
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.desk.metrics.queue.fetch_sub(1, Ordering::Relaxed);
            let _ = self.replies.try_send(Reply::Answer { id: self.id, answer: writer::fault(), _place: place });
        }
    }
}
