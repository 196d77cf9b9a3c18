//! Messages from worker to worker, measured by worker 0 itself inside nginx's event loop: it is asked
//! over the bus, as control would ask it, and answers with what it found. Only an nginx that was
//! started with `WEIR_TESTING=1` does that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use weir_bus::{Address, Endpoint, MessageKind, Recipient, Topic};

use super::contender::{Contender, Turn};
use super::stage::Stage;
use super::timings::Figures;
use super::weir::{newest_region, runtime, start_nginx};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::server::Server;

/// The topic of the question.
const MEASURE: Topic = Topic(5);
/// Messages of the first, short measurement, which says how many make a turn.
const FIRST: u64 = 2_000;
/// Most messages of a measurement.
const MOST: u64 = 50_000_000;
/// How much longer than a turn the answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The measurement that the worker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// There and back, one at a time, both workers asleep in between.
    RoundTrip,
    /// One way, 64 bytes, as fast as they go.
    OneWay,
}

/// The worker's answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Measurement {
    p50_ns: f64,
    p99_ns: f64,
    mean_ns: f64,
    per_second: f64,
    lost: u64,
}

struct Workers {
    name: &'static str,
    mode: Mode,
    endpoint: Endpoint,
    _nginx: Server,
}

/// Starts nginx alone, and takes control's place on its bus.
pub fn start(stage: &Stage<'_>, name: &'static str, mode: Mode) -> Result<Box<dyn Contender>, MeasureError> {
    let nginx = start_nginx(stage, name, weir_measure::port::free()?, &[("WEIR_TESTING", "1".into())], 0)?;
    let region = Arc::new(newest_region(&runtime(stage, name)?)?);
    let endpoint = region.attach(Address::Control).map_err(|error| MeasureError::program("bus", error.to_string()))?;
    Ok(Box::new(Workers { name, mode, endpoint, _nginx: nginx }))
}

impl Workers {
    fn measure(&self, count: u64, limit: Duration) -> Result<Measurement, MeasureError> {
        let wrong = |message: String| MeasureError::wrong(self.name, message);
        let mode = if self.mode == Mode::RoundTrip { "rtt" } else { "oneway" };
        let question = json!({"to": 1, "count": count, "mode": mode}).to_string();
        let asked = self.endpoint.request(Recipient::One(Address::Worker(0)), MEASURE, question.as_bytes());
        let asked = asked.map_err(|error| wrong(format!("worker 0 cannot be asked: {error}")))?;
        let deadline = Instant::now() + limit;
        let mut answer = None;
        while answer.is_none() {
            check_interrupted()?;
            if Instant::now() > deadline {
                return Err(wrong(format!("worker 0 did not answer within {limit:?}")));
            }
            sleep_until_rung(self.endpoint.bell());
            self.endpoint.receive(&mut |message| {
                if message.kind == MessageKind::Reply(asked) {
                    answer = Some(
                        serde_json::from_slice::<Measurement>(message.payload)
                            .map_err(|error| format!("{error}: {:.200}", String::from_utf8_lossy(message.payload))),
                    );
                }
            });
        }
        answer.unwrap_or_else(|| Err("no answer".into())).map_err(wrong)
    }
}

/// Sleeps until the bell rings, but not so long that an interrupt would be missed.
fn sleep_until_rung(bell: i32) {
    let mut poll = libc::pollfd { fd: bell, events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd on our stack, and its number.
    unsafe { libc::poll(&raw mut poll, 1, 100) };
}

impl Contender for Workers {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let first = self.measure(FIRST, PATIENCE)?;
        let rate = match self.mode {
            Mode::RoundTrip => 1e9 / first.mean_ns.max(1.0),
            Mode::OneWay => first.per_second,
        };
        let count = ((length.as_secs_f64() * rate) as u64).clamp(FIRST, MOST);
        let found = self.measure(count, length + PATIENCE)?;
        if found.lost > 0 {
            return Err(MeasureError::wrong(self.name, format!("{} of {count} messages were lost", found.lost)));
        }
        let per_second = if found.per_second > 0.0 { found.per_second } else { 1e9 / found.mean_ns.max(1.0) };
        // One way nobody times single messages: what counts is how many come through.
        let each = |ns: f64| if self.mode == Mode::OneWay { 1e6 / per_second } else { ns / 1e3 };
        let (mean_us, p50_us, p99_us) = (each(found.mean_ns), each(found.p50_ns), each(found.p99_ns));
        let figures = Figures { mean_us, p50_us, p99_us, per_second, samples: count };
        Ok(Turn { lost: Some(0), ..Turn::from(figures) })
    }
}
