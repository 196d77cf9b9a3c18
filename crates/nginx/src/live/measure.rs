//! How fast messages are from worker to worker, measured through nginx's own event loops: for
//! the bench, and only in an nginx that was started for tests.
//!
//! A measurement is a request with JSON: `{"to": 1, "count": 10000, "mode": "rtt"}`. *rtt* asks the
//! other worker `count` times, each question when the answer to the last has come, so that both sleep
//! in between. *oneway* sends `count` messages of 64 bytes as fast as the queue takes them.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use weir_bus::{Address, Endpoint, MessageKind, Received, Recipient, RequestId, SendError, Ticket, Topic};

use crate::worker;

/// The topic of measurements.
pub const TOPIC: Topic = Topic(5);

/// Most messages of one measurement.
const MAX_COUNT: u32 = 10_000_000;

/// Round trips whose times are kept.
const MAX_SAMPLES: usize = 1 << 20;

/// Messages of *oneway* that are sent before the event loop goes on.
const BURST: u32 = 4096;

/// A message of *oneway*.
const MESSAGE: [u8; 64] = [b'.'; 64];

/// The question how many messages have come.
const HOW_MANY: &[u8] = b"how many";

#[derive(Deserialize)]
struct Wanted {
    to: u16,
    count: u32,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Rtt,
    Oneway,
}

#[derive(Serialize)]
struct Figures {
    p50_ns: u64,
    p99_ns: u64,
    mean_ns: f64,
    per_second: f64,
    lost: u64,
}

/// A measurement under way.
struct Measurement {
    ticket: Ticket,
    wanted: Wanted,
    /// Messages still to be sent.
    left: u32,
    /// What is being waited for.
    asked: Option<RequestId>,
    asked_at: u64,
    begun: u64,
    /// What the other worker had received before, once known.
    before: Option<u64>,
    samples_ns: Vec<u64>,
}

struct State {
    running: RefCell<Option<Measurement>>,
    received: std::cell::Cell<u64>,
}

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for State {}

static STATE: State = State { running: RefCell::new(None), received: std::cell::Cell::new(0) };

/// Answers a ping, counts one that wants no answer, or takes the answer to ours.
pub fn ping(endpoint: &Endpoint, message: &Received<'_>) {
    match message.kind {
        MessageKind::Oneway => STATE.received.set(STATE.received.get() + 1),
        MessageKind::Request(_) if message.payload == HOW_MANY => {
            let _ = endpoint.reply(message, &STATE.received.get().to_le_bytes());
        }
        MessageKind::Request(_) => _ = endpoint.reply(message, message.payload),
        MessageKind::Reply(id) => answered(endpoint, id, message.payload),
    }
}

/// Begins a measurement; one that is under way is given up.
pub fn begin(endpoint: &Endpoint, message: &Received<'_>) {
    let Some(ticket) = message.ticket() else { return };
    // Who asks and finds no answer in its queue asks again, or gives up.
    let refuse = |reason: &str| _ = endpoint.reply(message, reason.as_bytes());
    if !super::is_testing() {
        return refuse("{\"error\":\"nginx was not started for tests\"}");
    }
    let mut wanted: Wanted = match serde_json::from_slice(message.payload) {
        Ok(wanted) => wanted,
        Err(error) => return refuse(&serde_json::json!({ "error": error.to_string() }).to_string()),
    };
    wanted.count = wanted.count.clamp(1, MAX_COUNT);
    let count = wanted.count;
    let samples = if wanted.mode == Mode::Rtt { (count as usize).min(MAX_SAMPLES) } else { 0 };
    let mut measurement = Measurement {
        ticket,
        wanted,
        left: count,
        asked: None,
        asked_at: 0,
        begun: worker::ticks(),
        before: None,
        samples_ns: Vec::with_capacity(samples),
    };
    let asked = match measurement.wanted.mode {
        Mode::Rtt => measurement.ask(endpoint, &MESSAGE),
        Mode::Oneway => measurement.ask(endpoint, HOW_MANY),
    };
    match asked {
        Ok(()) => _ = STATE.running.borrow_mut().replace(measurement),
        Err(error) => refuse(&serde_json::json!({ "error": error.to_string() }).to_string()),
    }
}

fn answered(endpoint: &Endpoint, id: RequestId, payload: &[u8]) {
    let mut running = STATE.running.borrow_mut();
    let Some(measurement) = running.as_mut().filter(|measurement| measurement.asked == Some(id)) else { return };
    measurement.asked = None;
    let now = worker::ticks();
    let done = match measurement.wanted.mode {
        Mode::Rtt => {
            if measurement.samples_ns.len() < MAX_SAMPLES {
                measurement.samples_ns.push(worker::ns(now.saturating_sub(measurement.asked_at)));
            }
            measurement.left -= 1;
            measurement.left == 0 || measurement.ask(endpoint, &MESSAGE).is_err()
        }
        Mode::Oneway => {
            let count = payload.try_into().map(u64::from_le_bytes).unwrap_or_default();
            match measurement.before {
                None => {
                    measurement.before = Some(count);
                    measurement.begun = now;
                    endpoint.ring_self();
                    false
                }
                Some(before) => {
                    measurement.report(endpoint, now, count.wrapping_sub(before));
                    *running = None;
                    return;
                }
            }
        }
    };
    if done {
        measurement.report(endpoint, now, u64::from(measurement.wanted.count - measurement.left));
        *running = None;
    }
}

/// Sends what is to be sent one way, as long as there is room.
pub fn go_on() {
    let Some(endpoint) = super::endpoint() else { return };
    let mut running = STATE.running.borrow_mut();
    let Some(measurement) = running.as_mut() else { return };
    if measurement.wanted.mode != Mode::Oneway || measurement.before.is_none() || measurement.asked.is_some() {
        return;
    }
    let to = Address::Worker(measurement.wanted.to);
    for _ in 0..BURST {
        if measurement.left == 0 {
            if measurement.ask(endpoint, HOW_MANY).is_err() {
                endpoint.ring_self();
            }
            return;
        }
        match endpoint.send(to, Topic::PING, &MESSAGE) {
            Ok(()) => measurement.left -= 1,
            Err(SendError::Full) => break, // it has been told to read; we come back
            Err(_) => {
                measurement.left = 0;
                break;
            }
        }
    }
    endpoint.ring_self();
}

impl Measurement {
    fn ask(&mut self, endpoint: &Endpoint, payload: &[u8]) -> Result<(), SendError> {
        self.asked_at = worker::ticks();
        self.asked = Some(endpoint.request(Recipient::One(Address::Worker(self.wanted.to)), Topic::PING, payload)?);
        Ok(())
    }

    fn report(&mut self, endpoint: &Endpoint, now: u64, arrived: u64) {
        let count = u64::from(self.wanted.count);
        let elapsed_ns = worker::ns(now.saturating_sub(self.begun)).max(1) as f64;
        self.samples_ns.sort_unstable();
        let at = |share: f64| {
            let last = self.samples_ns.len().saturating_sub(1);
            self.samples_ns.get((last as f64 * share) as usize).copied().unwrap_or_default()
        };
        let figures = Figures {
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            mean_ns: elapsed_ns / arrived.max(1) as f64,
            per_second: arrived as f64 * 1e9 / elapsed_ns,
            lost: count.saturating_sub(arrived),
        };
        let json = serde_json::to_vec(&figures).expect("figures are plain data");
        // Nobody waits any more if it cannot be sent.
        let _ = endpoint.reply_to(self.ticket, &json);
    }
}
