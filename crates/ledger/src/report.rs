//! What Weir has cost so far, over all workers: what `weir cost` shows.

use std::path::Path;

use serde::Serialize;

use crate::entry::Names;
use crate::ledger::names_path;
use crate::process::{cpu_ns, lives, now_ms, pid_of};
use crate::row::{Cell, RowHead};
use crate::share::lane_shares;
use crate::{Clock, Control, Entry, EntryKind, Ledger, LedgerError};

/// The costs of one generation, from its start or between two reports.
///
/// Times are in nanoseconds of CPU; entries of kind `Plugin`, `Rule` and `Lane` never overlap.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The policy's revision.
    pub revision: String,
    /// Generation of the ledger; it changes with every reload.
    pub generation: u64,
    /// Every how many requests one is timed.
    pub sample_every: u32,
    /// How long this generation has been counting.
    pub uptime_ms: u64,
    /// Workers of this generation that run.
    pub workers: usize,
    /// CPU time of its workers, all of it: nginx's and Weir's.
    pub cpu_ns: u64,
    /// Own time of all entries: Weir's CPU time as far as it is metered.
    pub total_ns: f64,
    /// Client requests seen by Weir.
    pub requests: u64,
    /// One for each entry, in the ledger's order.
    pub entries: Vec<EntryReport>,
    /// Tag of the policies that came while nginx ran, if any.
    #[serde(skip)]
    bank: u64,
}

/// The costs of one entry.
#[derive(Clone, Debug, Serialize)]
pub struct EntryReport {
    /// What it is.
    #[serde(flatten)]
    pub entry: Entry,
    /// How often it was called.
    pub calls: u64,
    /// How often that had an effect; for a rule: how often it matched.
    pub hits: u64,
    /// How many calls were timed.
    pub samples: u64,
    /// How many times were left out because the kernel had taken the CPU away.
    pub preempted: u64,
    /// Time of the calls themselves: the mean of the timed ones, without the clock's own cost,
    /// times the number of calls.
    pub own_ns: f64,
    /// The part of shared lanes that falls to this rule.
    pub lane_ns: f64,
    /// Both. For a lane 0, because its rules have it.
    pub ns_total: f64,
    /// The same, per client request.
    pub ns_per_request: f64,
    #[serde(skip)]
    sampled_ns: f64,
}

impl Report {
    /// Reads the current generation in `dir`.
    pub fn read(dir: &Path) -> Result<Self, LedgerError> {
        /// Reloads that may come between reading a generation's number and its files.
        const TRIES: u32 = 3;
        let control = Control::open(dir)?;
        let mut left = TRIES;
        loop {
            left -= 1;
            match Self::read_generation(dir, control.generation()) {
                Err(LedgerError::Missing { .. }) if left > 0 => {}
                other => return other,
            }
        }
    }

    fn read_generation(dir: &Path, generation: u64) -> Result<Self, LedgerError> {
        let ledger = Ledger::open(dir, generation)?;
        let path = names_path(dir, generation);
        let names = Names::read(&path)?;
        if names.entries.len() != ledger.entries() {
            let detail = format!("it names {} entries, the ledger has {}", names.entries.len(), ledger.entries());
            return Err(LedgerError::Damaged { path, detail });
        }
        let clock = ledger.clock();
        let rows: Vec<_> = (0..ledger.workers()).map(|worker| ledger.row(worker)).collect();
        let mut revision = names.revision;
        let mut entries: Vec<EntryReport> = names
            .entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| EntryReport::sum(entry, rows.iter().map(|row| &row.cells[index]), clock))
            .collect();
        let latest = ledger.latest();
        let bank = latest.as_ref().map_or(0, |(_, tag, _)| *tag);
        if let Some((number, tag, names)) = latest {
            if revision.is_empty() {
                revision = names.revision;
            }
            entries.extend(of_bank(&ledger, number, tag, names.entries, &entries));
        }
        let mut report = Self {
            revision,
            bank,
            generation,
            sample_every: names.sample_every,
            uptime_ms: now_ms().saturating_sub(ledger.created_ms()),
            workers: rows.iter().filter(|row| lives(row.head.owner.get())).count(),
            cpu_ns: rows.iter().map(|row| row.head.cpu_ns_now()).sum(),
            total_ns: 0.0,
            requests: rows.iter().map(|row| row.head.requests.get()).sum(),
            entries,
        };
        report.attribute();
        Ok(report)
    }

    /// Whether it counts the same things on from an earlier report: neither a reload nor other policies in between.
    #[must_use]
    pub fn continues(&self, earlier: &Self) -> bool {
        earlier.generation == self.generation
            && earlier.bank == self.bank
            && earlier.entries.len() == self.entries.len()
    }

    /// What has come since an earlier report; all of this one if the generation has changed.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut report = self.clone();
        if !self.continues(earlier) {
            return report;
        }
        report.uptime_ms = self.uptime_ms.saturating_sub(earlier.uptime_ms);
        report.cpu_ns = self.cpu_ns.saturating_sub(earlier.cpu_ns);
        report.requests = self.requests.saturating_sub(earlier.requests);
        for (entry, before) in report.entries.iter_mut().zip(&earlier.entries) {
            entry.subtract(before);
        }
        report.attribute();
        report
    }

    /// Work out everything that follows from the counters.
    fn attribute(&mut self) {
        for entry in &mut self.entries {
            let mean = if entry.samples == 0 { 0.0 } else { entry.sampled_ns / entry.samples as f64 };
            entry.own_ns = mean * entry.calls as f64;
        }
        let (entries, own): (Vec<_>, Vec<_>) =
            self.entries.iter().map(|entry| (entry.entry.clone(), entry.own_ns)).unzip();
        self.total_ns = own.iter().sum();
        for (entry, share) in self.entries.iter_mut().zip(lane_shares(&entries, &own)) {
            entry.lane_ns = share;
            entry.ns_total = if entry.entry.kind == EntryKind::Lane { 0.0 } else { entry.own_ns + share };
            entry.ns_per_request = entry.ns_total / self.requests.max(1) as f64;
        }
    }
}

/// The entries of a bank, from the workers that count for its policies. Lanes name their rules by
/// their places among those of the bank, which come behind those `before`.
fn of_bank(ledger: &Ledger, number: usize, tag: u64, names: Vec<Entry>, before: &[EntryReport]) -> Vec<EntryReport> {
    let start = ledger.entries() + number * ledger.bank_entries();
    let rules_before = before.iter().filter(|entry| entry.entry.kind == EntryKind::Rule).count() as u32;
    let rows = (0..ledger.workers()).map(|worker| ledger.whole_row(worker));
    let rows: Vec<_> = rows.filter(|row| row.head.tags[number].get() == tag).collect();
    let report = |(index, mut entry): (usize, Entry)| {
        entry.rules.iter_mut().for_each(|rule| *rule = rule.saturating_add(rules_before));
        EntryReport::sum(entry, rows.iter().map(|row| &row.cells[start + index]), ledger.clock())
    };
    names.into_iter().enumerate().map(report).collect()
}

impl EntryReport {
    fn sum<'c>(entry: Entry, cells: impl Iterator<Item = &'c Cell>, clock: Clock) -> Self {
        let zero = Self {
            entry,
            calls: 0,
            hits: 0,
            samples: 0,
            preempted: 0,
            own_ns: 0.0,
            lane_ns: 0.0,
            ns_total: 0.0,
            ns_per_request: 0.0,
            sampled_ns: 0.0,
        };
        cells.fold(zero, |mut sum, cell| {
            let samples = cell.samples.get();
            let overhead = samples.saturating_mul(clock.overhead_ticks());
            sum.calls += cell.calls.get();
            sum.hits += cell.hits.get();
            sum.samples += samples;
            sum.preempted += cell.preempted.get();
            sum.sampled_ns += clock.ns(cell.ticks.get().saturating_sub(overhead)) as f64;
            sum
        })
    }

    fn subtract(&mut self, before: &Self) {
        self.calls = self.calls.saturating_sub(before.calls);
        self.hits = self.hits.saturating_sub(before.hits);
        self.samples = self.samples.saturating_sub(before.samples);
        self.preempted = self.preempted.saturating_sub(before.preempted);
        self.sampled_ns = (self.sampled_ns - before.sampled_ns).max(0.0);
    }
}

impl RowHead {
    /// CPU time of all workers that this row has had: of the running one up to now, of earlier
    /// ones up to their last beat.
    fn cpu_ns_now(&self) -> u64 {
        let owner = self.owner.get();
        let noted = self.cpu_ns.get();
        let now = if lives(owner) { cpu_ns(pid_of(owner)) } else { None };
        let running = now.map_or(noted, |now| now.saturating_sub(self.cpu_start_ns.get()).max(noted));
        self.cpu_before_ns.get() + running
    }
}
