//! The circuit breaker: an inspector that fails too often is not asked for a while, so that requests do not wait for it.
//!
//! Outcomes are counted in windows of [`WINDOW_MS`]. If more than a share of at least so many have failed, the breaker
//! opens. After a time one question is let through; its answer closes the breaker, its failure keeps it open for twice as
//! long, up to [`MAX_OPEN_MS`]. Consecutive failures alone would close one's eyes to a service that fails half the time.

/// Length of the windows in which outcomes are counted.
pub const WINDOW_MS: u64 = 10_000;
/// The longest time for which a breaker is open before the next question.
pub const MAX_OPEN_MS: u64 = 60_000;

/// When a breaker opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Failures of 10,000 outcomes from which it opens.
    pub share: u32,
    /// Outcomes in a window before that is looked at.
    pub least: u32,
    /// How long it stays open at first.
    pub open_ms: u64,
}

/// What has become of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has opened.
    Opened,
    /// It has closed.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// Until then.
    Open(u64),
    /// One question is on its way, since then.
    Trying(u64),
}

/// A breaker.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: State,
    window_began_ms: u64,
    outcomes: u32,
    failures: u32,
    open_ms: u64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed, window_began_ms: 0, outcomes: 0, failures: 0, open_ms: 0 }
    }
}

impl Breaker {
    /// Whether a question may be asked now. If it may while the breaker is open, it is the one that tries.
    pub fn allows(&mut self, limits: &Limits, now_ms: u64) -> bool {
        match self.state {
            State::Closed => true,
            State::Open(until_ms) if now_ms >= until_ms => {
                self.state = State::Trying(now_ms);
                true
            }
            // The request whose question tried may have ended before there was an outcome.
            State::Trying(since_ms) if now_ms >= since_ms.saturating_add(limits.open_ms.max(1)) => {
                self.state = State::Trying(now_ms);
                true
            }
            State::Open(_) | State::Trying(_) => false,
        }
    }

    /// Whether it is not closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    /// Books an outcome.
    pub fn book(&mut self, limits: &Limits, is_failure: bool, now_ms: u64) -> Option<Change> {
        if self.is_open() {
            // An answer, if it is one to an earlier question, shows all the same that the inspector is back.
            if !is_failure {
                *self = Self { window_began_ms: now_ms, ..Self::default() };
                return Some(Change::Closed);
            }
            if let State::Trying(_) = self.state {
                self.open_ms = (self.open_ms * 2).min(MAX_OPEN_MS.max(limits.open_ms));
                self.state = State::Open(now_ms + self.open_ms);
            }
            return None;
        }
        if now_ms.saturating_sub(self.window_began_ms) >= WINDOW_MS {
            (self.window_began_ms, self.outcomes, self.failures) = (now_ms, 0, 0);
        }
        self.outcomes = self.outcomes.saturating_add(1);
        self.failures = self.failures.saturating_add(u32::from(is_failure));
        let is_over = u64::from(self.failures) * 10_000 >= u64::from(self.outcomes) * u64::from(limits.share);
        if is_failure && self.outcomes >= limits.least && is_over {
            self.open_ms = limits.open_ms;
            self.state = State::Open(now_ms + limits.open_ms);
            return Some(Change::Opened);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { share: 5000, least: 10, open_ms: 1000 };

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        let changes: Vec<_> = (0..10).filter_map(|_| breaker.book(&LIMITS, true, 50)).collect();
        assert_eq!(changes, [Change::Opened], "told once");
        breaker
    }

    #[test]
    fn it_opens_past_the_share_and_not_before_the_least() {
        let mut breaker = Breaker::default();
        for n in 0..100 {
            // 4 of 10 fail.
            assert_eq!(breaker.book(&LIMITS, n % 5 >= 3, 50), None, "{n}");
        }
        assert!(breaker.allows(&LIMITS, 50));
        let breaker = opened();
        assert!(breaker.is_open());
    }

    #[test]
    fn one_question_tries_and_decides() {
        let mut breaker = opened();
        assert!(!breaker.allows(&LIMITS, 1049));
        assert!(breaker.allows(&LIMITS, 1050), "it tries");
        assert!(!breaker.allows(&LIMITS, 1060), "one only");
        assert_eq!(breaker.book(&LIMITS, true, 1070), None);
        assert!(!breaker.allows(&LIMITS, 3069), "twice as long");
        assert!(breaker.allows(&LIMITS, 3070));
        assert_eq!(breaker.book(&LIMITS, false, 3080), Some(Change::Closed));
        assert!(breaker.allows(&LIMITS, 3080) && breaker.allows(&LIMITS, 3080));
    }

    #[test]
    fn it_never_stays_open_because_a_try_was_lost() {
        let mut breaker = opened();
        assert!(breaker.allows(&LIMITS, 1050));
        assert!(!breaker.allows(&LIMITS, 1100));
        assert!(breaker.allows(&LIMITS, 2050), "the next one tries");
        // Failures of questions that were asked before it opened do not prolong it.
        let mut breaker = opened();
        assert_eq!(breaker.book(&LIMITS, true, 60), None);
        assert!(breaker.allows(&LIMITS, 1050));
    }

    #[test]
    fn the_longest_time_is_bounded() {
        let mut breaker = opened();
        let mut now = 0;
        for _ in 0..40 {
            now += MAX_OPEN_MS;
            assert!(breaker.allows(&LIMITS, now));
            breaker.book(&LIMITS, true, now);
        }
        assert!(breaker.open_ms <= MAX_OPEN_MS);
    }
}
