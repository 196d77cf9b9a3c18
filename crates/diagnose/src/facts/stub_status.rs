//! nginx's own counters, from a location with `stub_status`, queried over plain HTTP.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::nginx::NginxRequests;

/// Timeout of a query.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of a response.
const MAX_BYTES: u64 = 64 << 10;

impl NginxRequests {
    /// The increase since `before`. `active` is a state and stays.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            accepted: self.accepted.saturating_sub(before.accepted),
            handled: self.handled.saturating_sub(before.handled),
            // The query itself is a request too.
            requests: self.requests.saturating_sub(before.requests).saturating_sub(1),
            active: self.active,
        }
    }
}

/// Queries the counters.
///
/// # Errors
/// If there is no response, or it is not the page of `stub_status`.
pub fn read(url: &str) -> io::Result<NginxRequests> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("the address must begin with http://"))?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let address = if host.rsplit(']').next().is_some_and(|end| end.contains(':')) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let address = address.to_socket_addrs()?.next().ok_or_else(|| wrong("the host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let path = if path.is_empty() { "/" } else { path };
    // In one write: a server may respond and close after reading the first one.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer)?;
    parse(&String::from_utf8_lossy(&answer))
        .ok_or_else(|| io::Error::other("the response is not a stub_status page; is `stub_status;` in that location?"))
}

/// `Active connections: 1` / `server accepts handled requests` / ` 2 2 3`.
fn parse(answer: &str) -> Option<NginxRequests> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split_whitespace().nth(1) != Some("200") {
        return None;
    }
    let active = body.lines().find_map(|line| line.strip_prefix("Active connections:"))?.trim().parse().ok()?;
    let counters = body.lines().skip_while(|line| !line.starts_with("server accepts handled requests")).nth(1)?;
    let mut counters = counters.split_whitespace().map(|number| number.parse().ok());
    let mut next = || counters.next().flatten();
    Some(NginxRequests { accepted: next()?, handled: next()?, requests: next()?, active })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_read() {
        let page =
            "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 10 9 31 \nReading: 0\n";
        let read = parse(page).expect("parses");
        assert_eq!((read.active, read.accepted, read.handled, read.requests), (2, 10, 9, 31));
        let later = NginxRequests { requests: 42, ..read };
        assert_eq!(later.since(read).requests, 10);
        for other in ["", "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n<html>"] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn a_server_is_asked_and_what_is_wrong_is_said() {
        const PAGE: &str =
            "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 16 16 31 \n";
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
        let url = format!("http://{}/status", listener.local_addr().expect("is bound"));
        let server = std::thread::spawn(move || {
            for answer in [PAGE, "HTTP/1.1 404 Not Found\r\n\r\n"] {
                let (mut stream, _) = listener.accept().expect("accepts");
                // Closing with more to read would reset the connection under the answer.
                let _ = stream.read(&mut [0; 1024]);
                stream.write_all(answer.as_bytes()).expect("writes");
            }
        });
        assert_eq!(read(&url).expect("answers").requests, 31);
        assert!(read(&url).expect_err("404").to_string().contains("is not a stub_status page"));
        server.join().expect("ends");
        assert!(read(&url).is_err(), "nobody listens any more");
    }

    #[test]
    fn other_addresses_are_refused() {
        for url in ["https://x/", "file:///etc/passwd", "", "http://"] {
            assert!(read(url).is_err(), "{url}");
        }
    }
}
