//! Requests that have nothing to do with messages, while another process publishes many: each wakes both workers, which read
//! it and find that nobody has subscribed.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use weir_bus::streams::{Outgoing, Streams};

use super::contender::{Contender, Turn, one_at_a_time};
use super::dialect::{PATIENCE, read};
use super::subject::{self, SET, Subject};
use crate::events::seats::Seats;
use crate::events::stage::Stage;
use weir_measure::error::MeasureError;

/// Messages in a second, and how many are published at a time.
const PER_SECOND: u32 = 50_000;
const AT_A_TIME: u32 = 50;
/// For all followers.
const EVERYBODY: u8 = u8::MAX;

/// A client of a route that answers by itself.
pub struct Beside {
    seats: Seats,
    client: TcpStream,
    streams: Streams,
    stream: usize,
    _subject: Box<dyn Subject>,
}

impl Beside {
    /// Starts a gateway with such a route beside its messages.
    pub fn start(stage: &Stage<'_>, name: &'static str) -> Result<Self, MeasureError> {
        let failed = |error: &dyn std::fmt::Display| MeasureError::program("messages", error.to_string());
        let respond = json!({"site": "all", "path": "/data", "respond": {"status": 200, "body": "data"}});
        let (subject, runtime) = subject::weir_with(stage, name, &[("/routes/data".to_owned(), respond)])?;
        let streams = Streams::open(&runtime).map_err(|error| failed(&error))?;
        let stream = streams.claim(SET, &[SET]).ok_or_else(|| failed(&"no stream"))?;
        let client = TcpStream::connect(("127.0.0.1", subject.port())).map_err(|error| failed(&error))?;
        client.set_read_timeout(Some(PATIENCE)).map_err(|error| failed(&error))?;
        client.set_nodelay(true).map_err(|error| failed(&error))?;
        Ok(Self { seats: stage.seats, client, streams, stream, _subject: subject })
    }
}

fn ask(seats: Seats, client: &mut TcpStream, length: Duration) -> Result<Option<Turn>, MeasureError> {
    let failed = |error: std::io::Error| MeasureError::program("client", error.to_string());
    one_at_a_time(seats, length, || {
        let since = Instant::now();
        client.write_all(b"GET /data HTTP/1.1\r\nHost: a\r\n\r\n").map_err(failed)?;
        let mut chunk = [0; 1024];
        let got = read(client, &mut chunk).map_err(failed)?;
        if !chunk[..got].ends_with(b"data") {
            return Err(MeasureError::wrong("client", String::from_utf8_lossy(&chunk[..got])));
        }
        Ok(since.elapsed())
    })
}

impl Contender for Beside {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        let Self { seats, client, streams, stream, .. } = self;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let publisher = scope.spawn(|| {
                let (start, mut sent) = (Instant::now(), 0u32);
                while !stop.load(Ordering::Relaxed) {
                    let due = (start.elapsed().as_secs_f64() * f64::from(PER_SECOND)) as u32;
                    while sent < due {
                        let message =
                            Outgoing { kind: 1, target: EVERYBODY, id: 0, topic: b"t/none", payload: &[b'x'; 64] };
                        if streams.stream(*stream).publish(&message, 0).is_ok() {
                            streams.wake(None);
                        }
                        sent += 1;
                    }
                    std::thread::sleep(Duration::from_secs_f64(f64::from(AT_A_TIME) / f64::from(PER_SECOND)));
                }
                f64::from(sent) / start.elapsed().as_secs_f64()
            });
            let turn = ask(*seats, client, length);
            stop.store(true, Ordering::Relaxed);
            let rate = publisher.join().unwrap_or_default();
            if rate < f64::from(PER_SECOND) * 0.9 {
                return Err(MeasureError::wrong("publisher", format!("{rate:.0} messages in a second")));
            }
            turn
        })
    }

    fn quiet(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        ask(self.seats, &mut self.client, length)
    }
}
