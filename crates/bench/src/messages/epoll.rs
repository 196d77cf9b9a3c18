//! Sleeping as an event loop does: in `epoll_wait`.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use weir_measure::error::MeasureError;

/// Events that are taken at once.
const EVENTS: usize = 512;

/// What a process sleeps on.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// One that nothing wakes yet.
    pub fn new() -> Result<Self, MeasureError> {
        // SAFETY: takes a number and returns a new descriptor or -1.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if descriptor < 0 {
            return Err(failed("epoll_create1"));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Wakes up when there is something to read, and tells the number then. Takes no memory.
    pub fn add(&self, descriptor: RawFd, number: u64) -> Result<(), MeasureError> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        // SAFETY: the event lives over the call; a descriptor that is not open is an error.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event) } {
            0 => Ok(()),
            _ => Err(failed("epoll_ctl")),
        }
    }

    /// Sleeps for at most so many milliseconds (for ever if it is -1), and tells the numbers of what has woken it. Takes
    /// no memory.
    pub fn sleep(&self, limit_ms: i32, mut woken: impl FnMut(u64)) -> usize {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        // SAFETY: there is room for so many events.
        let count = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), EVENTS as i32, limit_ms) };
        let count = usize::try_from(count).unwrap_or(0);
        events[..count].iter().for_each(|event| woken(event.u64));
        count
    }
}

fn failed(call: &str) -> MeasureError {
    MeasureError::program(call, std::io::Error::last_os_error().to_string())
}
