//! One message to one subscriber: from the publisher's write to the subscriber's read, whose sockets belong to two workers or
//! to one.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use memchr::memmem;

use super::contender::{Contender, Turn, one_at_a_time};
use super::dialect::{Dialect, Publisher, mark, read};
use super::subject::{Subject, WORKER};
use crate::events::seats::Seats;
use weir_measure::error::MeasureError;

/// Connections that are tried until one is of the wanted worker.
const ATTEMPTS: usize = 64;
/// Bytes that are read at a time.
const CHUNK: usize = 4096;

/// The worker that has the subscriber's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// That of the publisher.
    Same,
    /// The other one.
    Other,
}

/// A publisher and a subscriber.
pub struct Path {
    seats: Seats,
    publisher: Publisher,
    subscriber: TcpStream,
    last: u64,
    _subject: Box<dyn Subject>,
}

impl Path {
    /// Connects a publisher to worker 0, which has the first core, and a subscriber to the wanted one.
    pub fn start(
        seats: Seats,
        subject: Box<dyn Subject>,
        dialect: &Dialect,
        owner: Owner,
    ) -> Result<Self, MeasureError> {
        let port = subject.port();
        let publisher = found("publisher", 0, || {
            let mut publisher = dialect.publisher(port)?;
            let message = publisher.message(0);
            publisher.send(&message)?;
            let worker = worker(publisher.taken()?);
            Ok((publisher, worker))
        })?;
        let subscriber = found("subscriber", u32::from(owner == Owner::Other), || {
            let (stream, said) = dialect.subscriber(port, 0)?;
            Ok((stream, worker(&said)))
        })?;
        Ok(Self::of(seats, subject, publisher, subscriber))
    }

    /// With clients that are connected.
    pub fn of(seats: Seats, subject: Box<dyn Subject>, publisher: Publisher, subscriber: TcpStream) -> Self {
        Self { seats, publisher, subscriber, last: 0, _subject: subject }
    }
}

impl Contender for Path {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        let Self { seats, publisher, subscriber, last, .. } = self;
        let failed = |error: std::io::Error| MeasureError::program("subscriber", error.to_string());
        one_at_a_time(*seats, length, || {
            *last += 1;
            let (message, mark, mut chunk) = (publisher.message(*last), mark(*last), [0; CHUNK]);
            let since = Instant::now();
            publisher.send(&message)?;
            loop {
                let read = read(subscriber, &mut chunk).map_err(failed)?;
                let took = since.elapsed();
                if memmem::find(&chunk[..read], &mark).is_some() {
                    publisher.taken()?;
                    return Ok(took);
                }
                if read == 0 {
                    return Err(MeasureError::wrong("subscriber", "was disconnected"));
                }
            }
        })
    }
}

/// The first connection of a worker.
fn found<T>(
    what: &str,
    worker: u32,
    connect: impl Fn() -> Result<(T, Option<u32>), MeasureError>,
) -> Result<T, MeasureError> {
    for _ in 0..ATTEMPTS {
        let (connection, of) = connect()?;
        if of == Some(worker) {
            return Ok(connection);
        }
    }
    Err(MeasureError::wrong(what, format!("none of {ATTEMPTS} connections is of worker {worker}")))
}

/// The worker that a head names.
fn worker(head: &[u8]) -> Option<u32> {
    let head = std::str::from_utf8(head.split(|byte| *byte == 0x81).next()?).ok()?;
    let line = head.lines().find_map(|line| line.strip_prefix(WORKER)?.strip_prefix(": "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_names_its_worker_also_in_front_of_frames() {
        assert_eq!(worker(b"HTTP/1.1 200 OK\r\nX-Weir: 1\r\n\r\n"), Some(1));
        assert_eq!(worker(b"HTTP/1.1 101 Switching\r\nX-Weir: 0\r\n\r\n\x81\x05\xff"), Some(0));
        assert_eq!(worker(b"HTTP/1.1 200 OK\r\n\r\n"), None);
    }
}
