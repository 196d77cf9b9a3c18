//! The entries of the ledger, and the bookings of one evaluation.
//!
//! Entries are numbered: the parts of the module below, then every rule of `weir_policy`, then the
//! lanes of each of its plans. Policies that come while nginx runs have banks of the ledger to
//! themselves. Calls and hits are exact; times are taken in every n-th request (`weir_sample`).

use weir_engine::{Meter, RuleIndex};
use weir_ledger::{Entry, EntryKind, Row};

use crate::configuration::Main;
use crate::policy::{Cells, Policies};
use crate::worker;

/// Parts of the module that are metered beside rules and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ModulePart {
    /// Building the view of the request.
    Transaction,
    /// Collecting its body.
    RequestBody,
    /// Looking up the country for logs and variables.
    Geo,
    /// Changing header fields.
    HeaderChanges,
    /// Building the view of the response.
    Response,
    /// Holding back the response's body for rule sets.
    ResponseBody,
    /// Writing a line of the access log.
    AccessLog,
    /// Writing a line of the attack log.
    AttackLog,
    /// Asking inspectors; waiting for them takes no CPU time.
    Inspectors,
}

/// Names of the parts in `weir cost`, in the order of [`ModulePart`].
const PARTS: [&str; 9] = [
    "transaction",
    "request_body",
    "geo",
    "header_changes",
    "response",
    "response_body",
    "access_log",
    "attack_log",
    "inspectors",
];

/// Entry of rule 0 of `weir_policy`.
pub const FIRST_RULE: u32 = PARTS.len() as u32;

/// Everything that is metered in this configuration.
pub fn entries(main: &Main) -> Vec<Entry> {
    let part = |name: &&str| Entry {
        kind: EntryKind::Plugin,
        policy: String::new(),
        id: (*name).into(),
        plugin: (*name).into(),
        rules: Vec::new(),
    };
    let mut entries: Vec<Entry> = PARTS.iter().map(part).collect();
    entries.extend(main.policies.iter().flat_map(Policies::entries));
    entries
}

/// The precision with which a request is metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Calls and hits are counted.
    Counted,
    /// Times are taken, too.
    Timed,
}

/// Books one call of a part that began at `begun`.
#[inline]
pub fn book(part: ModulePart, timing: Timing, begun: u64, effect: bool) {
    if let Some(row) = worker::row() {
        row.add(part as u32, effect);
        if timing == Timing::Timed {
            row.time(part as u32, worker::ticks().saturating_sub(begun));
        }
    }
}

/// The engine's meter for one evaluation.
pub struct HookMeter {
    row: Option<Row<'static>>,
    timing: Timing,
    cells: Cells,
}

impl HookMeter {
    /// For a plan with these cells.
    pub fn new(timing: Timing, cells: Cells) -> Self {
        let row = match cells.bank {
            None => worker::row(),
            Some(bank) => worker::bank(bank),
        };
        Self { row, timing, cells }
    }

    #[inline]
    fn book(&self, entry: u32, hit: bool, ticks: u64) {
        if let Some(row) = &self.row {
            row.add(entry, hit);
            if self.sampled() {
                row.time(entry, ticks);
            }
        }
    }
}

impl Meter for HookMeter {
    #[inline]
    fn sampled(&self) -> bool {
        self.timing == Timing::Timed
    }

    #[inline]
    fn now(&self) -> u64 {
        worker::ticks()
    }

    #[inline]
    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64) {
        self.book(self.cells.rules_at + rule.0, hit, ticks);
    }

    #[inline]
    fn lane(&mut self, lane: u32, ticks: u64) {
        self.book(self.cells.lanes_at + lane, false, ticks);
    }
}
