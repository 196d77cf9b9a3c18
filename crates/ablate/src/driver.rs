//! The load in slices: a blocking driver that begins and ends with nothing under way.
//!
//! `wrk` runs for whole seconds and leaves requests half done at its end. Differences between
//! variants are a few microseconds, and a neighbour disturbs for seconds, so variants have to take
//! turns more often: a slice of a tenth of a second is exact here, because every request that was
//! sent in it is answered before the CPU time is read. Connections take turns: the oldest answer is
//! read, and the next request sent on the same connection, so that all but one are always under way.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, Retry};
use weir_measure::interrupt::check_interrupted;

/// How long a worker has for what it does behind its last answer before its CPU time is read. The
/// kernel's count of a process that sleeps is exact.
const SETTLE: Duration = Duration::from_micros(500);

/// The result of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Requests answered.
    pub requests: u64,
    /// Answers with a status of 400 or more.
    pub refused: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
}

/// Sends requests in their order, round and round.
#[derive(Debug)]
pub struct Driver {
    requests: Vec<Vec<u8>>,
    next: usize,
    connections: usize,
    /// Requests per second; as fast as answers come if `None`.
    rate: Option<f64>,
}

impl Driver {
    /// For requests as they go over the wire; there must be one.
    #[must_use]
    pub fn new(requests: Vec<Vec<u8>>, connections: usize, rate: Option<f64>) -> Self {
        assert!(!requests.is_empty() && connections > 0, "there is something to send, on something");
        Self { requests, next: 0, connections, rate }
    }

    /// A slice after a warm-up. `cpu_ns` tells the CPU time so far.
    pub fn slice(
        &mut self,
        address: SocketAddr,
        warm_up: Duration,
        length: Duration,
        cpu_ns: &mut dyn FnMut() -> Result<u64, MeasureError>,
    ) -> Result<Slice, MeasureError> {
        let mut connections: Vec<Connection> = (0..self.connections).map(|_| Connection::new(address)).collect();
        self.run(&mut connections, warm_up)?;
        std::thread::sleep(SETTLE);
        let before = cpu_ns()?;
        let slice = self.run(&mut connections, length)?;
        std::thread::sleep(SETTLE);
        Ok(Slice { cpu_ns: cpu_ns()?.saturating_sub(before), ..slice })
    }

    fn run(&mut self, connections: &mut [Connection], length: Duration) -> Result<Slice, MeasureError> {
        let start = Instant::now();
        let (mut slice, mut sent) = (Slice::default(), 0u64);
        let count = connections.len();
        for turn in 0.. {
            check_interrupted()?;
            if start.elapsed() >= length && sent > 0 {
                break;
            }
            let connection = &mut connections[turn % count];
            slice.add(connection.answer()?);
            if let Some(rate) = self.rate {
                let due = Duration::from_secs_f64(sent as f64 / rate);
                std::thread::sleep(due.min(length).saturating_sub(start.elapsed()));
            }
            connection.send(&self.requests[self.next]);
            self.next = (self.next + 1) % self.requests.len();
            sent += 1;
        }
        for connection in connections {
            slice.add(connection.answer()?);
        }
        Ok(slice)
    }
}

impl Slice {
    fn add(&mut self, status: Option<u16>) {
        self.requests += u64::from(status.is_some());
        self.refused += u64::from(status.is_some_and(|status| status >= 400));
    }
}

/// A connection with at most one request under way.
#[derive(Debug)]
struct Connection {
    client: Client,
    /// The request whose answer has not been read; empty if there is none.
    waiting: Vec<u8>,
}

impl Connection {
    fn new(address: SocketAddr) -> Self {
        Self { client: Client::new(Address::Tcp(address)).retry(Retry::Reused), waiting: Vec::new() }
    }

    fn send(&mut self, request: &[u8]) {
        self.waiting.extend_from_slice(request);
        self.client.send(request);
    }

    /// The status of the answer that is waited for; `None` if there is none.
    fn answer(&mut self) -> Result<Option<u16>, MeasureError> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let answer = self.client.receive(&self.waiting)?;
        self.waiting.clear();
        Ok(Some(answer.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    /// Answers every request by its path; hangs up after so many on a connection without saying so.
    fn server(hang_up_after: usize) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let mut stream = stream;
                    for _ in 0..hang_up_after {
                        let Some(first) = lines.next() else { return };
                        while lines.next().is_some_and(|line| !line.is_empty()) {}
                        let answer: &[u8] = match first.contains("/no") {
                            true => b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
                            false => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                        };
                        let _ = stream.write_all(answer);
                    }
                });
            }
        });
        address
    }

    fn driver(rate: Option<f64>) -> Driver {
        Driver::new(vec![b"GET / HTTP/1.1\r\n\r\n".to_vec(), b"GET /no HTTP/1.1\r\n\r\n".to_vec()], 3, rate)
    }

    #[test]
    fn every_request_is_answered_and_counted_even_where_connections_close() {
        let mut reads = 0;
        let mut cpu = || {
            reads += 1;
            Ok(reads * 1_000)
        };
        let length = Duration::from_millis(300);
        let slice = driver(None).slice(server(7), Duration::from_millis(5), length, &mut cpu).unwrap();
        assert!(slice.requests > 20, "{slice:?}");
        assert!(slice.refused.abs_diff(slice.requests / 2) <= 1, "{slice:?}");
        assert_eq!(slice.cpu_ns, 1_000);
    }

    #[test]
    fn a_rate_is_kept() {
        let length = Duration::from_secs(1);
        let slice = driver(Some(100.0)).slice(server(1_000), Duration::ZERO, length, &mut || Ok(0)).unwrap();
        assert!((60..=105).contains(&slice.requests), "{slice:?}");
    }

    #[test]
    fn nobody_there_is_an_error_with_the_address() {
        let port = weir_measure::port::free().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let error = driver(None).slice(address, Duration::ZERO, Duration::ZERO, &mut || Ok(0)).unwrap_err();
        assert!(error.to_string().contains(&port.to_string()), "{error}");
    }
}
