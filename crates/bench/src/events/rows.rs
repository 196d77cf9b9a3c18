//! The table of rows: what is measured, beside which floor, and who starts it.

use super::contender::Contender;
use super::floor::Hops;
use super::policy::{Change, PolicySize};
use super::stage::Stage;
use super::workers::Mode;
use super::{caddy, changes, haproxy, mosquitto, nginx_reload, traffic, transaction, workers};
use crate::choice;
use weir_measure::error::MeasureError;

/// Starts a row's contender under its name.
pub type Start = fn(&Stage<'_>, &'static str) -> Result<Box<dyn Contender>, MeasureError>;

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its name in the results.
    pub name: &'static str,
    /// Description for the results.
    pub note: &'static str,
    /// The wake-ups that it cannot do without.
    pub hops: Hops,
    /// Starts its contender.
    pub start: Start,
}

/// The usual gateway.
const SMALL: PolicySize = PolicySize { members: 64, sites: 1, routes: 1 };
/// What larger ones are compared with.
const TENS: PolicySize = PolicySize { members: 10, sites: 10, routes: 10 };
/// The rows with data traffic begin so.
const TRAFFIC: &str = "traffic-";

/// All of them, in the order of the results.
pub const ROWS: &[Row] = &[
    Row {
        name: "change-1",
        note: "PATCH of a member's weight, one connection, one at a time, answered when both workers serve it; 64 members",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, SMALL, Change::Weight, 1),
    },
    Row {
        name: "change-64",
        note: "the same on 64 connections",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, SMALL, Change::Weight, 64),
    },
    Row {
        name: "change-1@10",
        note: "10 members, 10 sites, 10 routes",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, TENS, Change::Weight, 1),
    },
    Row {
        name: "change-1@10000",
        note: "10,000 members",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, PolicySize { members: 10_000, ..TENS }, Change::Weight, 1),
    },
    Row {
        name: "change-1@1000-sites",
        note: "1,000 sites",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, PolicySize { sites: 1_000, ..TENS }, Change::Weight, 1),
    },
    Row {
        name: "change-1@10000-routes",
        note: "10,000 routes",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, PolicySize { routes: 10_000, ..TENS }, Change::Weight, 1),
    },
    Row {
        name: "site-1@10",
        note: "PATCH of a site's hosts among 10 sites",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, TENS, Change::Host, 1),
    },
    Row {
        name: "site-1@1000-sites",
        note: "the same among 1,000",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, PolicySize { sites: 1_000, ..TENS }, Change::Host, 1),
    },
    Row {
        name: "route-1@10",
        note: "PATCH of a route's priority among 10 routes",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, TENS, Change::Priority, 1),
    },
    Row {
        name: "route-1@10000-routes",
        note: "the same among 10,000",
        hops: Hops::Change,
        start: |stage, name| changes::start(stage, name, PolicySize { routes: 10_000, ..TENS }, Change::Priority, 1),
    },
    Row {
        name: "transaction-2100",
        note: "1,000 members, 100 sites and 1,000 routes in one transaction, from an empty policy",
        hops: Hops::Change,
        start: |stage, name| transaction::start(stage, name, PolicySize { members: 1_000, sites: 100, routes: 1_000 }),
    },
    Row {
        name: "transaction-10000-routes",
        note: "10,000 routes in one transaction, from an empty policy",
        hops: Hops::Change,
        start: |stage, name| transaction::start(stage, name, PolicySize { members: 1, sites: 1, routes: 10_000 }),
    },
    Row {
        name: "worker-rtt",
        note: "a message from worker to worker and its answer, both asleep in between",
        hops: Hops::Pair,
        start: |stage, name| workers::start(stage, name, Mode::RoundTrip),
    },
    Row {
        name: "worker-oneway",
        note: "64 bytes from worker to worker, as fast as they go",
        hops: Hops::Ring,
        start: |stage, name| workers::start(stage, name, Mode::OneWay),
    },
    Row {
        name: "traffic-quiet",
        note: "3,000 requests/s through a gateway of 1,000 routes and 1,000 members; times from when they were due",
        hops: Hops::Relay,
        start: |stage, _| traffic::start(stage, None),
    },
    Row {
        name: "traffic-2000",
        note: "the same beside 2,000 changes/s",
        hops: Hops::Relay,
        start: |stage, _| traffic::start(stage, Some(2_000.0)),
    },
    Row {
        name: "haproxy",
        note: "HAProxy's runtime socket: weight of one of 10 servers, one connection, one at a time",
        hops: Hops::Pair,
        start: |stage, name| haproxy::start(stage, name, 10),
    },
    Row {
        name: "haproxy@1000",
        note: "the same among 1,000 servers",
        hops: Hops::Pair,
        start: |stage, name| haproxy::start(stage, name, 1_000),
    },
    Row {
        name: "caddy",
        note: "Caddy's admin API: PATCH of one upstream's address in a configuration of 10 routes",
        hops: Hops::Pair,
        start: |stage, name| caddy::start(stage, name, 10),
    },
    Row {
        name: "caddy@1000",
        note: "the same among 1,000 routes",
        hops: Hops::Pair,
        start: |stage, name| caddy::start(stage, name, 1_000),
    },
    Row {
        name: "nginx-reload",
        note: "nginx -s reload of 1,000 servers, from the command to the last answer of the old configuration",
        hops: Hops::Change,
        start: nginx_reload::start,
    },
    Row {
        name: "mosquitto",
        note: "Mosquitto: 64 bytes at QoS 0 from one client to another, as fast as they go without loss",
        hops: Hops::Ring,
        start: mosquitto::start_one_way,
    },
    Row {
        name: "mosquitto-rtt",
        note: "the same there and back, one at a time",
        hops: Hops::Relay,
        start: mosquitto::start_round_trip,
    },
];

/// The rows that were asked for, in the table's order; all of them if none was named.
pub fn chosen(only: &[String], under_load: bool) -> Result<Vec<&'static Row>, MeasureError> {
    let mut rows = choice::chosen(ROWS, only, "row", |row| row.name, |_| false)?;
    rows.retain(|row| !only.is_empty() || !under_load || row.name.starts_with(TRAFFIC));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_unknown_ones_are_refused() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        let words = chosen(&["njet".into()], false).err().unwrap().to_string();
        assert!(words.contains("nginx-reload"), "{words}");
        assert_eq!(chosen(&["caddy".into()], false).unwrap().len(), 1);
        assert_eq!(chosen(&[], true).unwrap().len(), 2);
    }
}
