//! `accept-imbalance`: one worker is saturated while others are idle.
//!
//! An idle nginx is imbalanced by design: the kernel wakes the worker that waited last. It matters only when the
//! busiest has no CPU left, because its connections wait while others could serve them.

use super::nginx::{again, configuration, place};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::process::{Role, WorkerFacts};
use crate::facts::{Directive, Facts};
use crate::finding::{Confidence, Finding, Severity};

pub(super) const ACCEPT_IMBALANCE: Rule = Rule {
    id: "accept-imbalance",
    title: "Work is unevenly distributed between workers",
    needs: RuleNeeds::All(&[FactSource::Process]),
    looks_at: "CPU time and accepted connections of each worker, `reuseport`, `accept_mutex`, `multi_accept`",
    threshold: "when the busiest worker uses at least 80 % of a CPU and the least busy less than half of that, over 3 seconds or \
                more: below that, no request waits, and differences are by design",
    check,
};

/// Minimum load at which a worker is saturated.
const FULL: f64 = 0.8;
/// Minimum seconds; below, the kernel's clock ticks and chance dominate.
const SHORTEST: f64 = 3.0;

fn check(facts: &Facts) -> Option<Finding> {
    let process =
        facts.process.as_ref().filter(|process| matches!(process.role, Role::NginxMaster | Role::NginxWorker))?;
    let mut workers: Vec<&WorkerFacts> =
        process.workers.iter().filter(|worker| !worker.partial && is_worker(worker)).collect();
    workers.sort_by_key(|worker| std::cmp::Reverse(worker.cpu_us()));
    let (most, least) = (workers.first()?, workers.last()?);
    #[allow(clippy::cast_precision_loss, reason = "microseconds of seconds")]
    let load = |worker: &WorkerFacts| worker.cpu_us() as f64 / 1e6 / facts.seconds.max(0.001);
    if workers.len() < 2 || facts.seconds < SHORTEST || load(most) < FULL || load(least) > load(most) / 2.0 {
        return None;
    }
    let accepted =
        |worker: &WorkerFacts| worker.accepted.map_or_else(String::new, |count| format!(", {count} accepted"));
    let figure = |worker: &WorkerFacts| {
        (
            format!("worker {}", worker.pid),
            format!("{:.0} % of a CPU, {} connections{}", load(worker) * 100.0, worker.connections, accepted(worker)),
        )
    };
    let sentence = format!(
        "One of {} workers is saturated while another uses {:.0} % of a CPU.",
        workers.len(),
        load(least) * 100.0
    );
    let mut finding =
        Finding::new(ACCEPT_IMBALANCE.id, sentence).severity(Severity::Warning).confidence(Confidence::Likely);
    for worker in workers.iter().take(2).chain(workers.last().filter(|_| workers.len() > 2)) {
        let (name, value) = figure(worker);
        finding = finding.figure(name, value);
    }
    let configuration = configuration(facts);
    let listens: Vec<&Directive> = configuration.map(|one| one.all("listen")).unwrap_or_default();
    let has_reuseport = listens.iter().any(|one| one.arguments.iter().any(|word| word == "reuseport"));
    let mutex = configuration.and_then(|one| one.all("accept_mutex").into_iter().find(|mutex| mutex.value() == "on"));
    let multiple =
        configuration.and_then(|one| one.all("multi_accept").into_iter().find(|multi| multi.value() == "on"));
    let fix = match (mutex.or(multiple), has_reuseport) {
        (Some(directive), _) => format!("{} off;   # while it is on, one worker accepts all waiting connections", directive.name),
        (None, false) => "listen ADDRESS:PORT reuseport;   # the kernel then distributes connections to the workers".to_owned(),
        (None, true) => "few long connections carry the load: let clients open more, or close them after keepalive_requests; otherwise \
                         remove reuseport, which distributes by hash and not by load"
            .to_owned(),
    };
    let directive = mutex.or(multiple).or_else(|| listens.first().copied());
    Some(finding.with(directive.map(place)).fix(fix).verify(again(facts, ACCEPT_IMBALANCE.id)))
}

fn is_worker(worker: &WorkerFacts) -> bool {
    worker.title.is_empty() || worker.title.contains("worker process") && !worker.is_leaving()
}
