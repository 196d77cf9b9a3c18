//! The cost of Weir so far, summed over all workers, as `weir cost` shows it.

use std::path::Path;

use serde::Serialize;

use crate::entry::Names;
use crate::ledger::names_path;
use crate::process::{cpu_ns, lives, now_ms, pid_of};
use crate::row::{Cell, RowHead};
use crate::share::lane_shares;
use crate::{Clock, Control, Entry, EntryKind, Ledger, LedgerError};

/// The cost of one generation, since its start or between two reports.
///
/// Times are in nanoseconds of CPU; entries of kind `Plugin`, `Rule` and `Lane` never overlap.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The policy's revision.
    pub revision: String,
    /// Generation of the ledger; it changes with every reload.
    pub generation: u64,
    /// One in this many requests is timed.
    pub sample_every: u32,
    /// The age of this generation.
    pub uptime_ms: u64,
    /// The number of running workers of this generation.
    pub workers: usize,
    /// The whole CPU time of its workers: nginx's and Weir's.
    pub cpu_ns: u64,
    /// The own time of all entries: Weir's metered CPU time.
    pub total_ns: f64,
    /// Client requests seen by Weir.
    pub requests: u64,
    /// The cost of each entry, in the ledger's order.
    pub entries: Vec<EntryReport>,
    /// Tag of the policies in the latest bank; 0 without banks.
    #[serde(skip)]
    bank: u64,
}

/// The cost of one entry.
#[derive(Clone, Debug, Serialize)]
pub struct EntryReport {
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls with an effect; for a rule: of matches.
    pub hits: u64,
    /// The number of timed calls.
    pub samples: u64,
    /// The number of samples left out because the kernel had interrupted the worker.
    pub preempted: u64,
    /// Time of the calls themselves: the mean of the timed ones, without the clock's own cost,
    /// times the number of calls.
    pub own_ns: f64,
    /// The part of shared lanes that falls to this rule.
    pub lane_ns: f64,
    /// The sum of both; 0 for a lane, whose time its rules have.
    pub ns_total: f64,
    /// `ns_total` per client request.
    pub ns_per_request: f64,
    #[serde(skip)]
    sampled_ns: f64,
}

impl Report {
    /// Reads the current generation in `dir`.
    pub fn read(dir: &Path) -> Result<Self, LedgerError> {
        /// The most reloads between reading a generation's number and its files.
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

    /// Whether this report counts the same entries as an earlier one: no reload and no change of policies came between.
    #[must_use]
    pub fn continues(&self, earlier: &Self) -> bool {
        earlier.generation == self.generation
            && earlier.bank == self.bank
            && earlier.entries.len() == self.entries.len()
    }

    /// The cost since an earlier report; the whole cost if a reload or a change of policies came between.
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

    /// Computes everything that follows from the counters.
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

/// The entries of a bank, summed over the workers that count for its policies. Lanes refer to rules by their
/// positions in the bank, which follow the rules `before`.
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
    /// The CPU time of all workers of this row: of the running one until now, of earlier ones until their
    /// last heartbeat.
    fn cpu_ns_now(&self) -> u64 {
        let owner = self.owner.get();
        let noted = self.cpu_ns.get();
        let now = if lives(owner) { cpu_ns(pid_of(owner)) } else { None };
        let running = now.map_or(noted, |now| now.saturating_sub(self.cpu_start_ns.get()).max(noted));
        self.cpu_before_ns.get() + running
    }
}
