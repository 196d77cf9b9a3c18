//! Many connections from one thread: as fast as answers come, or at a given rate.
//!
//! At a rate a request is due at a fixed time, and its time is counted from then on, also if no
//! connection was free: a server that stalls is not spared the requests that would have come
//! meanwhile (what is called coordinated omission).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::timings::{Figures, Timings};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Answer, Stream, fill, parse};
use weir_measure::interrupt::check_interrupted;

/// How long requests under way may take when the time is up.
const GRACE: Duration = Duration::from_secs(5);
/// How long a connection may take to send; answers are waited for elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest sleep, so that an interrupt is seen.
const NAP_MS: i32 = 100;
/// Events taken at once.
const EVENTS: usize = 64;
/// Number of the timer among the events; connections have theirs from 0.
const TIMER: u64 = u64::MAX;
/// How many requests there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 100_000.0;

/// The requests and answers on the connections.
pub trait Conversation {
    /// Writes the next request.
    fn request(&mut self, into: &mut Vec<u8>);
    /// Looks at an answer, whose head is the given bytes; an error ends the run.
    fn answer(&mut self, head: &[u8], answer: &Answer) -> Result<(), MeasureError>;
    /// Hears that a request got no answer, and why; an error ends the run.
    fn failed(&mut self, why: String) -> Result<(), MeasureError>;
}

/// Connections to a server, from one thread.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The server.
    pub address: Address,
    /// Number of connections.
    pub connections: usize,
    /// Requests per second over all connections; as fast as answers come if `None`.
    pub rate: Option<f64>,
}

struct Connection {
    stream: Stream,
    buffer: Vec<u8>,
    /// When its request was due; `None` if it has none.
    since: Option<Instant>,
}

struct Run<'r> {
    crowd: &'r Crowd,
    talk: &'r mut dyn Conversation,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    idle: Vec<usize>,
    timings: Timings,
    request: Vec<u8>,
}

impl Crowd {
    /// Talks for `length`.
    pub fn run(&self, length: Duration, talk: &mut dyn Conversation) -> Result<Figures, MeasureError> {
        let mut run = Run::begin(self, length, talk)?;
        let timer = self.rate.map(|rate| Timer::start(&run.epoll, rate)).transpose()?;
        let began = Instant::now();
        let (mut due, mut started) = (0, 0);
        loop {
            check_interrupted()?;
            let over = began.elapsed() >= length;
            if over && run.idle.len() == run.connections.len() || began.elapsed() > length + GRACE {
                break;
            }
            due += run.hear(timer.as_ref())?;
            while !over && !run.idle.is_empty() && (timer.is_none() || started < due) {
                let since = timer.as_ref().map_or_else(Instant::now, |timer| began + timer.interval * (started + 1));
                started += 1;
                run.ask(since)?;
            }
        }
        run.end()
    }
}

impl<'r> Run<'r> {
    fn begin(crowd: &'r Crowd, length: Duration, talk: &'r mut dyn Conversation) -> Result<Self, MeasureError> {
        // SAFETY: takes a number and returns a new descriptor or -1, which is looked at.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let epoll = owned(epoll, "epoll_create1")?;
        let mut connections = Vec::with_capacity(crowd.connections);
        for number in 0..crowd.connections {
            connections.push(connect(crowd, &epoll, number as u64)?);
        }
        Ok(Self {
            crowd,
            talk,
            epoll,
            idle: (0..connections.len()).collect(),
            connections,
            timings: Timings::begin((length.as_secs_f64() * crowd.rate.unwrap_or(MOST_PER_SECOND)) as usize),
            request: Vec::new(),
        })
    }

    /// Sends a request on an idle connection.
    fn ask(&mut self, since: Instant) -> Result<(), MeasureError> {
        let Some(number) = self.idle.pop() else { return Ok(()) };
        self.talk.request(&mut self.request);
        let connection = &mut self.connections[number];
        connection.since = Some(since);
        // A request is smaller than an empty socket's buffer, so a part of it is never left over.
        if let Err(error) = connection.stream.write_all(&self.request) {
            self.lose(number, format!("cannot send: {error}"))?;
        }
        Ok(())
    }

    /// Waits for something to happen and takes it; how many requests have become due.
    fn hear(&mut self, timer: Option<&Timer>) -> Result<u32, MeasureError> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let nap = if timer.is_none() && !self.idle.is_empty() { 0 } else { NAP_MS };
        // SAFETY: the array lives on our stack and has the given length.
        let ready = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as i32, nap) };
        let mut due = 0;
        for event in events.iter().take(usize::try_from(ready).unwrap_or(0)) {
            match (event.u64, timer) {
                (TIMER, Some(timer)) => due += timer.expired(),
                (number, _) => self.read(number as usize)?,
            }
        }
        Ok(due)
    }

    fn read(&mut self, number: usize) -> Result<(), MeasureError> {
        let connection = &mut self.connections[number];
        match fill(&mut connection.stream, &mut connection.buffer) {
            Ok(0) => return self.lose(number, "the connection was closed".into()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return self.lose(number, error.to_string()),
        }
        let answer = match parse(&connection.buffer) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(()),
            Err(message) => return self.lose(number, message),
        };
        let Some(since) = connection.since.take() else {
            return self.lose(number, "an answer without a request".into());
        };
        self.timings.push(since.elapsed());
        self.talk.answer(&connection.buffer[answer.head.clone()], &answer)?;
        if answer.close {
            return self.lose(number, String::new());
        }
        connection.buffer.drain(..answer.end);
        self.idle.push(number);
        Ok(())
    }

    /// Replaces a connection; what it was asked has failed.
    fn lose(&mut self, number: usize, why: String) -> Result<(), MeasureError> {
        let asked = self.connections[number].since.is_some();
        self.connections[number] = connect(self.crowd, &self.epoll, number as u64)?;
        if !self.idle.contains(&number) {
            self.idle.push(number);
        }
        if asked { self.talk.failed(why) } else { Ok(()) }
    }

    fn end(self) -> Result<Figures, MeasureError> {
        for _ in self.connections.iter().filter(|connection| connection.since.is_some()) {
            self.talk.failed(format!("no answer within {GRACE:?}"))?;
        }
        self.timings.end().ok_or_else(|| MeasureError::program(self.crowd.address.to_string(), "answered nothing"))
    }
}

fn connect(crowd: &Crowd, epoll: &OwnedFd, number: u64) -> Result<Connection, MeasureError> {
    let failed = |error: std::io::Error| MeasureError::program(crowd.address.to_string(), error.to_string());
    let stream = crowd.address.connect(PATIENCE).map_err(failed)?;
    stream.set_nonblocking().map_err(failed)?;
    watch(epoll, stream.as_raw_fd(), number)?;
    Ok(Connection { stream, buffer: Vec::new(), since: None })
}

fn watch(epoll: &OwnedFd, descriptor: i32, number: u64) -> Result<(), MeasureError> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
    // SAFETY: both descriptors are open, and the event is copied before the call returns.
    match unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event) } {
        0 => Ok(()),
        _ => Err(MeasureError::program("epoll_ctl", std::io::Error::last_os_error().to_string())),
    }
}

fn owned(descriptor: i32, call: &str) -> Result<OwnedFd, MeasureError> {
    if descriptor < 0 {
        return Err(MeasureError::program(call, std::io::Error::last_os_error().to_string()));
    }
    // SAFETY: the caller has just been given the descriptor by the kernel.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A timerfd that expires at a rate.
struct Timer {
    file: File,
    interval: Duration,
}

impl Timer {
    fn start(epoll: &OwnedFd, rate: f64) -> Result<Self, MeasureError> {
        let interval = Duration::from_secs_f64(1.0 / rate);
        // SAFETY: takes two numbers and returns a new descriptor or -1, which is looked at.
        let timer = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        let timer = owned(timer, "timerfd_create")?;
        let each = libc::timespec {
            tv_sec: interval.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(interval.subsec_nanos()),
        };
        let times = libc::itimerspec { it_interval: each, it_value: each };
        // SAFETY: the times live on our stack; the old ones are not asked for.
        if unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const times, std::ptr::null_mut()) } != 0 {
            return Err(MeasureError::program("timerfd_settime", std::io::Error::last_os_error().to_string()));
        }
        watch(epoll, timer.as_raw_fd(), TIMER)?;
        Ok(Self { file: File::from(timer), interval })
    }

    /// How often it has expired since the last time.
    fn expired(&self) -> u32 {
        let mut count = [0; 8];
        match (&self.file).read_exact(&mut count) {
            Ok(()) => u32::try_from(u64::from_ne_bytes(count)).unwrap_or(u32::MAX),
            Err(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[derive(Default)]
    struct Count {
        asked: u64,
        answered: u64,
        failed: u64,
    }

    impl Conversation for Count {
        fn request(&mut self, into: &mut Vec<u8>) {
            self.asked += 1;
            into.clear();
            into.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        }

        fn answer(&mut self, head: &[u8], answer: &Answer) -> Result<(), MeasureError> {
            assert!(head.starts_with(b"HTTP/1.1 200") && answer.body == b"ok");
            self.answered += 1;
            Ok(())
        }

        fn failed(&mut self, _why: String) -> Result<(), MeasureError> {
            self.failed += 1;
            Ok(())
        }
    }

    /// Answers everyone, but closes a connection instead of its tenth answer.
    fn server() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut buffer = [0; 100];
                    for _ in 0..9 {
                        if stream.read(&mut buffer).unwrap_or(0) == 0 {
                            return;
                        }
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                    }
                    let _ = stream.read(&mut buffer);
                });
            }
        });
        port
    }

    #[test]
    fn every_request_is_answered_or_has_failed() {
        let address = Address::local(server());
        let run = |rate| {
            let mut count = Count::default();
            let crowd = Crowd { address: address.clone(), connections: 3, rate };
            let figures = crowd.run(Duration::from_millis(200), &mut count);
            assert_eq!(count.asked, count.answered + count.failed);
            (figures.ok(), count)
        };
        for rate in [None, Some(500.0)] {
            let (figures, count) = run(rate);
            assert_eq!(figures.unwrap().samples, count.answered);
            assert!(count.answered > 5 && count.failed > 0, "{rate:?}");
        }
        // One every quarter of an hour: none is due yet.
        let (figures, count) = run(Some(0.001));
        assert_eq!((figures, count.asked), (None, 0));
    }
}
