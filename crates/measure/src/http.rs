//! As much of HTTP/1.1 as a load generator needs: requests made of bytes beforehand, answers found
//! in a buffer. A client library would cost more than what it measures.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;

/// Longest head of an answer.
const MOST_HEAD: usize = 16 * 1024;
/// Longest answer; a transaction names every resource that it changed.
const MOST_ANSWER: usize = 64 * 1024 * 1024;
/// Longest wait for a piece of an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Attempts of a client that may send again.
const ATTEMPTS: u32 = 20;
/// How much of an answer is read at first: usual ones are whole then, and a buffer must be zeroed.
const FIRST_CHUNK: usize = 4 * 1024;
/// How much is read at once of a longer one.
const CHUNK: usize = 64 * 1024;

/// Where a server listens.
#[derive(Clone, Debug)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A port on 127.0.0.1.
    Tcp(u16),
}

/// A connection to it.
#[derive(Debug)]
pub enum Stream {
    /// Over a Unix socket.
    Unix(UnixStream),
    /// Over loopback.
    Tcp(TcpStream),
}

impl Address {
    /// Connects.
    pub fn connect(&self) -> std::io::Result<Stream> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Ok(Stream::Unix(stream))
            }
            Self::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Stream {
    /// Makes reads and writes return at once.
    pub fn set_nonblocking(&self) -> std::io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => stream.set_nonblocking(true),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tcp(stream) => stream.as_raw_fd(),
        }
    }
}

/// The bytes of a request.
#[must_use]
pub fn request(method: &str, path: &str, host: &str, content_type: &str, body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
    if !body.is_empty() {
        text += &format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    text += body;
    text.into_bytes()
}

/// A whole answer at the beginning of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Where its head lies: status line and header fields.
    pub head: Range<usize>,
    /// The body; of a chunked one the chunks joined.
    pub body: Vec<u8>,
    /// Where the answer ends.
    pub end: usize,
    /// Whether the server closes the connection after it.
    pub close: bool,
}

/// How the body's end is found.
enum Framing {
    Length(usize),
    Chunked,
}

/// Finds an answer at the beginning of `bytes`; `None` if it is not whole yet.
pub fn parse(bytes: &[u8]) -> Result<Option<Answer>, String> {
    let Some(head_end) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > MOST_HEAD { Err("the head of the answer has no end".into()) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| "the head of the answer is no text")?;
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| format!("no answer in HTTP/1: {status_line:.80}"))?;
    let (mut framing, mut close) = (Framing::Length(0), false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.parse().map_err(|_| format!("Content-Length: {value:.40}"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case("connection") {
            close = value.eq_ignore_ascii_case("close");
        }
    }
    let start = head_end + 4;
    let found = match framing {
        Framing::Length(length) if length > MOST_ANSWER => return Err(format!("an answer of {length} bytes")),
        Framing::Length(length) => bytes.get(start..start + length).map(|body| (body.to_vec(), start + length)),
        Framing::Chunked => chunks(bytes, start)?,
    };
    Ok(found.map(|(body, end)| Answer { status, head: 0..head_end, body, end, close }))
}

/// Joins the chunks that begin at `at`; `None` if the last one is not there yet.
fn chunks(bytes: &[u8], mut at: usize) -> Result<Option<(Vec<u8>, usize)>, String> {
    let mut body = Vec::new();
    loop {
        let Some(line) = bytes.get(at..).and_then(|rest| find(rest, b"\r\n")) else { return Ok(None) };
        let size = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)
            .ok()
            .filter(|&size| size <= MOST_ANSWER)
            .ok_or_else(|| format!("a chunk of size {size:.20}"))?;
        at += line + 2;
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
        at += size + 2;
        if size == 0 {
            return Ok(Some((body, at)));
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// Where `what` first begins.
fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A client with one connection and one request at a time.
#[derive(Debug)]
pub struct Client {
    address: Address,
    stream: Option<Stream>,
    buffer: Vec<u8>,
    again: bool,
}

impl Client {
    /// Connects with the first request.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self { address, stream: None, buffer: Vec::with_capacity(CHUNK), again: false }
    }

    /// Sends a request again, on a new connection, if the old one was closed before a byte of the
    /// answer: for servers that close their listener while nobody looks, and requests that do the
    /// same twice.
    #[must_use]
    pub fn reconnecting(self) -> Self {
        Self { again: true, ..self }
    }

    /// Sends the request and waits for the answer.
    pub fn exchange(&mut self, request: &[u8]) -> Result<Answer, LabError> {
        let mut result = None;
        for _ in 0..if self.again { ATTEMPTS } else { 1 } {
            match self.attempt(request) {
                Ok(answer) => return Ok(answer),
                Err(message) => result = Some(message),
            }
            self.stream = None;
            if !self.buffer.is_empty() {
                break;
            }
        }
        Err(LabError::program(format!("{:?}", self.address), result.expect("there was an attempt")))
    }

    fn attempt(&mut self, request: &[u8]) -> Result<Answer, String> {
        self.buffer.clear();
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.address.connect().map_err(|error| format!("cannot connect: {error}"))?),
        };
        stream.write_all(request).map_err(|error| format!("cannot send: {error}"))?;
        loop {
            if fill(stream, &mut self.buffer).map_err(|error| format!("no answer: {error}"))? == 0 {
                return Err(format!("closed the connection after {} bytes of an answer", self.buffer.len()));
            }
            if let Some(answer) = parse(&self.buffer)? {
                if answer.close {
                    self.stream = None;
                }
                return Ok(answer);
            }
        }
    }

    /// The head of the last answer.
    #[must_use]
    pub fn head(&self, answer: &Answer) -> String {
        String::from_utf8_lossy(&self.buffer[answer.head.clone()]).into_owned()
    }
}

/// Reads once behind what the buffer holds; 0 at the end of the stream.
pub fn fill(stream: &mut Stream, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let before = buffer.len();
    buffer.resize(before + if before == 0 { FIRST_CHUNK } else { CHUNK }, 0);
    let read = stream.read(&mut buffer[before..]);
    buffer.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    const CHUNKED: &str =
        "HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";

    #[test]
    fn answers_are_found_with_either_framing_and_only_when_they_are_whole() {
        for (text, status, close) in [(LENGTH, 200, true), (CHUNKED, 409, false)] {
            for end in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "{end}");
            }
            let with_more = format!("{text}HTTP/1.1 200");
            let answer = parse(with_more.as_bytes()).unwrap().unwrap();
            assert_eq!((answer.status, answer.body.as_slice(), answer.close), (status, &b"hello"[..], close));
            assert_eq!(answer.end, text.len());
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 2\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(tail in proptest::collection::vec(any::<u8>(), 0..200), chunked in any::<bool>()) {
            let _ = parse(&tail);
            let head = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 18446744073709551615" };
            let mut bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes();
            bytes.extend(tail);
            let _ = parse(&bytes);
        }
    }
}
