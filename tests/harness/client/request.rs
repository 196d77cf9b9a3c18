//! An HTTP/1.1 request, as tests compose it.

use super::{Connection, Response};

/// The size of a chunk in bytes.
const CHUNK: usize = 7_919;

/// A request under construction.
#[derive(Clone)]
pub struct Request {
    method: String,
    target: String,
    version: &'static str,
    host: Option<String>,
    headers: Vec<u8>,
    body: Option<Vec<u8>>,
    chunked: bool,
}

impl Request {
    /// A request with any method.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            version: "HTTP/1.1",
            host: Some("weir.test".into()),
            headers: Vec::new(),
            body: None,
            chunked: false,
        }
    }

    /// A `GET` request.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A `POST` request with a body and `Content-Length`.
    #[must_use]
    pub fn post(target: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", target).header("Content-Type", content_type).body(body)
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.extend([name.as_bytes(), b": ", value.as_ref(), b"\r\n"].concat());
        self
    }

    /// Sets a `Host` other than `weir.test`.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Uses HTTP/1.0.
    #[must_use]
    pub fn http10(mut self) -> Self {
        self.version = "HTTP/1.0";
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sends the body in chunks instead of with `Content-Length`.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Whether the response will have no body.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Head and body as sent over the connection.
    #[must_use]
    pub fn wire(&self) -> Vec<u8> {
        let mut wire = self.head();
        if let Some(body) = &self.body {
            wire.extend(if self.chunked { chunks(body) } else { body.clone() });
        }
        wire
    }

    /// The head, including its empty line.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} {}\r\n", self.method, self.target, self.version).into_bytes();
        if let Some(host) = &self.host {
            head.extend(format!("Host: {host}\r\n").into_bytes());
        }
        head.extend(&self.headers);
        match &self.body {
            Some(_) if self.chunked => head.extend(b"Transfer-Encoding: chunked\r\n"),
            Some(body) => head.extend(format!("Content-Length: {}\r\n", body.len()).into_bytes()),
            None => {}
        }
        head.extend(b"\r\n");
        head
    }

    /// Sends the request on a new connection and reads the response.
    #[must_use]
    pub fn send(&self, port: u16) -> Response {
        self.send_on(&mut Connection::open(port))
    }

    /// Sends the request on `connection` and reads the response.
    ///
    /// # Panics
    /// If there is no response.
    #[must_use]
    pub fn send_on(&self, connection: &mut Connection) -> Response {
        self.try_send_on(connection).expect("a whole response")
    }

    /// Sends the request on `connection` and reads the response.
    ///
    /// # Errors
    /// If the connection ends before the response does.
    pub fn try_send_on(&self, connection: &mut Connection) -> std::io::Result<Response> {
        // A server may answer and stop reading before it has read a large body; its answer counts.
        let sent = connection.try_send(&self.wire());
        connection.try_receive(self.is_head()).map_err(|error| sent.err().unwrap_or(error))
    }
}

/// The body in chunks, including the last one.
#[must_use]
fn chunks(body: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(body.len() + 1024);
    for chunk in body.chunks(CHUNK) {
        wire.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        wire.extend(chunk);
        wire.extend(b"\r\n");
    }
    wire.extend(b"0\r\n\r\n");
    wire
}
