//! The subscribers: many sockets, read by one thread that sleeps in `epoll_wait`.
//!
//! The server's time is measured, but this thread shares the machine with it, so it does as little as possible: one read
//! for each socket that has something, and a search for the mark of the message.

use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Instant;

use memchr::memmem::Finder;

use super::dialect::{Dialect, PATIENCE, mark, read};
use super::epoll::Epoll;
use crate::events::timings::Timings;
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;

/// Descriptors for anything but subscribers.
const OTHERS: u64 = 1_000;
/// Longest sleep, so that an interrupt is seen.
const NAP_MS: i32 = 100;
/// Bytes that are read at a time.
const CHUNK: usize = 4096;

/// Connected subscribers.
#[derive(Debug)]
pub struct Audience {
    epoll: Epoll,
    streams: Vec<TcpStream>,
    /// The last message that each has heard.
    heard: Vec<u64>,
}

impl Audience {
    /// Connects so many.
    pub fn gather(dialect: &Dialect, port: u16, size: usize) -> Result<Self, MeasureError> {
        let mut streams = Vec::with_capacity(size);
        for number in 0..size {
            check_interrupted()?;
            streams.push(dialect.subscriber(port, number)?.0);
        }
        Self::of(streams)
    }

    /// Those that are connected.
    pub fn of(streams: Vec<TcpStream>) -> Result<Self, MeasureError> {
        let epoll = Epoll::new()?;
        for (stream, number) in streams.iter().zip(0..) {
            epoll.add(stream.as_raw_fd(), number)?;
        }
        Ok(Self { epoll, heard: vec![0; streams.len()], streams })
    }

    /// How many there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.streams.len()
    }

    /// Reads until everybody has message `number`, which was sent at `since`; adds the time of each.
    pub fn hear(&mut self, number: u64, since: Instant, timings: &mut Timings) -> Result<(), MeasureError> {
        let mark = mark(number);
        let finder = Finder::new(&mark);
        let (mut left, mut chunk) = (self.size(), [0; CHUNK]);
        let Self { epoll, streams, heard } = self;
        while left > 0 {
            let mut broken = None;
            let woken = epoll.sleep(NAP_MS, |which| {
                let which = which as usize;
                let read = match read(&mut streams[which], &mut chunk) {
                    Ok(0) => return broken = Some("a subscriber was disconnected".to_owned()),
                    Ok(read) => read,
                    Err(error) => return broken = Some(error.to_string()),
                };
                if finder.find(&chunk[..read]).is_some() {
                    if heard[which] == number {
                        broken = Some(format!("subscriber {which} has got message {number} twice"));
                    }
                    heard[which] = number;
                    timings.push(since.elapsed());
                    left -= 1;
                }
            });
            if let Some(reason) = broken {
                return Err(MeasureError::wrong("fan-out", reason));
            }
            if woken == 0 {
                check_interrupted()?;
                if since.elapsed() > PATIENCE {
                    let words = format!("{left} subscribers have not got message {number} after {PATIENCE:?}");
                    return Err(MeasureError::wrong("fan-out", words));
                }
            }
        }
        Ok(())
    }
}

/// Makes room for the descriptors of so many subscribers, here and in what is started from now on. Returns how many there
/// can be.
pub fn room(wanted: usize) -> usize {
    let needed = wanted as u64 + OTHERS;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives over the calls. One that may not raise the limit gets as much as it may have.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        for (own, most) in [(limit.rlim_max, limit.rlim_max), (needed, limit.rlim_max.max(needed))] {
            if limit.rlim_cur < needed {
                let wider = libc::rlimit { rlim_cur: own, rlim_max: most };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wider);
                libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
            }
        }
    }
    wanted.min(limit.rlim_cur.saturating_sub(OTHERS) as usize)
}
