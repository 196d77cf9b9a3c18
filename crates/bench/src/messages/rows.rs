//! The table of rows: what is measured, beside which floor, and how it is started.

use super::bare::Writes;
use super::beside::Beside;
use super::contender::Contender;
use super::dialect::{self, Dialect};
use super::fanout::{Fanout, Idle};
use super::path::{Owner, Path};
use super::subject::{self, Subject};
use super::worker::{Bells, Worker};
use super::{audience, bare};
use crate::choice;
use crate::events::seats::Seats;
use crate::events::stage::Stage;
use weir_measure::error::MeasureError;

/// What must be done in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Floor {
    /// Two eventfds.
    Bells,
    /// A request to one process, an eventfd to the other, a write there.
    Other,
    /// A request to a process and a write there.
    Same,
    /// A write for each subscriber.
    Writes,
    /// The row itself, at rest.
    Quiet,
}

impl Floor {
    /// Starts its processes. To be called while we have only one thread.
    pub fn start(self, seats: Seats, subscribers: usize) -> Result<Option<Box<dyn Contender>>, MeasureError> {
        Ok(Some(match self {
            Self::Bells => Box::new(Bells::start(seats)?),
            Self::Other => Box::new(bare::path(seats, [0, 1])?),
            Self::Same => Box::new(bare::path(seats, [1, 0])?),
            Self::Writes => Box::new(Writes { seats, size: subscribers }),
            Self::Quiet => return Ok(None),
        }))
    }
}

type Start = fn(&Stage<'_>, &'static str, usize) -> Result<Box<dyn Contender>, MeasureError>;

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name in the results.
    pub name: &'static str,
    /// Description for the results.
    pub note: &'static str,
    /// What it is compared with.
    pub floor: Option<Floor>,
    /// Starts it, with so many subscribers where there are many.
    start: Start,
}

impl Row {
    /// Starts its contender.
    pub fn start(&self, stage: &Stage<'_>, subscribers: usize) -> Result<Box<dyn Contender>, MeasureError> {
        (self.start)(stage, self.name, subscribers)
    }
}

/// Subscribers of a fan-out.
const SUBSCRIBERS: usize = 10_000;
/// The row that deliveries per second of CPU time are compared with.
pub const NCHAN: &str = "nchan";

/// All of them, in the order of the results.
pub const ROWS: &[Row] = &[
    Row {
        name: "worker",
        note: "64 bytes published in one process and seen in another, and back; both asleep in epoll_wait",
        floor: Some(Floor::Bells),
        start: |stage, name, _| Ok(Box::new(Worker::start(stage, name)?)),
    },
    Row {
        name: "socket-other-worker",
        note: "POST at one worker, server-sent event from the other",
        floor: Some(Floor::Other),
        start: |stage, name, _| path(stage, name, &dialect::EVENTS, Owner::Other),
    },
    Row {
        name: "socket-other-worker-websocket",
        note: "POST at one worker, WebSocket of the other",
        floor: Some(Floor::Other),
        start: |stage, name, _| path(stage, name, &dialect::WEBSOCKET, Owner::Other),
    },
    Row {
        name: "socket-same-worker",
        note: "POST and server-sent event at one worker",
        floor: Some(Floor::Same),
        start: |stage, name, _| path(stage, name, &dialect::EVENTS, Owner::Same),
    },
    Row {
        name: "data-beside-50000",
        note: "requests to another route, beside 50,000 messages a second of another process that nobody has subscribed to",
        floor: Some(Floor::Quiet),
        start: |stage, name, _| Ok(Box::new(Beside::start(stage, name)?)),
    },
    Row {
        name: "fanout-10000",
        note: "Weir, server-sent events, two workers",
        floor: Some(Floor::Writes),
        start: |stage, name, size| fanout(stage, subject::weir(stage, name)?, &dialect::EVENTS, size),
    },
    Row {
        name: "fanout-10000-websocket",
        note: "Weir, WebSockets, two workers",
        floor: Some(Floor::Writes),
        start: |stage, name, size| fanout(stage, subject::weir(stage, name)?, &dialect::WEBSOCKET, size),
    },
    Row {
        name: NCHAN,
        note: "nchan in nginx, server-sent events, two workers",
        floor: Some(Floor::Writes),
        start: |stage, name, size| fanout(stage, subject::nchan(stage, name)?, &dialect::EVENTS, size),
    },
    Row {
        name: "mosquitto",
        note: "Mosquitto, MQTT at QoS 0, one process",
        floor: Some(Floor::Writes),
        start: |stage, name, size| fanout(stage, subject::mosquitto(stage, name)?, &dialect::MQTT, size),
    },
    Row {
        name: "nats",
        note: "NATS, its own protocol, one process on both cores",
        floor: Some(Floor::Writes),
        start: |stage, name, size| fanout(stage, subject::nats(stage, name)?, &dialect::NATS, size),
    },
    Row {
        name: "nginx-keepalive",
        note: "idle connections of bare nginx between two requests, two workers",
        floor: None,
        start: |stage, name, size| idle(stage, name, &dialect::IDLE, size),
    },
    Row {
        name: "nginx-open-request",
        note: "idle connections of bare nginx in the middle of a request's head, two workers",
        floor: None,
        start: |stage, name, size| idle(stage, name, &dialect::OPEN, size),
    },
];

fn idle(
    stage: &Stage<'_>,
    name: &'static str,
    dialect: &Dialect,
    size: usize,
) -> Result<Box<dyn Contender>, MeasureError> {
    Ok(Box::new(Idle::start(subject::bare_nginx(stage, name)?, dialect, size)?))
}

fn path(
    stage: &Stage<'_>,
    name: &'static str,
    dialect: &Dialect,
    owner: Owner,
) -> Result<Box<dyn Contender>, MeasureError> {
    Ok(Box::new(Path::start(stage.seats, subject::weir(stage, name)?, dialect, owner)?))
}

fn fanout(
    stage: &Stage<'_>,
    subject: Box<dyn Subject>,
    dialect: &Dialect,
    size: usize,
) -> Result<Box<dyn Contender>, MeasureError> {
    Ok(Box::new(Fanout::start(stage.seats, subject, dialect, size)?))
}

/// The rows that were asked for, in the table's order; all of them if none was named.
pub fn chosen(only: &[String]) -> Result<Vec<&'static Row>, MeasureError> {
    choice::chosen(ROWS, only, "row", |row| row.name, |_| false)
}

/// The floors of these rows, and how many subscribers a fan-out can have here.
pub fn floors(rows: &[&Row]) -> (Vec<Floor>, usize) {
    let all = [Floor::Bells, Floor::Other, Floor::Same, Floor::Writes, Floor::Quiet];
    let needed = all.into_iter().filter(|floor| rows.iter().any(|row| row.floor == Some(*floor))).collect();
    (needed, audience::room(SUBSCRIBERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_only_needed_floors_are_started() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        let rows = chosen(&["worker".into(), "nginx-keepalive".into()]).unwrap();
        assert_eq!(floors(&rows).0, [Floor::Bells]);
        assert_eq!(floors(&chosen(&[]).unwrap()).0.len(), 5);
    }
}
