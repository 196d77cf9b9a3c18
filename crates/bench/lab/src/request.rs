//! A request sent by hand, to see whether a variant does its work before it is timed.
//!
//! One connection, one request, `Connection: close`, a few seconds of patience; no client
//! library, because the checks want exact bytes on the wire.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Answers are read up to this size; the origin's are tiny.
const ANSWER_LIMIT: u64 = 1 << 20;

/// A request as a browser would send it, with the parts that checks vary.
#[derive(Clone, Debug)]
pub struct Request {
    /// Request target as it goes over the wire.
    pub target: String,
    /// User-Agent header.
    pub agent: String,
    /// Cookie header.
    pub cookie: String,
    /// Referer header.
    pub referer: String,
    /// X-Forwarded-For header: the client's address.
    pub client: String,
    /// Body, urlencoded.
    pub body: String,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            target: "/search?q=garden&page=2".into(),
            agent: "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0".into(),
            cookie: "sid=0123456789abcdef; theme=light".into(),
            referer: "https://www.example.com/".into(),
            client: "20.30.40.50".into(),
            body: "name=Ada+Lovelace&city=London".into(),
        }
    }
}

impl Request {
    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        format!(
            "POST {} HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: {}\r\nCookie: {}\r\nReferer: {}\r\n\
             X-Forwarded-For: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{}",
            self.target,
            self.agent,
            self.cookie,
            self.referer,
            self.client,
            self.body.len(),
            self.body
        )
        .into_bytes()
    }

    /// Sends it and returns the status of the answer.
    pub fn status(&self, port: u16) -> std::io::Result<u16> {
        status_of(&exchange(port, &self.bytes())?)
    }
}

/// Sends bytes on a new connection and reads until the other side closes.
pub fn exchange(port: u16, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    stream.take(ANSWER_LIMIT).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Status code of an HTTP/1 answer.
pub fn status_of(answer: &[u8]) -> std::io::Result<u16> {
    let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    text.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| {
        std::io::Error::new(std::io::ErrorKind::InvalidData, format!("no status line in the answer, but {text:?}"))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_and_its_length_right() {
        let text = String::from_utf8(Request::default().bytes()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /search?q=garden&page=2 HTTP/1.1\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }

    #[test]
    fn statuses_are_read_and_garbage_is_not() {
        assert_eq!(status_of(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap(), 403);
        assert!(status_of(b"").is_err());
        assert!(status_of(b"\x00\x01\r\n").is_err());
    }

    #[test]
    fn values_are_encoded() {
        assert_eq!(encode("a b&c='1'"), "a%20b%26c%3D%271%27");
    }
}
