//! HTTP/1.1 as loads and checks need it: requests made of exact bytes, answers found in a buffer.
//!
//! One client for all: keep-alive load, requests that break the protocol on purpose, and the admin
//! interfaces of peers. A client library would cost more than what it measures, and would not send
//! broken requests.

use std::fmt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::MeasureError;

/// Longest head of an answer.
const MAX_HEAD: usize = 64 * 1024;
/// Longest answer; a transaction names every resource that it changed.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Longest wait for a piece of an answer, unless the client asks for another.
const PATIENCE: Duration = Duration::from_secs(20);
/// Attempts of a client that sends again in any case.
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
    /// A TCP port.
    Tcp(SocketAddr),
}

/// A connection to a server.
#[derive(Debug)]
pub enum Stream {
    /// Over a Unix socket.
    Unix(UnixStream),
    /// Over TCP.
    Tcp(TcpStream),
}

impl Address {
    /// A port on 127.0.0.1.
    #[must_use]
    pub fn local(port: u16) -> Self {
        Self::Tcp(SocketAddr::from(([127, 0, 0, 1], port)))
    }

    /// Connects; reads and writes wait for `patience` at most.
    pub fn connect(&self, patience: Duration) -> std::io::Result<Stream> {
        Ok(match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                Stream::Unix(stream)
            }
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                Stream::Tcp(stream)
            }
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Tcp(address) => write!(formatter, "http://{address}"),
        }
    }
}

impl Stream {
    /// Our port; 0 of a Unix socket.
    pub fn local_port(&self) -> std::io::Result<u16> {
        match self {
            Self::Unix(_) => Ok(0),
            Self::Tcp(stream) => stream.local_addr().map(|address| address.port()),
        }
    }

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

/// The status of an answer that begins with `bytes`; `None` if that is not HTTP/1.
#[must_use]
pub fn status(bytes: &[u8]) -> Option<u16> {
    std::str::from_utf8(bytes.strip_prefix(b"HTTP/1.")?.get(2..5)?).ok()?.parse().ok()
}

/// Percent-encodes a text for use as a value in a query or a form.
#[must_use]
pub fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// How the body's end is found.
enum Framing {
    Length(usize),
    Chunked,
}

/// Finds an answer at the beginning of `bytes`; `None` if it is not whole yet.
pub fn parse(bytes: &[u8]) -> Result<Option<Answer>, String> {
    let Some(head_end) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > MAX_HEAD { Err("the head of the answer does not end".into()) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| "the head of the answer is not text")?;
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status(status_line.as_bytes()).ok_or_else(|| format!("not an answer of HTTP/1: {status_line:.80}"))?;
    let (mut framing, mut close) = (Framing::Length(0), status_line.starts_with("HTTP/1.0"));
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
        Framing::Length(length) if length > MAX_ANSWER => return Err(format!("an answer of {length} bytes")),
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
            .filter(|&size| size <= MAX_ANSWER)
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

/// When a client sends a request again that got no byte of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// Never.
    #[default]
    Never,
    /// If the connection had been used before: the server may just have closed it (RFC 9112, section 9.3.1).
    Reused,
    /// Some twenty times: for servers that close their listeners during a reload, and requests that
    /// do the same twice.
    Always,
}

/// A client with one connection and one request at a time.
#[derive(Debug)]
pub struct Client {
    address: Address,
    patience: Duration,
    retry: Retry,
    stream: Option<Stream>,
    buffer: Vec<u8>,
    /// Whether the connection had been used before the present request.
    reused: bool,
    /// Why the present request could not be sent.
    unsent: Option<String>,
}

impl Client {
    /// Connects with the first request.
    #[must_use]
    pub fn new(address: Address) -> Self {
        let buffer = Vec::with_capacity(CHUNK);
        Self { address, patience: PATIENCE, retry: Retry::Never, stream: None, buffer, reused: false, unsent: None }
    }

    /// Waits this long for a piece of an answer.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends requests again.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// Sends the request and waits for the answer.
    pub fn exchange(&mut self, request: &[u8]) -> Result<Answer, MeasureError> {
        self.send(request);
        self.receive(request)
    }

    /// Sends a request, whose answer must be [`received`](Self::receive) before the next one is sent. What
    /// goes wrong is said then.
    pub fn send(&mut self, request: &[u8]) {
        self.buffer.clear();
        self.reused = self.stream.is_some();
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => match self.address.connect(self.patience) {
                Ok(stream) => none.insert(stream),
                Err(error) => return self.unsent = Some(format!("cannot connect: {error}")),
            },
        };
        self.unsent = stream.write_all(request).err().map(|error| format!("cannot send: {error}"));
    }

    /// The answer to the request that was sent.
    pub fn receive(&mut self, request: &[u8]) -> Result<Answer, MeasureError> {
        for attempt in 1.. {
            let failure = match self.read() {
                Ok(answer) => {
                    if answer.close || self.unsent.is_some() {
                        self.close();
                    }
                    return Ok(answer);
                }
                // A server may answer and close before it has read a long body, so reading comes first.
                Err(failure) => self.unsent.take().unwrap_or(failure),
            };
            self.close();
            let again = match self.retry {
                Retry::Never => false,
                Retry::Reused => self.reused,
                Retry::Always => attempt < ATTEMPTS,
            };
            if !again || !self.buffer.is_empty() {
                return Err(MeasureError::program(self.address.to_string(), failure));
            }
            self.send(request);
        }
        unreachable!("the last attempt returns")
    }

    /// Hangs up; the next request connects again.
    pub fn close(&mut self) {
        self.stream = None;
    }

    fn read(&mut self) -> Result<Answer, String> {
        let Some(stream) = &mut self.stream else { return Err("the connection is closed".into()) };
        loop {
            if fill(stream, &mut self.buffer).map_err(|error| format!("no answer: {error}"))? == 0 {
                return Err(format!("closed the connection after {} bytes of an answer", self.buffer.len()));
            }
            if let Some(answer) = parse(&self.buffer)? {
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

    /// A server that answers each connection with the given bytes, one write each, then closes.
    fn server(answers: Vec<Vec<&'static [u8]>>) -> Address {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
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
        Address::local(port)
    }

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    const FORBIDDEN: &[u8] = b"HTTP/1.1 403 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn connections_are_kept_and_reopened() {
        let address = server(vec![vec![OK, FORBIDDEN], vec![OK], vec![OK]]);
        let mut client = Client::new(address).retry(Retry::Reused);
        let statuses: Vec<u16> = (0..4).map(|_| client.exchange(b"GET / HTTP/1.1\r\n\r\n").unwrap().status).collect();
        assert_eq!(statuses, [200, 403, 200, 200]);
    }

    #[test]
    fn a_new_connection_without_an_answer_is_an_error_unless_the_client_always_sends_again() {
        let answers = || server(vec![vec![], vec![OK]]);
        assert!(Client::new(answers()).retry(Retry::Reused).exchange(b"x").is_err());
        assert_eq!(Client::new(answers()).retry(Retry::Always).exchange(b"x").unwrap().status, 200);
    }

    #[test]
    fn values_are_encoded() {
        assert_eq!(encode("a b&c='1'"), "a%20b%26c%3D%271%27");
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
