//! What a load generator saw: `wrk`'s script writes it, and of `h2load` it is made from the log of requests.

use serde::Deserialize;

/// What a load generator reports at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct LoadReport {
    /// Answers received completely.
    pub requests: u64,
    /// Length of the run in microseconds.
    pub duration_us: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Half of the answers came within this time.
    pub p50_us: u64,
    /// 90 % of them.
    pub p90_us: u64,
    /// 99 % of them.
    pub p99_us: u64,
    /// The slowest.
    pub max_us: u64,
    /// Connections that could not be opened.
    pub failed_connects: u64,
    /// Reads that failed.
    pub failed_reads: u64,
    /// Writes that failed.
    pub failed_writes: u64,
    /// Answers with a status of 400 or more.
    pub bad_statuses: u64,
    /// Answers that took more than two seconds.
    pub timeouts: u64,
}

impl LoadReport {
    /// Answers per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.requests as f64 * 1e6 / self.duration_us.max(1) as f64
    }

    /// The failures of the run as a phrase; `None` if there was none. As many answers must be refusals as
    /// `refused_percent` says; in a mixture, a quarter more or less and those under way at the end are allowed.
    #[must_use]
    pub fn trouble(&self, refused_percent: u8) -> Option<String> {
        let expected = self.requests * u64::from(refused_percent) / 100;
        let allowed = if matches!(refused_percent, 0 | 100) { 0 } else { expected / 4 + 2 };
        let counts = [
            (expected.saturating_sub(self.bad_statuses + allowed), "answers too many with a status below 400"),
            (self.bad_statuses.saturating_sub(expected + allowed), "answers too many with a status of 400 or more"),
            (self.failed_connects, "failed connects"),
            (self.failed_reads, "failed reads"),
            (self.failed_writes, "failed writes"),
        ];
        let words: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        match (words.is_empty(), self.requests) {
            (true, 0) => Some("no answer at all".into()),
            (true, _) => None,
            (false, requests) => {
                Some(format!("{} among {}", words.join(", "), weir_policy::counted(requests as usize, "request")))
            }
        }
    }
}
