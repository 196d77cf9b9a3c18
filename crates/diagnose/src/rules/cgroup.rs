//! `cgroup-throttled`: the CPU quota of a container stops all threads for the rest of a period.

use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const THROTTLED: Rule = Rule {
    id: "cgroup-throttled",
    title: "The container's CPU quota throttles it",
    needs: RuleNeeds::All(&[FactSource::Process]),
    looks_at: "`nr_throttled` and `throttled_usec` of the control group over the window",
    threshold: "when 5 % of the periods were cut short: each stops every request for tens of milliseconds, so one \
                request in twenty is late",
    check,
};

fn check(facts: &Facts) -> Option<Finding> {
    let group = facts.process.as_ref()?.cgroup.as_ref().filter(|group| group.periods > 0)?;
    #[allow(clippy::cast_precision_loss, reason = "periods of 0.1 s")]
    let share = group.throttled_periods as f64 / group.periods as f64;
    if share < 0.05 || group.throttled_periods < 2 {
        return None;
    }
    #[allow(clippy::cast_precision_loss, reason = "microseconds to show")]
    let (quota, held) =
        (group.quota_us.unwrap_or(0) as f64 / group.period_us.max(1) as f64, group.throttled_us as f64 / 1000.0);
    Some(
        Finding::new(THROTTLED.id, format!("The CPU quota throttled it in {} of the periods.", percent(share)))
            .severity(if share >= 0.25 { Severity::Serious } else { Severity::Warning })
            .confidence(Confidence::Certain)
            .figure("quota", format!("{quota:.2} CPUs ({})", group.path))
            .figure("throttled", format!("{} of {} periods, {held:.0} ms in all", group.throttled_periods, group.periods))
            .fix(
                "raise or remove the quota (cpu.max; Kubernetes: resources.limits.cpu), or start no more workers than the quota has CPUs: \
                 worker_processes auto uses the machine's number of CPUs",
            )
            .verify(format!("grep -E 'nr_|throttled' /sys/fs/cgroup{}/cpu.stat", group.path)),
    )
}
