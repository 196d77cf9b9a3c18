//! From one process to another without a socket: through the streams of messages, and, as the floor, through two eventfds. Both
//! sides sleep in `epoll_wait`. There and back, because the two have no clock in common that is finer than the kernel's.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_bus::streams::{Follower, Outgoing, Read, STREAMS_BYTES_MIN, Stream, Streams};

use super::contender::{Contender, Turn, one_at_a_time};
use super::dialect::{PATIENCE, payload};
use super::epoll::Epoll;
use crate::events::bell::Bell;
use crate::events::forked::Forked;
use crate::events::seats::Seats;
use crate::events::stage::Stage;
use weir_measure::error::MeasureError;

/// For all followers.
const EVERYBODY: u8 = u8::MAX;
/// Bytes of topic and payload that may be read without memory being taken.
const ROOM: usize = 4096;

/// Two eventfds.
pub struct Bells {
    seats: Seats,
    there: Bell,
    back: Bell,
    epoll: Epoll,
    _other: Forked,
}

impl Bells {
    /// Starts the other process.
    pub fn start(seats: Seats) -> Result<Self, MeasureError> {
        let (there, back) = (Bell::new()?, Bell::new()?);
        let (epoll, other) = (sleeping_on(back.descriptor())?, sleeping_on(there.descriptor())?);
        let other =
            Forked::start(seats.hub, || while other.sleep(-1, |_| ()) == 0 || there.wait() > 0 && back.ring() {})?;
        Ok(Self { seats, there, back, epoll, _other: other })
    }
}

impl Contender for Bells {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        one_at_a_time(self.seats, length, || {
            let since = Instant::now();
            self.there.ring();
            woken(&self.epoll)?;
            self.back.wait();
            Ok(since.elapsed())
        })
    }
}

/// Two streams of messages.
pub struct Worker {
    seats: Seats,
    streams: Arc<Streams>,
    /// Of this process, and of the other: it must not be dropped here as long as that lives.
    followers: [Follower; 2],
    position: u64,
    epoll: Epoll,
    buffer: Vec<u8>,
    _other: Forked,
}

impl Worker {
    /// Starts the other process. To be called while we have only one thread.
    pub fn start(stage: &Stage<'_>, name: &str) -> Result<Self, MeasureError> {
        let failed = |error: weir_bus::BusError| MeasureError::program("streams", error.to_string());
        let directory = stage.site.directory_of(name)?;
        let streams = Arc::new(Streams::open_or_create(&directory, STREAMS_BYTES_MIN, 2).map_err(failed)?);
        let followers = [streams.follow(None).map_err(failed)?, streams.follow(None).map_err(failed)?];
        let (epoll, sleeper) = (sleeping_on(followers[0].bell())?, sleeping_on(followers[1].bell())?);
        let (mut there, mut buffer) = (streams.stream(0).end(), Vec::with_capacity(ROOM));
        let other = Forked::start(stage.seats.hub, || {
            loop {
                sleeper.sleep(-1, |_| ());
                followers[1].clear();
                while let Read::Message(message, next) = streams.stream(0).read(there, &mut buffer) {
                    there = next;
                    publish(&streams.stream(1), message.payload(&buffer));
                    followers[1].wake_others();
                }
            }
        })?;
        let position = streams.stream(1).end();
        Ok(Self { seats: stage.seats, streams, followers, position, epoll, buffer, _other: other })
    }
}

impl Contender for Worker {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        let Self { seats, streams, followers, position, epoll, buffer, .. } = self;
        let payload = payload(0);
        one_at_a_time(*seats, length, || {
            let since = Instant::now();
            publish(&streams.stream(0), &payload);
            followers[0].wake_others();
            loop {
                woken(epoll)?;
                followers[0].clear();
                match streams.stream(1).read(*position, buffer) {
                    Read::Message(message, next) if message.payload(buffer) == payload => {
                        *position = next;
                        return Ok(since.elapsed());
                    }
                    // The bell is rung once when a follower begins.
                    Read::End => {}
                    other => return Err(MeasureError::wrong("streams", format!("{other:?} at {position}"))),
                }
            }
        })
    }
}

fn publish(stream: &Stream<'_>, payload: &[u8]) {
    let message = Outgoing { kind: 1, target: EVERYBODY, id: 0, topic: b"t", payload };
    let published = stream.publish(&message, 0);
    debug_assert!(published.is_ok(), "a message of {} bytes fits", payload.len());
}

fn sleeping_on(descriptor: RawFd) -> Result<Epoll, MeasureError> {
    let epoll = Epoll::new()?;
    epoll.add(descriptor, 0)?;
    Ok(epoll)
}

fn woken(epoll: &Epoll) -> Result<(), MeasureError> {
    let since = Instant::now();
    while epoll.sleep(PATIENCE.as_millis() as i32, |_| ()) == 0 {
        // A process that was stopped meanwhile goes on.
        if since.elapsed() >= PATIENCE {
            return Err(MeasureError::wrong("worker", format!("the other process said nothing for {PATIENCE:?}")));
        }
    }
    Ok(())
}
