//! Times of single events, boiled down to what a row shows.

use std::time::{Duration, Instant};

/// Most times that one turn keeps; past it only the count goes on. 8 bytes each.
const MOST: usize = 4_000_000;

/// What a turn collects while it runs.
#[derive(Debug)]
pub struct Timings {
    began: Instant,
    each_ns: Vec<u64>,
    count: u64,
}

impl Timings {
    /// Begins now. `expected` is how many there may be, so that nothing is allocated meanwhile.
    #[must_use]
    pub fn begin(expected: usize) -> Self {
        Self { began: Instant::now(), each_ns: Vec::with_capacity(expected.min(MOST)), count: 0 }
    }

    /// Adds an event's time.
    pub fn push(&mut self, time: Duration) {
        self.count += 1;
        if self.each_ns.len() < MOST {
            self.each_ns.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends now; `None` without a single event.
    #[must_use]
    pub fn end(self) -> Option<Figures> {
        let elapsed = self.began.elapsed();
        Figures::of(self.each_ns, self.count, elapsed)
    }
}

/// The figures of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Mean time of an event, microseconds.
    pub mean_us: f64,
    /// Half of them took at most this, microseconds.
    pub p50_us: f64,
    /// 99 % of them, microseconds.
    pub p99_us: f64,
    /// Events per second of the turn.
    pub per_second: f64,
    /// Number of events.
    pub samples: u64,
}

impl Figures {
    /// Of the given times in nanoseconds, which stand for `count` events in `elapsed`.
    #[must_use]
    pub fn of(mut each_ns: Vec<u64>, count: u64, elapsed: Duration) -> Option<Self> {
        if each_ns.is_empty() {
            return None;
        }
        let sum: u128 = each_ns.iter().map(|&one| u128::from(one)).sum();
        let mean_us = sum as f64 / each_ns.len() as f64 / 1e3;
        each_ns.sort_unstable();
        let at = |share: f64| each_ns[((each_ns.len() - 1) as f64 * share).round() as usize] as f64 / 1e3;
        let per_second = count as f64 / elapsed.as_secs_f64().max(1e-9);
        Some(Self { mean_us, p50_us: at(0.5), p99_us: at(0.99), per_second, samples: count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_percentiles_and_rate() {
        let times: Vec<u64> = (1..=101).map(|us| us * 1000).collect();
        let figures = Figures::of(times, 101, Duration::from_millis(10)).unwrap();
        assert_eq!((figures.mean_us, figures.p50_us, figures.p99_us), (51.0, 51.0, 100.0));
        assert!((figures.per_second - 10_100.0).abs() < 1e-6);
        assert_eq!(Figures::of(Vec::new(), 0, Duration::from_secs(1)), None);
    }
}
