//! Watches what revisions cost: reads the ledger every few seconds and adds up what came under each revision.
//!
//! The ledger forgets when policies change, and knows nothing of revisions that change routes. So control adds up
//! differences. An interval in which a revision came is left out, because it belongs to neither; with an interval of
//! five seconds that is little. A record ends with its revision, or after an hour, so that a slow drift shows too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use weir_ledger::{EntryKind, Report};

use crate::log;
use crate::shared::{Shared, ended, now_ms};
use crate::store::{CostEntry, CostRecord};

/// The longest time that one record is about.
const RECORD: Duration = Duration::from_secs(3600);
/// Rules and plugins with names of their own in a record; a rule set has thousands of rules that cost next to nothing.
const NAMED: usize = 100;

/// Watches until `stop`.
pub(crate) async fn watch(shared: Shared, runtime: PathBuf, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(shared.limits.cost_interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut history = History::default();
    let mut failed = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ended(&mut stop) => return,
        }
        let (revision, dir) = (shared.state().revision(), runtime.clone());
        // Without nginx there is no ledger: nothing to say, and nothing wrong.
        let Ok(Some(report)) = tokio::task::spawn_blocking(move || read(&dir)).await else { continue };
        let Some(record) = history.add(revision, report, now_ms()) else { continue };
        let stored = shared.store().record_cost(record);
        if let Err(error) = &stored
            && !failed
        {
            log::warning!("costs of revision {revision} could not be stored: {error}");
        }
        failed = stored.is_err();
    }
}

fn read(runtime: &Path) -> Option<Report> {
    Report::read(runtime).ok()
}

/// The record that grows, and what the ledger said last.
#[derive(Default)]
struct History {
    last: Option<(u64, Report)>,
    record: Option<CostRecord>,
}

impl History {
    /// Adds what came since the last report. The record, if it has grown.
    fn add(&mut self, revision: u64, report: Report, now_ms: u64) -> Option<&CostRecord> {
        let before = self.last.replace((revision, report));
        let (_, report) = self.last.as_ref()?;
        let (earlier, before) = before?;
        // Workers have other policies a little later than control.
        if earlier != revision || !report.continues(&before) {
            self.record = None;
            return None;
        }
        let new = report.since(&before);
        if new.requests == 0 {
            return None;
        }
        let old = |record: &CostRecord| now_ms.saturating_sub(record.from_ms) > RECORD.as_millis() as u64;
        if self.record.as_ref().is_none_or(old) {
            let from_ms = now_ms.saturating_sub(new.uptime_ms);
            self.record = Some(CostRecord { revision, from_ms, ..CostRecord::default() });
        }
        let record = self.record.as_mut()?;
        record.to_ms = now_ms;
        record.requests += new.requests;
        record.cpu_ns += new.cpu_ns;
        record.weir_ns += new.total_ns;
        add_entries(&mut record.entries, &new);
        Some(record)
    }
}

fn add_entries(entries: &mut Vec<CostEntry>, new: &Report) {
    for found in new.entries.iter().filter(|entry| entry.entry.kind != EntryKind::Lane && entry.calls > 0) {
        let kind = if found.entry.kind == EntryKind::Plugin { "plugin" } else { "rule" };
        let same = |entry: &&mut CostEntry| {
            entry.kind == kind && entry.id == found.entry.id && entry.policy == found.entry.policy
        };
        let ns = found.own_ns + found.lane_ns;
        match entries.iter_mut().find(same) {
            Some(entry) => add(entry, found.calls, found.hits, ns),
            None => entries.push(CostEntry {
                kind: kind.into(),
                policy: found.entry.policy.clone(),
                id: found.entry.id.clone(),
                calls: found.calls,
                hits: found.hits,
                ns,
            }),
        }
    }
    // What was summed up before stays so: its parts are not known any more.
    let others = entries.iter().position(|entry| entry.kind == "others").map(|at| entries.remove(at));
    entries.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let mut others = others.unwrap_or_else(|| CostEntry { kind: "others".into(), ..CostEntry::default() });
    for rest in entries.drain(NAMED.min(entries.len())..) {
        add(&mut others, rest.calls, rest.hits, rest.ns);
    }
    if others.calls > 0 {
        entries.push(others);
    }
}

fn add(entry: &mut CostEntry, calls: u64, hits: u64, ns: f64) {
    entry.calls += calls;
    entry.hits += hits;
    entry.ns += ns;
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_ledger::{Clock, Control, Entry, Ledger, Reserve};

    struct Counted {
        dir: tempfile::TempDir,
        ledger: Ledger,
    }

    impl Counted {
        fn new(rules: usize) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let entry = |n| Entry {
                kind: EntryKind::Rule,
                policy: "shop".into(),
                id: format!("r{n}"),
                plugin: "block".into(),
                rules: Vec::new(),
            };
            let entries: Vec<Entry> = (0..rules).map(entry).collect();
            let control = Control::open_or_create(dir.path()).unwrap();
            let ledger = Ledger::create(dir.path(), 1, "abc", &entries, 1, 1, Reserve::Nothing).unwrap();
            control.set_generation(1);
            Self { dir, ledger }
        }

        /// One request in which each of the first `rules` was called and took so many µs.
        fn request(&self, rules: u32, us: u64) -> Report {
            let (row, clock) = (self.ledger.row(0), Clock::calibrate());
            for rule in 0..rules {
                row.add(rule, true);
                row.time(rule, clock.ticks_of(us * 1000) + clock.overhead_ticks());
            }
            row.request();
            Report::read(self.dir.path()).unwrap()
        }
    }

    #[test]
    fn what_came_under_a_revision_is_its_own() {
        let counted = Counted::new(2);
        let mut history = History::default();
        assert_eq!(history.add(7, counted.request(2, 5), 1_000), None, "who began it is not known");
        let one = history.add(7, counted.request(1, 5), 2_000).unwrap().clone();
        assert_eq!((one.revision, one.requests, one.entries.len()), (7, 1, 1));
        let two = history.add(7, counted.request(2, 5), 3_000).unwrap().clone();
        assert_eq!((two.from_ms, two.to_ms, two.requests, two.entries.len()), (one.from_ms, 3_000, 2, 2));
        assert_eq!((two.entries[0].id.as_str(), two.entries[0].calls), ("r0", 2));
        assert_eq!(history.add(8, counted.request(1, 5), 4_000), None, "the change came in between");
        let next = history.add(8, counted.request(1, 50), 5_000).unwrap();
        assert_eq!((next.revision, next.requests), (8, 1));
        assert_eq!(history.add(8, Report::read(counted.dir.path()).unwrap(), 6_000), None, "nobody came");
    }

    #[test]
    fn a_record_ends_after_an_hour() {
        let counted = Counted::new(1);
        let mut history = History::default();
        history.add(1, counted.request(1, 5), 1_000);
        let first = history.add(1, counted.request(1, 5), 2_000).unwrap().from_ms;
        let later = history.add(1, counted.request(1, 5), 10_000_000).unwrap();
        assert!(later.from_ms > first);
        assert_eq!(later.requests, 1);
    }

    #[test]
    fn many_rules_are_summed_up_and_nothing_is_lost() {
        const RULES: u32 = 250;
        let counted = Counted::new(RULES as usize);
        let mut history = History::default();
        history.add(1, counted.request(1, 5), 1_000);
        history.add(1, counted.request(RULES, 5), 2_000);
        let record = history.add(1, counted.request(RULES, 5), 3_000).unwrap();
        assert_eq!(record.entries.len(), NAMED + 1);
        assert_eq!(record.entries.iter().map(|entry| entry.calls).sum::<u64>(), 2 * u64::from(RULES));
        assert_eq!(record.entries[NAMED].kind, "others");
    }
}
