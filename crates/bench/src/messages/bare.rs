//! The floor of a delivery: processes that do nothing but what any server must do that has two workers.
//!
//! One sleeps in `epoll_wait` until the publisher's request comes, reads it, rings the other's eventfd, writes the frame to its
//! own subscribers, and answers. The other sleeps until it is rung, and writes the frame to its own. There is no parser, no
//! topic, no table: a frame is bytes with a number in them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use memchr::memmem;

use super::audience::Audience;
use super::contender::{Contender, Turn};
use super::dialect::{EVENTS, MARK, PATIENCE, Publisher, mark, payload, write_mark};
use super::epoll::Epoll;
use super::fanout::deliver;
use super::path::Path;
use super::subject::Subject;
use crate::events::bell::Bell;
use crate::events::forked::Forked;
use crate::events::seats::Seats;
use weir_measure::error::MeasureError;

/// What the publisher is told, as long as Weir's answer.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
    Content-Type: application/json\r\nContent-Length: 34\r\nConnection: keep-alive\r\nX-Weir: 0\r\n\r\n\
    {\"id\":\"0123456789abcdef:12345678\"}";
/// Bytes of a request that are read at a time.
const CHUNK: usize = 4096;

struct Bare {
    processes: [Forked; 2],
    port: u16,
}

impl Subject for Bare {
    fn processes(&self) -> Vec<u32> {
        self.processes.iter().map(Forked::id).collect()
    }

    fn port(&self) -> u16 {
        self.port
    }
}

/// One process's part.
struct Part {
    listener: TcpListener,
    streams: Vec<TcpStream>,
    size: usize,
    frame: Vec<u8>,
    mark: usize,
    last: u64,
    epoll: Epoll,
}

impl Part {
    fn new(size: usize) -> Result<Self, MeasureError> {
        let frame = frame();
        let mark = memmem::find(&frame, &mark(0)).expect("the frame has the payload");
        let streams = Vec::with_capacity(size);
        Ok(Self { listener: listener()?, streams, size, frame, mark, last: 0, epoll: Epoll::new()? })
    }

    /// Takes the subscribers in.
    fn gather(&mut self) -> bool {
        while self.streams.len() < self.size {
            let Some(stream) = accepted(&self.listener) else { return false };
            self.streams.push(stream);
        }
        true
    }

    /// Writes the next message to all of them.
    fn deliver(&mut self) -> bool {
        self.last += 1;
        write_mark(self.last, &mut self.frame[self.mark..][..MARK]);
        self.streams.iter().all(|mut stream| stream.write_all(&self.frame).is_ok())
    }

    /// Connects to it as its subscribers.
    fn connect(&self) -> Result<Vec<TcpStream>, MeasureError> {
        let address = self.listener.local_addr().map_err(failed)?;
        let connect = |_| {
            let stream = TcpStream::connect(address).map_err(failed)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
            Ok(stream)
        };
        (0..self.size).map(connect).collect()
    }
}

/// The path of a message whose subscriber belongs to the publisher's process or to the other.
pub fn path(seats: Seats, subscribers: [usize; 2]) -> Result<Path, MeasureError> {
    let (bare, publisher, mut streams) = start(seats, subscribers)?;
    Ok(Path::of(seats, bare, publisher, streams.remove(0)))
}

/// The writes of a fan-out to so many, by processes that are started for each turn.
pub struct Writes {
    /// The cores of the processes.
    pub seats: Seats,
    /// The number of subscribers.
    pub size: usize,
}

impl Contender for Writes {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        let (bare, publisher, streams) = start(self.seats, [self.size / 2, self.size - self.size / 2])?;
        deliver(self.seats, &*bare, publisher, Audience::of(streams)?, length)
    }

    fn subscribers(&self) -> usize {
        self.size
    }
}

/// What has started, who publishes, and the subscribers' connections.
type Started = (Box<dyn Subject>, Publisher, Vec<TcpStream>);

/// To be called while we have only one thread.
fn start(seats: Seats, sizes: [usize; 2]) -> Result<Started, MeasureError> {
    let [mut first, mut second] = [Part::new(sizes[0])?, Part::new(sizes[1])?];
    let (publishers, bell) = (listener()?, Bell::new()?);
    let port = publishers.local_addr().map_err(failed)?.port();
    let processes = [
        Forked::start(seats.workers[0], || _ = serve(&mut first, &publishers, &bell))?,
        Forked::start(seats.workers[1], || {
            let is_ready = second.gather() && second.epoll.add(bell.descriptor(), 0).is_ok();
            while is_ready && (second.epoll.sleep(-1, |_| ()) == 0 || bell.wait() > 0 && second.deliver()) {}
        })?,
    ];
    let mut streams = first.connect()?;
    streams.append(&mut second.connect()?);
    Ok((Box::new(Bare { processes, port }), EVENTS.publisher(port)?, streams))
}

/// The publisher's process.
fn serve(part: &mut Part, publishers: &TcpListener, bell: &Bell) -> Option<()> {
    part.gather().then_some(())?;
    let mut publisher = accepted(publishers)?;
    part.epoll.add(publisher.as_raw_fd(), 0).ok()?;
    let mut request = [0; CHUNK];
    loop {
        if part.epoll.sleep(-1, |_| ()) == 0 {
            continue;
        }
        let read = publisher.read(&mut request).ok()?;
        let goes_on = read > 0 && bell.ring() && part.deliver() && publisher.write_all(ANSWER).is_ok();
        goes_on.then_some(())?;
    }
}

fn listener() -> Result<TcpListener, MeasureError> {
    TcpListener::bind(("127.0.0.1", 0)).map_err(failed)
}

fn accepted(listener: &TcpListener) -> Option<TcpStream> {
    let (stream, _) = listener.accept().ok()?;
    stream.set_nodelay(true).ok().map(|()| stream)
}

/// A server-sent event as Weir writes one.
fn frame() -> Vec<u8> {
    let payload = payload(0);
    let event = [b"id: 0123456789abcdef:12345678\ndata: ", &payload[..], b"\n\n"].concat();
    [format!("{:x}\r\n", event.len()).as_bytes(), &event, b"\r\n"].concat()
}

fn failed(error: std::io::Error) -> MeasureError {
    MeasureError::program("floor", error.to_string())
}
