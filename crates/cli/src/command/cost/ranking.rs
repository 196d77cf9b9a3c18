//! Groups the entries of a report and puts the dearest first.

use weir_ledger::{EntryKind, EntryReport, Report};

use crate::arguments::By;

/// One row of the ranking.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub kind: &'static str,
    pub id: String,
    pub policy: String,
    pub plugin: String,
    pub calls: u64,
    pub hits: u64,
    pub samples: u64,
    pub preempted: u64,
    pub own_ns: f64,
    pub lane_ns: f64,
}

impl Line {
    pub fn total_ns(&self) -> f64 {
        self.own_ns + self.lane_ns
    }

    fn of(entry: &EntryReport) -> Self {
        Self {
            kind: match entry.entry.kind {
                EntryKind::Plugin => "plugin",
                EntryKind::Rule => "rule",
                EntryKind::Lane => "lane",
            },
            id: entry.entry.id.clone(),
            policy: entry.entry.policy.clone(),
            plugin: entry.entry.plugin.clone(),
            calls: entry.calls,
            hits: entry.hits,
            samples: entry.samples,
            preempted: entry.preempted,
            own_ns: entry.own_ns,
            lane_ns: entry.lane_ns,
        }
    }

    fn join(&mut self, other: &Self) {
        self.calls += other.calls;
        self.hits += other.hits;
        self.samples += other.samples;
        self.preempted += other.preempted;
        self.own_ns += other.own_ns;
        self.lane_ns += other.lane_ns;
    }
}

/// The rows of a report, the dearest first; of equally dear ones in the ledger's order.
pub(super) fn rank(report: &Report, by: By) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for entry in report.entries.iter().filter(|entry| (entry.entry.kind == EntryKind::Lane) == (by == By::Lane)) {
        let line = named(entry, by);
        let same =
            |other: &&mut Line| matches!(by, By::Plugin | By::Policy) && other.kind == line.kind && other.id == line.id;
        match lines.iter_mut().find(same) {
            Some(other) => other.join(&line),
            None => lines.push(line),
        }
    }
    lines.sort_by(|a, b| b.total_ns().total_cmp(&a.total_ns()));
    lines
}

fn named(entry: &EntryReport, by: By) -> Line {
    let mut line = Line::of(entry);
    match by {
        By::Rule => {}
        By::Lane => line.policy = entry.entry.rules.len().to_string(),
        By::Plugin => {
            (line.kind, line.id) = ("plugin", line.plugin.clone());
            line.policy.clear();
        }
        By::Policy => {
            line.kind = "policy";
            line.id = if line.policy.is_empty() { "(weir)".into() } else { std::mem::take(&mut line.policy) };
            line.policy.clear();
            line.plugin.clear();
        }
    }
    line
}
