//! A keep-alive client that sends exact bytes and insists on the right status.
//!
//! `wrk` cannot send broken requests and cannot say which answer belongs to which request; a
//! soak needs both. Blocking and simple: a few of these in threads keep one worker busy.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take, reloads included.
const PATIENCE: Duration = Duration::from_secs(20);
/// An answer's header must fit.
const HEADER_LIMIT: usize = 64 * 1024;
/// How often a request is sent again after the server closed an idle connection under it.
const RETRIES: u32 = 3;

/// How the sender behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Sends all and waits for the answer.
    Whole,
    /// Sends all; the server may answer or just close.
    Broken,
    /// Sends a part and hangs up.
    Abandoned,
}

/// A connection that is opened again when it must be.
#[derive(Debug)]
pub struct Client {
    port: u16,
    stream: Option<TcpStream>,
}

impl Client {
    /// A client for a port on 127.0.0.1.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Sends a request; the status of the answer, or 0 if the server closed without one.
    pub fn send(&mut self, bytes: &[u8], manner: Manner) -> io::Result<u16> {
        match manner {
            Manner::Whole => self.whole(bytes),
            Manner::Broken => {
                let answer = self.once(bytes);
                self.stream = None;
                Ok(answer.unwrap_or(0))
            }
            Manner::Abandoned => {
                self.open()?.write_all(bytes)?;
                self.stream = None;
                Ok(0)
            }
        }
    }

    /// A reload closes idle connections, and one may close just when we write to it: HTTP says
    /// to send again on a new one (RFC 9112, section 9.3.1).
    fn whole(&mut self, bytes: &[u8]) -> io::Result<u16> {
        let mut last = None;
        for _ in 0..RETRIES {
            let reused = self.stream.is_some();
            match self.once(bytes) {
                Ok(status) => return Ok(status),
                Err(error) => {
                    self.stream = None;
                    if !reused {
                        return Err(error);
                    }
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into()))
    }

    fn open(&mut self) -> io::Result<&mut TcpStream> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            self.stream = Some(stream);
        }
        Ok(self.stream.as_mut().expect("opened above"))
    }

    fn once(&mut self, bytes: &[u8]) -> io::Result<u16> {
        let stream = self.open()?;
        // A server may answer and close before it has read a large body.
        let written = stream.write_all(bytes);
        let mut answer = Vec::with_capacity(1024);
        let end = loop {
            if let Some(end) = find(&answer, b"\r\n\r\n") {
                break end + 4;
            }
            if answer.len() > HEADER_LIMIT || read_some(stream, &mut answer)? == 0 {
                return Err(written.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
            }
        };
        let status = crate::request::status_of(&answer)?;
        let header = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let length: usize = field(&header, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        while answer.len() < end + length {
            if read_some(stream, &mut answer)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if field(&header, "connection") == Some("close") || header.starts_with("http/1.0") || written.is_err() {
            self.stream = None;
        }
        Ok(status)
    }
}

fn read_some(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut piece = [0; 4096];
    let count = stream.read(&mut piece)?;
    into.extend_from_slice(&piece[..count]);
    Ok(count)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// Value of a header field in a lower-cased header.
fn field<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    header.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that answers each connection with the given bytes, one write each, then closes.
    fn server(answers: Vec<Vec<&'static [u8]>>) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for pieces in answers {
                let (mut stream, _) = listener.accept().unwrap();
                for piece in pieces {
                    let mut ignored = [0; 512];
                    let _ = stream.read(&mut ignored);
                    stream.write_all(piece).unwrap();
                }
            }
        });
        port
    }

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    const FORBIDDEN: &[u8] = b"HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn connections_are_kept_and_reopened() {
        let mut client = Client::new(server(vec![vec![OK, FORBIDDEN], vec![OK], vec![OK]]));
        let statuses: Vec<u16> =
            (0..4).map(|_| client.send(b"GET / HTTP/1.1\r\n\r\n", Manner::Whole).unwrap()).collect();
        assert_eq!(statuses, [200, 403, 200, 200]);
    }

    #[test]
    fn a_broken_request_without_answer_is_status_zero() {
        let mut client = Client::new(server(vec![vec![]]));
        assert_eq!(client.send(b"\0\0\r\n\r\n", Manner::Broken).unwrap(), 0);
    }
}
