//! What is booked where in the ledger.
//!
//! Entries are numbered: the parts of the module below, then every rule, then the lanes of each
//! plan. Calls and hits are exact; times are taken in every n-th request (`weir_sample`).

use weir_engine::{Meter, RuleIndex};
use weir_ledger::{Entry, EntryKind, Row};

use crate::configuration::Main;
use crate::worker;

/// Parts of the module that are metered beside rules and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
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
}

/// Their names in `weir cost`, in the order of [`Part`].
const PARTS: [&str; 8] =
    ["transaction", "request_body", "geo", "header_changes", "response", "response_body", "access_log", "attack_log"];

/// Entry of rule 0.
const FIRST_RULE: u32 = PARTS.len() as u32;

/// Entry of the first lane of the first plan.
pub fn first_lane(rules: usize) -> u32 {
    FIRST_RULE + rules as u32
}

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
    for rule in main.snapshot.iter().flat_map(|snapshot| snapshot.rules()) {
        entries.push(Entry {
            kind: EntryKind::Rule,
            policy: rule.policy.clone(),
            id: rule.id.clone(),
            plugin: rule.plugin.into(),
            rules: Vec::new(),
        });
    }
    for placed in &main.plans {
        entries.extend(placed.plan.lanes().iter().map(|lane| Entry {
            kind: EntryKind::Lane,
            policy: String::new(),
            id: lane.name.clone(),
            plugin: "lane".into(),
            rules: lane.rules.iter().map(|rule| rule.0).collect(),
        }));
    }
    entries
}

/// Books one call of a part that began at `begun`.
#[inline]
pub fn book(part: Part, sampled: bool, begun: u64, effect: bool) {
    if let Some(row) = worker::row() {
        row.add(part as u32, effect);
        if sampled {
            row.time(part as u32, worker::ticks().saturating_sub(begun));
        }
    }
}

/// The engine's meter for one evaluation.
pub struct HookMeter {
    row: Option<Row<'static>>,
    sampled: bool,
    lanes_at: u32,
}

impl HookMeter {
    /// For a plan whose lane 0 is entry `lanes_at`.
    pub fn new(sampled: bool, lanes_at: u32) -> Self {
        Self { row: worker::row(), sampled, lanes_at }
    }

    #[inline]
    fn book(&self, entry: u32, hit: bool, ticks: u64) {
        if let Some(row) = &self.row {
            row.add(entry, hit);
            if self.sampled {
                row.time(entry, ticks);
            }
        }
    }
}

impl Meter for HookMeter {
    #[inline]
    fn sampled(&self) -> bool {
        self.sampled
    }

    #[inline]
    fn now(&self) -> u64 {
        worker::ticks()
    }

    #[inline]
    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64) {
        self.book(FIRST_RULE + rule.0, hit, ticks);
    }

    #[inline]
    fn lane(&mut self, lane: u32, ticks: u64) {
        self.book(self.lanes_at + lane, false, ticks);
    }
}
