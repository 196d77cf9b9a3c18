//! `swapping`: memory that must be read from disk.

use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity};
use weir_profile::amount::counted;

pub(super) const SWAPPING: Rule = Rule {
    id: "swapping",
    title: "Memory is read back from disk",
    needs: RuleNeeds::All(&[FactSource::Process]),
    looks_at: "page faults that needed the disk, and swapped-out memory, of all watched processes",
    threshold: "from one such fault per second if memory is swapped out, from 50 if not (mapped files that were evicted \
                from memory): each blocks the whole worker for as long as the disk takes",
    check,
};

fn check(facts: &Facts) -> Option<Finding> {
    let workers = &facts.process.as_ref()?.workers;
    let swapped: u64 = workers.iter().map(|worker| worker.swap_kib).sum();
    let faults: u64 = workers.iter().map(|worker| worker.major_faults).sum();
    #[allow(clippy::cast_precision_loss, reason = "faults to show")]
    let rate = if facts.seconds > 0.0 { faults as f64 / facts.seconds } else { 0.0 };
    if rate < if swapped > 0 { 1.0 } else { 50.0 } {
        return None;
    }
    Some(
        Finding::new(SWAPPING.id, format!("Memory is read back from disk {rate:.0} times per second."))
            .severity(Severity::Serious)
            .confidence(Confidence::Certain)
            .figure("major faults", format!("{faults} in {:.0} s", facts.seconds))
            .figure("swapped out", format!("{} MiB of {}", swapped / 1024, counted(workers.len() as u64, "process")))
            .fix("give the machine or the container more memory, or use less (caches, lua_shared_dict, worker_connections); vm.swappiness=1")
            .verify("grep -E 'VmSwap' /proc/PID/status; vmstat 1 5"),
    )
}
