//! The scenario `events`: how long a change takes until it is live, and a message from worker to
//! worker, beside what other proxies and a broker need for the same.
//!
//! Such a time is mostly the kernel's: waking the processes that take part. So every figure stands
//! beside the machine's own floor, the same wake-ups done bare ([`floor`]), taken a moment before in
//! the same round. Rounds alternate among all rows, and medians over rounds are reported.

mod answered;
mod bell;
mod caddy;
mod changes;
mod contender;
mod crowd;
mod floor;
mod forked;
mod haproxy;
pub(crate) mod http;
mod live;
mod mosquitto;
mod mqtt;
mod nginx;
mod nginx_reload;
mod policy;
mod report;
mod ring;
mod rows;
mod seats;
mod stage;
mod timings;
mod traffic;
mod transaction;
mod weir;
mod workers;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use contender::Contender;
use floor::{Floor, Hops};
use report::{EventResults, EventRow, Measured};
use ring::Ring;
use rows::Row;
use seats::Seats;
use stage::Stage;
use timings::Figures;

use crate::child::check_interrupted;
use crate::error::LabError;
use crate::random::Random;
use crate::report::Host;
use crate::rounds::{Progress, Schedule};
use crate::site::Site;

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
    fn start(seats: Seats) -> Result<Self, LabError> {
        let chain = |hops| Ok((hops, Floor::start(hops, seats)?));
        let chains = [Hops::Pair, Hops::Relay, Hops::Change].map(chain).into_iter().collect::<Result<_, LabError>>()?;
        Ok(Self { chains, ring: Ring::start(seats)? })
    }

    fn measure(&self, hops: Hops, length: Duration) -> Result<Figures, LabError> {
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
    output: Option<&Path>,
) -> Result<bool, LabError> {
    let rows = rows::chosen(only, under_load)?;
    let stage = Stage::new(site);
    let floors = Floors::start(stage.seats)?;
    let mut started: Vec<Result<Box<dyn Contender>, String>> = Vec::new();
    for row in &rows {
        check_interrupted()?;
        started.push(match (row.start)(&stage, row.name) {
            Ok(contender) => Ok(contender),
            Err(LabError::Missing(reason)) => {
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
    if let Some(path) = output {
        results.write(path)?;
        eprintln!("written to {}", path.display());
    }
    Ok(true)
}

/// What each row gave in each round, or why it was skipped.
type Rounds = Vec<Result<Vec<Measured>, String>>;

fn measure(
    rows: &[&Row],
    started: &mut [Result<Box<dyn Contender>, String>],
    floors: &Floors,
    schedule: Schedule,
) -> Result<Rounds, LabError> {
    let mut rounds: Rounds = started.iter().map(|it| it.as_ref().map(|_| Vec::new()).map_err(Clone::clone)).collect();
    let mut random = Random::new(schedule.seed);
    let mut progress = Progress::new(rows.len() * schedule.rounds as usize, schedule.seconds);
    let length = Duration::from_secs(u64::from(schedule.seconds));
    for round in 1..=schedule.rounds {
        for index in random.order(rows.len()) {
            check_interrupted()?;
            progress.step(round, schedule.rounds, rows[index].name);
            let (Ok(contender), Ok(measured)) = (&mut started[index], &mut rounds[index]) else { continue };
            let floor = floors.measure(rows[index].hops, length.mul_f64(FLOOR_SHARE))?;
            measured.push(Measured { floor, turn: contender.turn(length)? });
        }
    }
    progress.end();
    Ok(rounds)
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
