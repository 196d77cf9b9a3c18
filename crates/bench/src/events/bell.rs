//! An eventfd: the cheapest way to wake another process that the kernel has.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use weir_measure::error::MeasureError;

/// One eventfd, shared with the processes that are forked after its making.
#[derive(Debug)]
pub struct Bell(File);

impl Bell {
    /// A new one that nobody has rung.
    pub fn new() -> Result<Self, MeasureError> {
        // SAFETY: eventfd takes two numbers and returns a new descriptor or -1.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(MeasureError::program("eventfd", std::io::Error::last_os_error().to_string()));
        }
        // SAFETY: the descriptor is new and ours alone.
        Ok(Self(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) })))
    }

    /// For epoll: readable when it was rung.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Wakes whoever waits. False if that failed, which it only does after 2^64 - 2 rings.
    pub fn ring(&self) -> bool {
        (&self.0).write_all(&1u64.to_ne_bytes()).is_ok()
    }

    /// Sleeps until it is rung; returns how often it was since the last time, 0 on an error.
    pub fn wait(&self) -> u64 {
        let mut count = [0; 8];
        match (&self.0).read_exact(&mut count) {
            Ok(()) => u64::from_ne_bytes(count),
            Err(_) => 0,
        }
    }

    /// The same for at most `limit`; `None` if nobody rang.
    pub fn wait_at_most(&self, limit: Duration) -> Option<u64> {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one pollfd on our stack, and its number.
        let ready = unsafe { libc::poll(&raw mut poll, 1, milliseconds) };
        if ready == 1 { Some(self.wait()) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_counted_and_waiting_ends() {
        let bell = Bell::new().unwrap();
        assert_eq!(bell.wait_at_most(Duration::from_millis(1)), None);
        assert!(bell.ring() && bell.ring());
        assert_eq!(bell.wait(), 2);
    }
}
