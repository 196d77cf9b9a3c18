//! Clients: HTTP/1 written by hand (a test controls every byte and every pause), `curl` for TLS and
//! HTTP/2, `h2` for gRPC.

mod curl;
mod grpc;
mod request;
mod response;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};

pub use curl::curl;
pub use grpc::GrpcCall;
pub use request::Request;
pub use response::Response;

use crate::wait::PATIENCE;

/// One HTTP/1 connection to 127.0.0.1.
pub struct Connection {
    stream: TcpStream,
    /// Bytes that were read but not consumed.
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    /// If no process listens.
    #[must_use]
    pub fn open(port: u16) -> Self {
        Self::try_open(port).expect("somebody listens")
    }

    /// Connects, or returns the error.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn try_open(port: u16) -> std::io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends bytes unchanged.
    ///
    /// # Panics
    /// If the connection is closed.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the connection stands");
    }

    /// Sends bytes unchanged, or returns the error.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Shuts down the sending side.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The client's port of this connection.
    ///
    /// # Panics
    /// If the connection is closed.
    #[must_use]
    pub fn local_port(&self) -> u16 {
        self.stream.local_addr().expect("the connection stands").port()
    }

    /// Reads one response; `head` is true if it answers a `HEAD`.
    ///
    /// # Errors
    /// If the connection ends early, or on timeout.
    pub fn try_receive(&mut self, head: bool) -> std::io::Result<Response> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill()?;
        };
        let mut response = Response::parse_head(&self.buffer[..end]);
        self.buffer.drain(..end);
        let bodiless = head || response.status < 200 || matches!(response.status, 204 | 304);
        if bodiless {
            return Ok(response);
        }
        if response.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            while let Some(chunk) = self.chunk()? {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length").and_then(|value| value.parse().ok()) {
            response.body = self.exactly(length)?;
        } else {
            self.to_end();
            response.body = std::mem::take(&mut self.buffer);
        }
        Ok(response)
    }

    /// Reads one response.
    ///
    /// # Panics
    /// If the connection ends early, or on timeout.
    #[must_use]
    pub fn receive(&mut self) -> Response {
        self.try_receive(false).expect("a whole response")
    }

    /// Reads the next chunk of a chunked body; `None` after the last one.
    ///
    /// # Errors
    /// If the connection ends early.
    pub fn chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let line = self.line()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size =
            usize::from_str_radix(size, 16).map_err(|_| std::io::Error::other(format!("chunk size {line:?}")))?;
        let chunk = self.exactly(size)?;
        self.line()?;
        Ok((size > 0).then_some(chunk))
    }

    /// Reads a line, without its line break.
    ///
    /// # Errors
    /// If the connection ends early.
    pub fn line(&mut self) -> std::io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            self.fill()?;
        }
    }

    /// Reads everything until the other side closes the connection.
    pub fn to_end(&mut self) -> &[u8] {
        while self.fill().is_ok() {}
        &self.buffer
    }

    fn exactly(&mut self, length: usize) -> std::io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let mut block = [0; 65536];
        match self.stream.read(&mut block)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.buffer.extend(&block[..read]);
                Ok(())
            }
        }
    }

    /// Whether the beginning of a response has arrived, but not its end.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// The socket itself, for protocols other than HTTP. No data may be buffered.
    ///
    /// # Panics
    /// If data is buffered.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        assert!(self.buffer.is_empty(), "bytes of the next protocol are in the buffer");
        self.stream
    }
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
