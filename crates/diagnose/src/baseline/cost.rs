//! The cost of a request, before and after.

use serde::Serialize;

use crate::facts::{Facts, WorkerFacts};

/// Cost on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Number of requests in the window, if known.
    pub requests: Option<u64>,
    /// Requests per second, if known.
    pub requests_per_second: Option<f64>,
    /// CPU time of all watched processes, in cores, such as 1.5.
    pub cores: f64,
    /// CPU time per request in microseconds, if requests are known.
    pub cpu_us_per_request: Option<f64>,
    /// The part in user mode.
    pub user_us_per_request: Option<f64>,
    /// The part in the kernel.
    pub system_us_per_request: Option<f64>,
}

impl Cost {
    /// The cost in a window; zero without a window.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "microseconds and requests below 2^52")]
    pub fn of(facts: &Facts) -> Self {
        let workers = facts.process.as_ref().map_or(&[][..], |process| process.workers.as_slice());
        let sum = |part: fn(&WorkerFacts) -> u64| workers.iter().map(part).sum::<u64>() as f64;
        let (user, system) = (sum(|worker| worker.user_us), sum(|worker| worker.system_us));
        let requests = facts.requests.filter(|&requests| requests > 0);
        let per_request = |us: f64| requests.map(|requests| us / requests as f64);
        let watched = facts.seconds > 0.0;
        Self {
            seconds: facts.seconds,
            requests,
            requests_per_second: requests.filter(|_| watched).map(|requests| requests as f64 / facts.seconds),
            cores: if watched { (user + system) / 1e6 / facts.seconds } else { 0.0 },
            cpu_us_per_request: per_request(user + system),
            user_us_per_request: per_request(user),
            system_us_per_request: per_request(system),
        }
    }
}

/// The cost on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CostChange {
    /// The old cost.
    pub before: Cost,
    /// The new cost.
    pub after: Cost,
    /// Ratio of the new to the old CPU time per request, if both are known and the old one is not zero.
    pub ratio: Option<f64>,
}

impl CostChange {
    /// Compares the costs of two sets of facts.
    #[must_use]
    pub fn of(old: &Facts, new: &Facts) -> Self {
        let (before, after) = (Cost::of(old), Cost::of(new));
        let ratio = before.cpu_us_per_request.zip(after.cpu_us_per_request).filter(|(before, _)| *before > 0.0);
        Self { before, after, ratio: ratio.map(|(before, after)| after / before) }
    }
}
