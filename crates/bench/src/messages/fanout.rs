//! One message to many: the next is published when everybody has the last one, so that each delivery is a write of its own.

use std::time::{Duration, Instant};

use super::audience::Audience;
use super::contender::{Contender, Turn};
use super::dialect::{Dialect, Publisher};
use super::subject::Subject;
use crate::events::seats::Seats;
use crate::events::timings::Timings;
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::process::{CpuTime, Footprint};

/// Messages before the first one counts.
const WARM_UP: u64 = 2;
/// Deliveries that there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 1_000_000.0;
/// How long servers get to put things in order after the last subscriber.
const SETTLING: Duration = Duration::from_millis(500);

/// A server whose subscribers come for each turn: together those of all rows would be more than a process may have files.
pub struct Fanout {
    seats: Seats,
    subject: Box<dyn Subject>,
    dialect: Dialect,
    size: usize,
    idle_bytes: f64,
}

impl Fanout {
    /// Connects so many subscribers, looks at the memory of the server, and hangs up.
    pub fn start(
        seats: Seats,
        subject: Box<dyn Subject>,
        dialect: &Dialect,
        size: usize,
    ) -> Result<Self, MeasureError> {
        // What a server sets up for the first client is not of the others.
        drop(dialect.subscriber(subject.port(), size)?);
        std::thread::sleep(SETTLING);
        let before = resident_bytes(&*subject)?;
        let audience = Audience::gather(dialect, subject.port(), size)?;
        std::thread::sleep(SETTLING);
        let idle_bytes = (resident_bytes(&*subject)? - before) / size as f64;
        drop(audience);
        Ok(Self { seats, subject, dialect: *dialect, size, idle_bytes })
    }
}

impl Contender for Fanout {
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError> {
        let Self { seats, subject, dialect, size, .. } = self;
        let audience = Audience::gather(dialect, subject.port(), *size)?;
        let publisher = dialect.publisher(subject.port())?;
        let turn = deliver(*seats, &**subject, publisher, audience, length);
        // The end of so many connections is work, too, which is nobody else's.
        std::thread::sleep(SETTLING);
        turn
    }

    fn idle_bytes(&self) -> Option<f64> {
        Some(self.idle_bytes)
    }

    fn subscribers(&self) -> usize {
        self.size
    }
}

/// Connections of HTTP that are kept and say nothing: what nginx takes for a connection.
pub struct Idle(Fanout);

impl Idle {
    /// Connects so many, looks at the memory, and hangs up.
    pub fn start(subject: Box<dyn Subject>, dialect: &Dialect, size: usize) -> Result<Self, MeasureError> {
        Fanout::start(Seats::default(), subject, dialect, size).map(Self)
    }
}

impl Contender for Idle {
    fn turn(&mut self, _length: Duration) -> Result<Option<Turn>, MeasureError> {
        Ok(None)
    }

    fn idle_bytes(&self) -> Option<f64> {
        self.0.idle_bytes()
    }

    fn subscribers(&self) -> usize {
        self.0.subscribers()
    }
}

/// Publishes for `length`, on the client's core.
pub fn deliver(
    seats: Seats,
    subject: &dyn Subject,
    mut publisher: Publisher,
    mut audience: Audience,
    length: Duration,
) -> Result<Option<Turn>, MeasureError> {
    let mut last = 0;
    let mut publish = |timings: &mut Timings| {
        check_interrupted()?;
        last += 1;
        let message = publisher.message(last);
        let since = Instant::now();
        publisher.send(&message)?;
        audience.hear(last, since, timings)?;
        publisher.taken().map(drop)
    };
    seats.as_client(|| {
        for _ in 0..WARM_UP {
            publish(&mut Timings::begin(0))?;
        }
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        let before = cpu_ns(subject)?;
        while timings.elapsed() < length {
            publish(&mut timings)?;
        }
        let spent = cpu_ns(subject)? - before;
        Ok(timings.end().map(|figures| Turn { cpu_us: Some(spent / figures.samples as f64 / 1e3), figures }))
    })
}

/// CPU time of all processes of a server so far.
fn cpu_ns(subject: &dyn Subject) -> Result<f64, MeasureError> {
    let mut spent = 0.0;
    for process in subject.processes() {
        spent += CpuTime::of(process)?.run_ns as f64;
    }
    Ok(spent)
}

/// Memory of all processes of a server, without pages of files.
fn resident_bytes(subject: &dyn Subject) -> Result<f64, MeasureError> {
    let mut bytes = 0.0;
    for process in subject.processes() {
        bytes += Footprint::of(process)?.pss_own_kib as f64 * 1024.0;
    }
    Ok(bytes)
}
