//! What the ledger says of the same parts in the same slices.
//!
//! The ledger times each rule and gives it its share of the lanes; ablation sees what happens to
//! the whole process, caches and branch predictors included. Two ways that err differently: if they
//! rank the parts alike, both can be believed.

use std::collections::HashMap;
use std::path::Path;

use weir_ledger::{EntryKind, Report};

use super::part::Part;

/// Sums over slices with everything on.
#[derive(Debug, Default)]
pub struct LedgerSums {
    requests: u64,
    /// Nanoseconds by policy and rule.
    rules: HashMap<(String, String), f64>,
}

impl LedgerSums {
    /// Adds what came between two looks.
    pub fn add(&mut self, before: &Report, after: &Report) {
        let report = after.since(before);
        self.requests += report.requests;
        for entry in report.entries.iter().filter(|entry| entry.entry.kind == EntryKind::Rule) {
            let key = (entry.entry.policy.clone(), entry.entry.id.clone());
            *self.rules.entry(key).or_default() += entry.ns_total;
        }
    }

    /// Microseconds per request of each part; `None` without a request.
    #[must_use]
    pub fn of(&self, parts: &[Part]) -> Option<Vec<f64>> {
        let requests = (self.requests > 0).then_some(self.requests as f64)?;
        let cost = |part: &Part| {
            let of = |rule: &(String, String)| self.rules.get(rule).copied().unwrap_or_default();
            part.rules.iter().map(of).sum::<f64>() / requests / 1e3
        };
        Some(parts.iter().map(cost).collect())
    }
}

/// A look; `None` if there is no ledger that can be read.
#[must_use]
pub fn look(directory: Option<&Path>) -> Option<Report> {
    Report::read(directory?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_ledger::{Clock, Control, Entry, Ledger, Reserve};

    #[test]
    fn parts_have_the_sum_of_their_rules_per_request() {
        let directory = tempfile::tempdir().unwrap();
        let rule = |id: &str| Entry {
            kind: EntryKind::Rule,
            policy: "p".into(),
            id: id.into(),
            plugin: "block".into(),
            rules: vec![],
        };
        let control = Control::open_or_create(directory.path()).unwrap();
        let entries = [rule("a-1"), rule("a-2"), rule("b")];
        let ledger = Ledger::create(directory.path(), 1, "r", &entries, 1, 64, Reserve::Nothing).unwrap();
        control.set_generation(1);
        let before = look(Some(directory.path())).unwrap();
        let (row, clock) = (ledger.row(0), Clock::calibrate());
        for (entry, us) in [(0, 10), (1, 20), (2, 5)] {
            row.add(entry, false);
            row.time(entry, clock.ticks_of(us * 1_000) + clock.overhead_ticks());
        }
        row.request();
        let mut sums = LedgerSums::default();
        sums.add(&before, &look(Some(directory.path())).unwrap());
        let part = |name: &str, rules: &[&str]| Part {
            name: name.into(),
            rules: rules.iter().map(|id| ("p".to_owned(), (*id).to_owned())).collect(),
        };
        let costs = sums.of(&[part("a", &["a-1", "a-2"]), part("b", &["b"]), part("c", &["gone"])]).unwrap();
        assert_eq!(costs.iter().map(|cost| cost.round()).collect::<Vec<_>>(), [30.0, 5.0, 0.0]);
        assert!(LedgerSums::default().of(&[part("a", &[])]).is_none());
        assert!(look(Some(Path::new("/nowhere"))).is_none() && look(None).is_none());
    }
}
