//! The scenario `messages`: how long a message takes to a subscriber of another worker, and what each delivery costs of
//! thousands, beside what other servers need for the same.
//!
//! Both are mostly the kernel's: waking a process, writing to a socket. So every figure stands beside the machine's own
//! floor, bare processes that make the same system calls ([`bare`]), taken a moment before in the same round. A fan-out is
//! compared by CPU time, because its rate depends on the clients, which share the machine with the server.

mod audience;
mod bare;
mod beside;
mod contender;
mod dialect;
mod epoll;
mod fanout;
mod path;
mod report;
mod rows;
mod subject;
mod worker;

use std::collections::HashMap;
use std::time::Duration;

use contender::Contender;
use report::{Measured, MessagesResults, MessagesRow};
use rows::{Floor, NCHAN, Row};

use crate::events::stage::Stage;
use crate::rounds::{Schedule, interleaved};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::Site;

/// Length of a floor's measurement before each turn, as a share of the turn.
const FLOOR_SHARE: f64 = 0.3;

type Started = Result<Box<dyn Contender>, String>;

/// Runs the chosen rows and returns what the file will hold.
pub fn run(site: &Site, only: &[String], schedule: Schedule, host: Host) -> Result<MessagesResults, MeasureError> {
    let rows = rows::chosen(only)?;
    let stage = Stage::new(site);
    let (needed, subscribers) = rows::floors(&rows);
    // First, so that a fork has nothing else to copy.
    let mut floors = HashMap::new();
    for floor in needed {
        if let Some(started) = floor.start(stage.seats, subscribers)? {
            floors.insert(floor, started);
        }
    }
    let mut started: Vec<Started> = Vec::new();
    for row in &rows {
        check_interrupted()?;
        started.push(match row.start(&stage, subscribers) {
            Ok(contender) => Ok(contender),
            Err(MeasureError::Missing(reason)) => {
                eprintln!("{} is left out: {reason}", row.name);
                Err(reason)
            }
            Err(error) => return Err(error),
        });
    }
    let turns = measure(&rows, &mut started, &mut floors, schedule)?;
    let results = MessagesResults { scenario: "messages".into(), host, rows: lines(&rows, &started, &turns) };
    print!("{}", results.text());
    Ok(results)
}

/// What each row gave in each round.
fn measure(
    rows: &[&Row],
    started: &mut [Started],
    floors: &mut HashMap<Floor, Box<dyn Contender>>,
    schedule: Schedule,
) -> Result<Vec<Vec<Measured>>, MeasureError> {
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let length = Duration::from_secs(u64::from(schedule.seconds));
    let turns = interleaved(&names, schedule, |index| {
        let Ok(contender) = &mut started[index] else { return Ok(None) };
        let Some(floor) = rows[index].floor else { return Ok(None) };
        let floor = match floors.get_mut(&floor) {
            Some(floor) => floor.turn(length.mul_f64(FLOOR_SHARE))?,
            None => contender.quiet(length)?,
        };
        let turn = contender.turn(length)?;
        Ok(floor.zip(turn).map(|(floor, turn)| Measured { turn, floor }))
    })?;
    Ok(turns.into_iter().map(|turns| turns.into_iter().flatten().collect()).collect())
}

fn lines(rows: &[&Row], started: &[Started], turns: &[Vec<Measured>]) -> Vec<MessagesRow> {
    let nchan = rows.iter().position(|row| row.name == NCHAN).map(|index| turns[index].as_slice());
    let line = |((row, started), turns): ((&&Row, &Started), &Vec<Measured>)| match started {
        Ok(contender) => MessagesRow {
            memory_bytes_per_idle_subscriber: contender.idle_bytes(),
            subscribers: contender.subscribers(),
            ..MessagesRow::of(row, turns, nchan)
        },
        Err(reason) => MessagesRow::skipped(row, reason.clone()),
    };
    rows.iter().zip(started).zip(turns).map(line).collect()
}
