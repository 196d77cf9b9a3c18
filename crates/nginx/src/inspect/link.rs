//! One connection to an endpoint: bytes out, bytes in, TLS between if asked for.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::socket::Socket;

/// Most bytes that wait to be sent on one connection; past it the endpoint takes too little.
pub const MAX_WAITING_BYTES: usize = 8 << 20;
/// A buffer that has grown beyond this is given back when it is empty.
const KEPT_BYTES: usize = 64 << 10;

/// A connection.
pub struct Link {
    /// Number of the service, and of the endpoint in it.
    pub of: (u64, usize),
    /// The question that is being answered, where there is one at a time.
    pub current: Option<u32>,
    /// Whether that is a `HEAD` request.
    pub is_head: bool,
    /// Bytes to be sent.
    pub out: Vec<u8>,
    /// Bytes that have come and were not understood yet.
    pub input: Vec<u8>,
    /// Why it ended, as far as it is an error.
    pub why: String,
    /// Whether the service wants no more questions on it.
    pub is_leaving: bool,
    /// Whether a flush is due.
    pub is_dirty: bool,
    sent: usize,
    is_connected: bool,
    tls: Option<Box<ClientConnection>>,
    socket: Socket,
}

/// What has become of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    Open,
    /// The other side has closed it, or it is broken.
    Ended,
}

impl Link {
    /// A connection that is being made.
    ///
    /// # Errors
    /// If TLS cannot begin.
    pub fn new(
        of: (u64, usize),
        socket: Socket,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    ) -> Result<Self, rustls::Error> {
        let tls = tls.map(|(config, name)| ClientConnection::new(config, name)).transpose()?.map(Box::new);
        let (out, input) = (Vec::new(), Vec::new());
        Ok(Self {
            of,
            current: None,
            why: String::new(),
            is_head: false,
            out,
            input,
            is_leaving: false,
            is_dirty: false,
            sent: 0,
            is_connected: false,
            tls,
            socket,
        })
    }

    /// Whether it may take another question.
    pub fn has_room(&self) -> bool {
        self.out.len() - self.sent < MAX_WAITING_BYTES
    }

    /// Sends what can be sent.
    pub fn flush(&mut self) -> State {
        self.is_dirty = false;
        if !self.is_connected {
            return State::Open; // nginx tells when it is
        }
        match self.send() {
            Ok(()) => State::Open,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => State::Open,
            Err(error) => self.broken(&error),
        }
    }

    /// Notes why it ends.
    fn broken(&mut self, error: &io::Error) -> State {
        self.why = error.to_string();
        State::Ended
    }

    fn send(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => {
                while self.sent < self.out.len() {
                    match (&self.socket).write(&self.out[self.sent..]) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(written) => self.sent += written,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Some(tls) => loop {
                while tls.wants_write() {
                    tls.write_tls(&mut &self.socket)?;
                }
                if self.sent == self.out.len() || tls.is_handshaking() {
                    break;
                }
                // rustls takes as much as its own buffer holds.
                match tls.writer().write(&self.out[self.sent..])? {
                    0 => break,
                    taken => self.sent += taken,
                }
            },
        }
        self.shrink();
        Ok(())
    }

    fn shrink(&mut self) {
        if self.sent == self.out.len() {
            self.sent = 0;
            if self.out.capacity() > KEPT_BYTES { self.out = Vec::new() } else { self.out.clear() }
        }
    }

    /// nginx says that the socket takes bytes, or that connecting has ended.
    pub fn writable(&mut self) -> State {
        if !self.is_connected {
            if let Some(error) = self.socket.failure() {
                return self.broken(&error);
            }
            self.is_connected = true;
        }
        self.flush()
    }

    /// Reads all that there is through `buffer`, up to `limit` bytes in the input.
    pub fn readable(&mut self, buffer: &mut [u8], limit: usize) -> State {
        loop {
            if self.input.len() > limit {
                return State::Ended; // more than any answer has
            }
            let read = match &mut self.tls {
                None => (&self.socket).read(buffer),
                Some(tls) => read_tls(tls, &self.socket, buffer),
            };
            match read {
                Ok(0) => return State::Ended,
                Ok(length) => {
                    self.input.extend_from_slice(&buffer[..length]);
                    // All that had come is read, and nginx tells when more does: a second call would only say so.
                    if self.tls.is_none() && length < buffer.len() && !self.socket.may_have_ended() {
                        return State::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A handshake goes on by writing.
                    return if self.tls.is_some() { self.flush() } else { State::Open };
                }
                Err(error) => return self.broken(&error),
            }
        }
    }

    /// Forgets bytes that have been understood.
    pub fn consume(&mut self, bytes: usize) {
        self.input.drain(..bytes);
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES {
            self.input = Vec::new();
        }
    }
}

/// Reads decrypted bytes.
fn read_tls(tls: &mut ClientConnection, mut socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match tls.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
        if tls.read_tls(&mut socket)? == 0 {
            return Ok(0);
        }
        tls.process_new_packets().map_err(io::Error::other)?;
    }
}
