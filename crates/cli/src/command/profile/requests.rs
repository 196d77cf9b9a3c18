//! How many requests were answered while samples were taken: as told, from nginx's `stub_status`,
//! or from the ledger of Weir's own nginx, which needs no option.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use weir_ledger::Control;
use weir_sample::Found;

use crate::Failure;
use crate::arguments::Record;

/// For connecting, and for each read and write.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of an answer; `stub_status` has about 100.
const MOST_BYTES: u64 = 65_536;

/// Where the number comes from, and what it was before.
pub(super) enum Requests {
    Unknown,
    Told(u64),
    Status { url: String, before: u64 },
    Ledger { control: Box<Control>, before: HashMap<u32, u64> },
}

impl Requests {
    pub fn before(runtime: &Path, record: &Record, found: &Found) -> Result<Self, Failure> {
        if let Some(told) = record.requests {
            return Ok(Self::Told(told));
        }
        if let Some(url) = &record.requests_from {
            return Ok(Self::Status { url: url.clone(), before: stub_status(url)? });
        }
        // No ledger is no error: most processes are not Weir's nginx.
        let Ok(control) = Control::open(runtime) else { return Ok(Self::Unknown) };
        let before = workers(&control);
        if !found.pids.iter().any(|pid| before.contains_key(pid)) {
            return Ok(Self::Unknown);
        }
        Ok(Self::Ledger { control: Box::new(control), before })
    }

    /// Requests since then.
    pub fn after(self) -> Result<Option<u64>, Failure> {
        Ok(match self {
            Self::Unknown => None,
            Self::Told(told) => Some(told),
            // Asking is a request, too.
            Self::Status { url, before } => Some(stub_status(&url)?.saturating_sub(before).saturating_sub(1)),
            Self::Ledger { control, before } => {
                let more = |(pid, now): (u32, u64)| now.saturating_sub(before.get(&pid).copied().unwrap_or_default());
                Some(workers(&control).into_iter().map(more).sum())
            }
        })
    }
}

fn workers(control: &Control) -> HashMap<u32, u64> {
    let alive = control.workers().into_iter().filter(|worker| worker.alive);
    alive.map(|worker| (worker.pid, worker.requests)).collect()
}

/// The third number below the line `server accepts handled requests` (`ngx_http_stub_status_module`).
fn stub_status(url: &str) -> Result<u64, Failure> {
    let answer = get(url).map_err(|error| {
        Failure::new(format!("{url}: {error}"))
            .hint("nginx answers there with `location = /status { stub_status; }`; or give the number with --requests")
    })?;
    requests_in(&answer).ok_or_else(|| {
        Failure::new(format!("{url} does not answer as nginx's stub_status"))
            .hint("add `location = /status { stub_status; }`, or give the number with --requests")
    })
}

fn requests_in(answer: &str) -> Option<u64> {
    let (_, counts) = answer.split_once("server accepts handled requests")?;
    counts.split_whitespace().nth(2)?.parse().ok()
}

fn get(url: &str) -> Result<String, std::io::Error> {
    let wrong = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidInput, what.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("only http:// is read"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let address = with_port.to_socket_addrs()?.next().ok_or_else(|| wrong("the host has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // In one piece: a server may answer, and close, when it has read the first one.
    let request = format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const ANSWER: &str = "HTTP/1.1 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n \
                          16 16 31 \nReading: 0 Writing: 1 Waiting: 1 \n";

    #[test]
    fn the_third_number_is_the_requests() {
        let cases =
            [(ANSWER, Some(31)), ("HTTP/1.1 404 Not Found", None), ("server accepts handled requests\n1 x", None)];
        for (answer, want) in cases {
            assert_eq!(requests_in(answer), want);
        }
    }

    #[test]
    fn a_server_is_asked_and_what_is_wrong_is_said() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let port = listener.local_addr().expect("bound").port();
        let server = std::thread::spawn(move || {
            for answer in [ANSWER, "HTTP/1.1 404 Not Found\r\n\r\n"] {
                let (mut stream, _) = listener.accept().expect("accepts");
                let _ = stream.read(&mut [0; 1024]);
                stream.write_all(answer.as_bytes()).expect("writes");
            }
        });
        let url = format!("http://127.0.0.1:{port}/status");
        assert_eq!(stub_status(&url).expect("answers"), 31);
        assert!(stub_status(&url).expect_err("404").to_string().contains("does not answer as"));
        server.join().expect("ends");
        assert!(stub_status(&url).expect_err("is gone").to_string().contains(&url));
        assert!(stub_status("https://x/").expect_err("is no http").to_string().contains("only http://"));
    }
}
