//! A socket in nginx's event loop, for a connection that we open ourselves.
//!
//! Reading and writing are `socket2`'s; nginx only tells when there is something to do. nginx's own `ngx_event_connect_peer`
//! binds a connection to one request; these outlive requests.

use std::ffi::c_void;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd as _;

use nginx_sys::{ngx_close_connection, ngx_connection_t, ngx_event_actions, ngx_event_t, ngx_get_connection};
use socket2::{Domain, SockAddr, Socket as Descriptor, Type};

use crate::{ffi, worker};

/// A handler of nginx's events.
pub type Handler = unsafe extern "C" fn(*mut ngx_event_t);

/// An open socket. Its connection belongs to nginx's table until it is dropped.
pub struct Socket {
    connection: *mut ngx_connection_t,
    /// nginx closes the descriptor.
    descriptor: ManuallyDrop<Descriptor>,
}

impl Socket {
    /// Begins to connect. The handlers find `key` by [`key`].
    ///
    /// # Errors
    /// If there is no descriptor, no connection of nginx's, or no way to the address.
    pub fn connect(address: &SockAddr, key: usize, on_read: Handler, on_write: Handler) -> io::Result<Self> {
        let descriptor = Descriptor::new(address.domain(), Type::STREAM.nonblocking().cloexec(), None)?;
        if address.domain() != Domain::UNIX {
            descriptor.set_tcp_nodelay(true)?;
        }
        match descriptor.connect(address) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        // SAFETY: the cycle is the one that this worker serves; the connection is ours until `drop` gives it back.
        unsafe {
            let log = (*worker::cycle()).log;
            let connection = ngx_get_connection(descriptor.as_raw_fd(), log);
            if connection.is_null() {
                return Err(io::Error::other("worker_connections are not enough"));
            }
            (*connection).data = key as *mut c_void;
            (*connection).log = log;
            let (read, write) = ((*connection).read, (*connection).write);
            ((*read).log, (*write).log) = (log, log);
            // Not a client's: nginx neither waits for it nor complains about it when the worker ends.
            (*read).set_channel(1);
            (*read).handler = Some(on_read);
            (*write).handler = Some(on_write);
            let socket = Self { connection, descriptor: ManuallyDrop::new(descriptor) };
            let add = ngx_event_actions.add_conn.ok_or_else(|| io::Error::other("inspectors need epoll"))?;
            if add(connection) != ffi::code::OK {
                return Err(io::Error::other("nginx's event loop does not take it"));
            }
            Ok(socket)
        }
    }

    /// Whether nginx has been told of the end of what comes, or would not be (without `EPOLLRDHUP`).
    pub fn may_have_ended(&self) -> bool {
        // SAFETY: the connection is open; nginx sets the other once, when it starts.
        unsafe { nginx_sys::ngx_use_epoll_rdhup == 0 || (*(*self.connection).read).pending_eof() != 0 }
    }

    /// The error with which connecting ended, if it did.
    pub fn failure(&self) -> Option<io::Error> {
        self.descriptor.take_error().unwrap_or_else(Some)
    }
}

impl io::Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.descriptor).read(buffer)
    }
}

impl io::Write for &Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self.descriptor).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the connection is open and nobody else's; nginx closes its descriptor.
        unsafe { ngx_close_connection(self.connection) };
    }
}

/// The key of the socket whose event this is.
///
/// # Safety
/// nginx has called a handler of a [`Socket`] with it.
pub unsafe fn key(event: *mut ngx_event_t) -> usize {
    // SAFETY: as the caller promises; an event's data is its connection.
    unsafe { (*(*event).data.cast::<ngx_connection_t>()).data as usize }
}
