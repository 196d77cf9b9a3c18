//! Bells: what wakes a sleeping event loop. A bell is a FIFO, so that a process that was not forked from its owner
//! (control, or a worker's control that came back) can open it by name; and everyone holds it open for reading and
//! writing, so that it never reports an end or a broken pipe when a process dies.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::error::BusError;
use crate::limits::BELL_READS;

/// The name of control's bell in the runtime directory.
const CONTROL: &str = "control.bell";

/// A bell.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// Makes the FIFO if there is none, and opens it.
    pub(crate) fn create(path: &Path) -> Result<Self, BusError> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| BusError::Foreign { path: path.to_path_buf(), reason: "a zero byte in the path" })?;
        // SAFETY: `name` is a C string that lives over the call.
        if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(BusError::io("create", path)(error));
            }
        }
        Self::open(path)
    }

    /// Opens a bell that is there.
    pub(crate) fn open(path: &Path) -> Result<Self, BusError> {
        let file: File = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)
            .map_err(BusError::io("open", path))?;
        if !file.metadata().map_err(BusError::io("look at", path))?.file_type().is_fifo() {
            return Err(BusError::Foreign { path: path.to_path_buf(), reason: "not a FIFO" });
        }
        Ok(Self(file.into()))
    }

    /// Wakes the owner. A bell that is full has been rung 65,536 times and will wake it as well.
    pub(crate) fn ring(&self) {
        // SAFETY: one byte is read from a constant. The result does not matter: EAGAIN means that it is rung already,
        // and nothing else can happen to a FIFO that this process holds open for reading.
        unsafe { libc::write(self.0.as_raw_fd(), [1u8].as_ptr().cast(), 1) };
    }

    /// Makes the bell silent until it is rung again.
    pub(crate) fn clear(&self) {
        let mut sink = [0u8; 4096];
        for _ in 0..BELL_READS {
            // SAFETY: at most the length of `sink` is written to it.
            let read = unsafe { libc::read(self.0.as_raw_fd(), sink.as_mut_ptr().cast(), sink.len()) };
            if read < sink.len() as isize {
                break;
            }
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Rings the bell of one endpoint, from any thread: how a thread beside the event loop says that it is done.
#[derive(Clone, Debug)]
pub struct Ringer(pub(crate) Arc<Bell>);

impl Ringer {
    /// Wakes the endpoint's event loop; its `receive` may then find no message.
    pub fn ring(&self) {
        self.0.ring();
    }
}

/// Control's bell, one for all regions.
///
/// On each wake: [`clear`](ControlBell::clear) it *first*, then call `receive` of the endpoints of all regions, then look
/// at the slots. The endpoints of control do not clear it: one of them would swallow a ring that was meant for another.
#[derive(Clone, Debug)]
pub struct ControlBell(pub(crate) Arc<Bell>);

impl ControlBell {
    /// Opens control's bell in the runtime directory; makes it if there is none. It stays for ever: masters hold it
    /// open for their workers, so it must not be removed.
    pub fn open(dir: &Path) -> Result<Self, BusError> {
        Bell::create(&dir.join(CONTROL)).map(|bell| Self(Arc::new(bell)))
    }

    /// For epoll: readable when it was rung.
    pub fn fd(&self) -> RawFd {
        self.0.fd()
    }

    /// Makes it silent until it is rung again.
    pub fn clear(&self) {
        self.0.clear();
    }

    /// Rings it.
    pub fn ring(&self) {
        self.0.ring();
    }

    /// Rings it from elsewhere.
    pub fn ringer(&self) -> Ringer {
        Ringer(Arc::clone(&self.0))
    }
}
