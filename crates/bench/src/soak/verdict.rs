//! What is weighed, and what is allowed.

use serde::Serialize;

use weir_measure::process::Footprint;

/// Memory may be this much more at the end than at the first weighing.
const ALLOWED_GROWTH: f64 = 1.03;

/// Control keeps the latest revisions.
const ALLOWED_GROWTH_OF_CONTROL: f64 = 1.05;

/// Sockets of a worker: 64 idle connections to the origin, 16 of clients, the rest listeners and
/// channels. How many are open at a moment is chance; a leak goes past this within minutes.
const SOCKETS: u64 = 64 + 16 + 8;

/// The processes and files of a running nginx at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Weighing {
    /// Requests answered so far.
    pub requests: u64,
    /// Reloads so far.
    pub reloads: u32,
    /// The worker.
    pub worker: Footprint,
    /// The master.
    pub master: Footprint,
    /// Files in Weir's runtime directory.
    pub runtime_files: u64,
}

/// One statement that held or did not.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The statement.
    pub what: String,
    /// Whether it held.
    pub passed: bool,
}

impl Finding {
    /// A finding.
    #[must_use]
    pub fn new(passed: bool, what: impl Into<String>) -> Self {
        Self { what: what.into(), passed }
    }
}

/// Compares what a process takes with what it took, both in KiB of resident memory.
#[must_use]
pub fn compare_rss(name: &str, early: &Footprint, late: &Footprint) -> Finding {
    let growth = late.rss_kib as f64 / early.rss_kib.max(1) as f64;
    let words = format!("RSS of {name} {} -> {} KiB ({:+.1} %)", early.rss_kib, late.rss_kib, (growth - 1.0) * 100.0);
    Finding::new(growth <= ALLOWED_GROWTH_OF_CONTROL, words)
}

/// Compares a weighing with an earlier one.
#[must_use]
pub fn compare(name: &str, early: &Weighing, late: &Weighing) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (process, early, late) in [("worker", &early.worker, &late.worker), ("master", &early.master, &late.master)] {
        for (what, early, late) in
            [("RSS", early.rss_kib, late.rss_kib), ("PSS without files", early.pss_own_kib, late.pss_own_kib)]
        {
            let growth = late as f64 / early.max(1) as f64;
            let words =
                format!("{name}: {what} of the {process} {early} -> {late} KiB ({:+.1} %)", (growth - 1.0) * 100.0);
            findings.push(Finding::new(growth <= ALLOWED_GROWTH, words));
        }
        for (what, early, late, allowed) in [
            ("descriptors but sockets", early.descriptors, late.descriptors, 0),
            ("sockets", early.sockets, late.sockets, SOCKETS),
            ("shared mappings", early.shared_mappings, late.shared_mappings, 0),
            ("KiB of shared mappings", early.shared_kib, late.shared_kib, 0),
        ] {
            let words = format!("{name}: {what} of the {process} {early} -> {late}");
            findings.push(Finding::new(late <= early.max(allowed), words));
        }
    }
    let files = (early.runtime_files, late.runtime_files);
    findings.push(Finding::new(
        files.1 <= files.0,
        format!("{name}: files in the runtime directory {} -> {}", files.0, files.1),
    ));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(rss_kib: u64, descriptors: u64) -> Weighing {
        let footprint = Footprint {
            rss_kib,
            pss_own_kib: rss_kib,
            pss_kib: rss_kib,
            descriptors,
            sockets: descriptors,
            shared_mappings: 3,
            shared_kib: 9_000,
        };
        Weighing { requests: 1, reloads: 1, worker: footprint, master: footprint, runtime_files: 3 }
    }

    fn failed(early: Weighing, late: Weighing) -> Vec<String> {
        compare("x", &early, &late).into_iter().filter(|finding| !finding.passed).map(|finding| finding.what).collect()
    }

    #[test]
    fn three_per_cent_is_allowed_and_six_is_not() {
        assert!(failed(weight(10_000, 20), weight(10_300, 20)).is_empty());
        let words = failed(weight(10_000, 20), weight(10_600, 20));
        assert_eq!(words.len(), 4, "{words:?}");
        assert!(words[0].contains("RSS of the worker 10000 -> 10600 KiB (+6.0 %)"), "{words:?}");
    }

    #[test]
    fn one_more_descriptor_or_file_is_growth() {
        assert_eq!(failed(weight(10_000, 20), weight(10_000, 21)).len(), 2);
        assert!(failed(weight(10_000, SOCKETS), weight(10_000, SOCKETS + 1)).len() == 4);
        let more = Weighing { runtime_files: 4, ..weight(10_000, 20) };
        assert_eq!(failed(weight(10_000, 20), more).len(), 1);
    }
}
