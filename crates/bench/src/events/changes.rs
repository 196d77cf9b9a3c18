//! Changes through Weir's API, each answered when both workers serve it: one at a time, or on many
//! connections at once.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::answered::applied;
use super::contender::{Contender, Turn};
use super::crowd::{Conversation, Crowd};
use super::policy::{Change, PolicySize};
use super::stage::Stage;
use super::timings::{Figures, Timings};
use super::weir::Weir;
use weir_measure::error::MeasureError;
use weir_measure::http::{Answer, Client};
use weir_measure::interrupt::check_interrupted;

/// Share of a turn that is not counted: the processes have slept through the others' turns.
const WARM_UP: f64 = 0.05;
/// How many there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 100_000.0;

struct Changes {
    name: &'static str,
    weir: Rc<Weir>,
    change: Change,
    connections: usize,
    client: Client,
}

/// Changes of one kind in a policy of a size, on so many connections.
pub fn start(
    stage: &Stage<'_>,
    name: &'static str,
    size: PolicySize,
    change: Change,
    connections: usize,
) -> Result<Box<dyn Contender>, MeasureError> {
    let weir = stage.gateway(name, size)?;
    let client = weir.client();
    Ok(Box::new(Changes { name, weir, change, connections, client }))
}

/// What the answers have said so far.
struct AnsweredChanges<'h> {
    name: &'h str,
    weir: &'h Weir,
    change: Change,
    worker_us: u64,
    count: u64,
}

impl AnsweredChanges<'_> {
    fn mean_worker_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.worker_us as f64 / self.count as f64)
    }
}

impl Conversation for AnsweredChanges<'_> {
    fn request(&mut self, into: &mut Vec<u8>) {
        self.change.request(self.weir.next(), self.weir.size, into);
    }

    fn answer(&mut self, _head: &[u8], answer: &Answer) -> Result<(), MeasureError> {
        let applied = applied(answer).map_err(|message| MeasureError::wrong(self.name, message))?;
        self.worker_us += applied.worker_us;
        self.count += 1;
        Ok(())
    }

    fn failed(&mut self, why: String) -> Result<(), MeasureError> {
        Err(MeasureError::wrong(self.name, format!("a change was not answered: {why}")))
    }
}

impl Changes {
    fn run(
        client: &mut Client,
        connections: usize,
        heard: &mut AnsweredChanges<'_>,
        length: Duration,
    ) -> Result<Figures, MeasureError> {
        if connections > 1 {
            let crowd = Crowd { address: heard.weir.address(), connections, rate: None };
            return crowd.run(length, heard);
        }
        let mut request = Vec::new();
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            check_interrupted()?;
            heard.request(&mut request);
            let before = Instant::now();
            let answer = client.exchange(&request)?;
            timings.push(before.elapsed());
            heard.answer(&[], &answer)?;
        }
        timings.end().ok_or_else(|| MeasureError::wrong(heard.name, "answered nothing in its time"))
    }
}

impl Contender for Changes {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let Self { name, weir, change, connections, client } = self;
        let seats = weir.seats;
        let mut heard = AnsweredChanges { name, weir, change: *change, worker_us: 0, count: 0 };
        seats.as_client(|| Self::run(client, *connections, &mut heard, length.mul_f64(WARM_UP)))?;
        heard.weir.take_held_us()?;
        (heard.worker_us, heard.count) = (0, 0);
        let figures = seats.as_client(|| Self::run(client, *connections, &mut heard, length))?;
        Ok(Turn { held_us: Some(heard.weir.take_held_us()?), worker_us: heard.mean_worker_us(), ..Turn::from(figures) })
    }
}
