//! `nofile-limit`: a worker runs out of descriptors before it runs out of connections.

use super::nginx::{configuration, place};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const LIMIT: Rule = Rule {
    id: "nofile-limit",
    title: "Too few open files are allowed",
    needs: RuleNeeds::All(&[FactSource::Process]),
    looks_at: "descriptors in use against RLIMIT_NOFILE, and `worker_connections`, each of which takes one (two with a file)",
    threshold: "from 80 % in use, or from half in use if worker_connections could take twice the limit, or when \
                worker_connections alone is above the limit: past it, connections are refused (\"too many open files\")",
    check,
};

fn check(facts: &Facts) -> Option<Finding> {
    let limit = facts.process.as_ref()?.nofile.filter(|limit| limit.soft > 0 && limit.soft != u64::MAX)?;
    let directive = configuration(facts).and_then(|configuration| configuration.all("worker_connections").pop());
    let connections = directive.and_then(|one| one.value().parse::<u64>().ok()).unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "counts of descriptors")]
    let used = limit.used as f64 / limit.soft as f64;
    let (serious, sentence) = if used >= 0.8 {
        (true, format!("{} of the allowed open files are in use.", percent(used)))
    } else if connections > limit.soft {
        (false, format!("worker_connections is {connections}, but a worker may open only {} files.", limit.soft))
    } else if used >= 0.5 && connections.saturating_mul(2) > limit.soft {
        (
            false,
            format!(
                "{} of the allowed open files are in use, and {connections} connections may need twice that number.",
                percent(used)
            ),
        )
    } else {
        return None;
    };
    let want = (connections * 2 + 1024).max(65_536);
    Some(
        Finding::new(LIMIT.id, sentence)
            .severity(if serious { Severity::Serious } else { Severity::Warning })
            .confidence(Confidence::Certain)
            .with(directive.map(place))
            .figure("open files", format!("{} of {} (could be raised to {})", limit.used, limit.soft, limit.hard))
            .fix(format!("worker_rlimit_nofile {want};   # outside all blocks; for other programs: LimitNOFILE={want} in the systemd unit"))
            .verify("grep 'open files' /proc/PID/limits; ls /proc/PID/fd | wc -l"),
    )
}
