//! An HTTP/1.1 origin that answers with what it received, as JSON:
//! `{"method", "target", "version", "headers": [[name, value], ...], "body_length", "body_fnv"}`.
//!
//! `/status/404/...` answers with that status; `/slow/...` after 300 ms; `/header/NAME/VALUE`
//! with that header field; `/big/BYTES` with a body of that many bytes. `X-Origin` says its name.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::serve;
use crate::fnv::fnv;

/// The delay of `/slow/`.
pub const SLOW: Duration = Duration::from_millis(300);

/// A running echo origin.
#[derive(Clone)]
pub struct Echo {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Value>>>,
    connections: Arc<AtomicUsize>,
    failing: Arc<AtomicBool>,
}

impl Echo {
    /// Starts an origin named `echo`.
    #[must_use]
    pub fn start() -> Self {
        Self::named("echo")
    }

    /// Starts an origin with this name.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let failing = Arc::new(AtomicBool::new(false));
        let (log, count, fails) = (Arc::clone(&seen), Arc::clone(&connections), Arc::clone(&failing));
        let address = serve(move |stream| {
            count.fetch_add(1, Ordering::Relaxed);
            converse(name, stream, &log, &fails)
        });
        Self { address, seen, connections, failing }
    }

    /// The number of accepted connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Switches status 503 for every answer on or off.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }

    /// The requests received so far.
    ///
    /// # Panics
    /// If a thread of the origin panicked.
    #[must_use]
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().expect("no thread panicked").clone()
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

fn converse(name: &str, stream: TcpStream, seen: &Mutex<Vec<Value>>, failing: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((request, close)) = read_request(&mut reader)? {
        seen.lock().expect("no thread panicked").push(request.clone());
        writer.write_all(&answer(name, &request, failing.load(Ordering::Relaxed)))?;
        if close {
            break;
        }
    }
    Ok(())
}

fn answer(name: &str, request: &Value, failing: bool) -> Vec<u8> {
    let target = request["target"].as_str().unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let mut segments = path.split('/').skip(1);
    let (mut status, mut extra, mut body) = (200, String::new(), request.to_string().into_bytes());
    match (segments.next(), segments.next(), segments.next()) {
        (Some("status"), Some(code), _) => status = code.parse().unwrap_or(200),
        (Some("slow"), ..) => std::thread::sleep(SLOW),
        (Some("header"), Some(name), Some(value)) => extra = format!("{name}: {value}\r\n"),
        (Some("big"), Some(size), _) => body = vec![b'x'; size.parse().unwrap_or(0)],
        _ => {}
    }
    if failing {
        status = 503;
    }
    if request["method"] == "HEAD" {
        body.clear();
    }
    let head = format!(
        "HTTP/1.1 {status} Echo\r\nContent-Type: application/json\r\nContent-Length: {}\r\nX-Origin: {name}\r\n{extra}\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

/// Reads one request, and whether the connection ends with it; `None` at the end.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(Value, bool)>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let start = text(&line);
    let mut words = start.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let mut headers = Vec::new();
    let (mut length, mut chunked, mut close) = (0, false, version == Some("HTTP/1.0"));
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        let field = text(&line);
        let Some((name, value)) = field.split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" if value.eq_ignore_ascii_case("close") => close = true,
            "connection" if value.eq_ignore_ascii_case("keep-alive") => close = false,
            _ => {}
        }
        headers.push(json!([name, value]));
    }
    let body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    let request = json!({
        "method": method, "target": target, "version": version, "headers": headers,
        "body_length": body.len(), "body_fnv": fnv(&body),
    });
    Ok(Some((request, close)))
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches(['\r', '\n']).to_owned()
}

fn read_exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let (mut body, mut line) = (Vec::new(), String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        body.extend(read_exactly(reader, size)?);
        line.clear();
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}
