//! What wakes the publisher from outside: control's bell, and new files in the runtime directory.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use weir_bus::ControlBell;

/// Control's bell in tokio's reactor.
#[derive(Debug)]
pub(super) struct Bell {
    fd: AsyncFd<Borrowed>,
    bell: ControlBell,
}

/// A descriptor that its owner keeps open.
#[derive(Debug)]
struct Borrowed(RawFd);

impl AsRawFd for Borrowed {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Bell {
    pub fn new(bell: ControlBell) -> io::Result<Self> {
        // SAFETY: the bell is kept beside it, and its descriptor with it, and the fd is declared first, so it goes first.
        let fd = unsafe { AsyncFd::register_with_interest(Borrowed(bell.fd()), Interest::READABLE) }?;
        Ok(Self { bell, fd })
    }

    /// Waits until it is rung, and resets it.
    pub async fn rung(&self) {
        if let Ok(mut ready) = self.fd.readable().await {
            // Cleared before it is read: a ring in between is an edge of its own.
            ready.clear_ready();
            self.bell.clear();
        }
    }
}

/// Watches a directory for new files.
#[derive(Debug)]
pub(super) struct NewFiles {
    fd: AsyncFd<OwnedFd>,
}

impl NewFiles {
    pub fn of(dir: &Path) -> io::Result<Self> {
        let path = CString::new(dir.as_os_str().as_bytes())?;
        // SAFETY: no memory is handed over; the result is checked.
        let fd = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is open and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let events = libc::IN_CREATE | libc::IN_MOVED_TO | libc::IN_DELETE | libc::IN_MOVE_SELF;
        // SAFETY: `path` is a C string that lives over the call.
        if unsafe { libc::inotify_add_watch(fd.as_raw_fd(), path.as_ptr(), events) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is owned, and is moved in.
        Ok(Self { fd: unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }? })
    }

    /// Waits until a file is created or deleted, or the directory is renamed.
    pub async fn changed(&self) {
        let Ok(mut ready) = self.fd.readable().await else { return std::future::pending().await };
        ready.clear_ready();
        let mut sink = [0u8; 4096];
        // SAFETY: at most the length of `sink` is written to it. What it says does not matter, only that it came.
        while unsafe { libc::read(self.fd.as_raw_fd(), sink.as_mut_ptr().cast(), sink.len()) } > 0 {}
    }
}
