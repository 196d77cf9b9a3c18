//! A blocking client for the API of `weir control`, close to the protocol, so that tests see what clients see.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take: a policy with rule sets compiles in some hundred milliseconds, on a busy machine in
/// seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The socket of the control daemon.
#[derive(Clone, Debug)]
pub struct Api {
    socket: PathBuf,
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header fields, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `null` if it is empty, a string if it is not JSON.
    pub body: Value,
}

/// A persistent connection.
pub struct ApiConnection {
    stream: BufReader<UnixStream>,
}

impl Api {
    /// The API behind a socket.
    #[must_use]
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A new connection.
    ///
    /// # Errors
    /// If no process listens.
    pub fn connect(&self) -> std::io::Result<ApiConnection> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(ApiConnection { stream: BufReader::new(stream) })
    }

    /// Sends one request on a new connection.
    ///
    /// # Errors
    /// If there is no complete answer.
    pub fn try_call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> std::io::Result<Answer> {
        self.connect()?.call(method, path, headers, body)
    }

    /// Sends one request.
    ///
    /// # Panics
    /// If there is no complete answer.
    #[must_use]
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.try_call(method, path, &[], body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// `GET /api/v1/PATH`
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", &resource(path), None)
    }

    /// `PUT /api/v1/PATH`
    #[must_use]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", &resource(path), Some(body))
    }

    /// `PATCH /api/v1/PATH`
    #[must_use]
    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call("PATCH", &resource(path), Some(body))
    }

    /// `DELETE /api/v1/PATH`
    #[must_use]
    pub fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", &resource(path), None)
    }

    /// `POST /api/v1/PATH`
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", &resource(path), Some(body))
    }

    /// Puts all these documents in one transaction.
    #[must_use]
    pub fn put_all(&self, documents: &[(&str, Value)]) -> Answer {
        let change = |(path, body): &(&str, Value)| json!({"method": "PUT", "path": format!("/{path}"), "body": body});
        let changes: Vec<Value> = documents.iter().map(change).collect();
        self.post("transactions", &json!({ "changes": changes }))
    }
}

fn resource(path: &str) -> String {
    format!("/api/v1/{path}")
}

impl ApiConnection {
    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// If there is no complete answer.
    pub fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> std::io::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: control\r\ncontent-length: {}\r\n", body.len());
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        head.push_str(&format!("content-type: {kind}\r\n"));
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        self.stream.get_mut().write_all(format!("{head}\r\n{body}").as_bytes())?;
        self.receive()
    }

    fn receive(&mut self) -> std::io::Result<Answer> {
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length =
            headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        let body = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into()),
        };
        Ok(Answer { status, headers, body })
    }

    /// Reads a line, without its line break; an error at the end of the stream.
    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

fn broken() -> std::io::Error {
    std::io::Error::other("no HTTP")
}

impl Answer {
    /// Returns the answer if it has this status.
    ///
    /// # Panics
    /// If the status differs.
    #[must_use]
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// The revision that a change made.
    ///
    /// # Panics
    /// If the answer has no revision.
    #[must_use]
    #[track_caller]
    pub fn revision(&self) -> u64 {
        self.body["revision"].as_u64().unwrap_or_else(|| panic!("no revision: {:#}", self.body))
    }

    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Pointer and message of each error.
    #[must_use]
    pub fn errors(&self) -> Vec<(String, String)> {
        let text = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
        let errors = self.body["errors"].as_array().into_iter().flatten();
        errors.map(|error| (text(error, "pointer"), text(error, "message"))).collect()
    }
}
