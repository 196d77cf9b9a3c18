//! The scenario `events`: how long a change takes until it is live, and a message from worker to
//! worker, beside what other proxies and a broker need for the same.
//!
//! Such a time is mostly the kernel's: waking the processes that take part. So every figure stands
//! beside the machine's own floor, the same wake-ups done bare ([`floor`]), taken a moment before in
//! the same round. Rounds alternate among all rows, and medians over rounds are reported.

mod answered;
pub mod bell;
mod caddy;
mod changes;
mod contender;
mod crowd;
mod floor;
pub mod forked;
mod haproxy;
mod live;
mod mosquitto;
mod mqtt;
pub mod nginx;
mod nginx_reload;
pub mod policy;
mod report;
mod ring;
mod rows;
pub mod seats;
pub mod stage;
pub mod timings;
mod traffic;
mod transaction;
pub mod weir;
mod workers;

use std::collections::HashMap;
use std::time::Duration;

use contender::Contender;
use floor::{Floor, Hops};
use report::{EventResults, EventRow, Measured};
use ring::Ring;
use rows::Row;
use seats::Seats;
use stage::Stage;
use timings::Figures;

use crate::rounds::{Schedule, interleaved};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::Site;

/// Length of a floor's measurement before each turn, as a share of the turn.
const FLOOR_SHARE: f64 = 0.15;
/// The row without changes, which the one with changes is compared with.
const QUIET: &str = "traffic-quiet";
/// The row with changes.
const CHANGING: &str = "traffic-2000";

/// The floors of all patterns, started before there is anything else that a fork would copy.
struct Floors {
    chains: HashMap<Hops, Floor>,
    ring: Ring,
}

impl Floors {
    fn start(seats: Seats) -> Result<Self, MeasureError> {
        let chain = |hops| Ok((hops, Floor::start(hops, seats)?));
        let chains =
            [Hops::Pair, Hops::Relay, Hops::Change].map(chain).into_iter().collect::<Result<_, MeasureError>>()?;
        Ok(Self { chains, ring: Ring::start(seats)? })
    }

    fn measure(&self, hops: Hops, length: Duration) -> Result<Figures, MeasureError> {
        match self.chains.get(&hops) {
            Some(chain) => chain.measure(length),
            None => self.ring.measure(length),
        }
    }
}

/// Runs the chosen rows and returns what the file will hold.
pub fn run(
    site: &Site,
    only: &[String],
    under_load: bool,
    schedule: Schedule,
    host: Host,
) -> Result<EventResults, MeasureError> {
    let rows = rows::chosen(only, under_load)?;
    let stage = Stage::new(site);
    let floors = Floors::start(stage.seats)?;
    let mut started: Vec<Result<Box<dyn Contender>, String>> = Vec::new();
    for row in &rows {
        check_interrupted()?;
        started.push(match (row.start)(&stage, row.name) {
            Ok(contender) => Ok(contender),
            Err(MeasureError::Missing(reason)) => {
                eprintln!("{} is skipped: {reason}", row.name);
                Err(reason)
            }
            Err(error) => return Err(error),
        });
    }
    let measured = measure(&rows, &mut started, &floors, schedule)?;
    drop(started);
    let results = EventResults { scenario: "events".into(), host, rows: lines(&rows, &measured) };
    print!("{}", results.text());
    Ok(results)
}

/// What each row gave in each round, or why it was skipped.
type Rounds = Vec<Result<Vec<Measured>, String>>;

fn measure(
    rows: &[&Row],
    started: &mut [Result<Box<dyn Contender>, String>],
    floors: &Floors,
    schedule: Schedule,
) -> Result<Rounds, MeasureError> {
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let length = Duration::from_secs(u64::from(schedule.seconds));
    let turns = interleaved(&names, schedule, |index| {
        let Ok(contender) = &mut started[index] else { return Ok(None) };
        let floor = floors.measure(rows[index].hops, length.mul_f64(FLOOR_SHARE))?;
        Ok(Some(Measured { floor, turn: contender.turn(length)? }))
    })?;
    let measured = |(turns, started): (Vec<Option<Measured>>, &Result<_, String>)| match started {
        Ok(_) => Ok(turns.into_iter().flatten().collect()),
        Err(reason) => Err(reason.clone()),
    };
    Ok(turns.into_iter().zip(started.iter()).map(measured).collect())
}

fn lines(rows: &[&Row], rounds: &Rounds) -> Vec<EventRow> {
    let quiet = rows.iter().position(|row| row.name == QUIET).and_then(|index| rounds[index].as_deref().ok());
    rows.iter()
        .zip(rounds)
        .map(|(row, rounds)| match rounds {
            Ok(rounds) => EventRow::of(row.name, row.note, rounds, quiet.filter(|_| row.name == CHANGING)),
            Err(reason) => EventRow::skipped(row.name, row.note, reason.clone()),
        })
        .collect()
}
