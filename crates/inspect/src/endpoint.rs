//! Which endpoint is asked next: in turn, without those that have just failed several times in a row.
//!
//! An endpoint that is out is tried again after a while, by one question at a time until one is answered; while all are
//! out, nothing waits for them. The breaker looks at the inspector as a whole, this at each address of it.

/// Failures in a row after which an endpoint is left out.
const FAILURES: u32 = 3;
/// How long it is left out at first; twice as long each time until it answers.
const OUT_MS: u64 = 1000;
/// The longest time.
const MAX_OUT_MS: u64 = 30_000;

/// What has become of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is left out.
    Out,
    /// It answers again.
    Back,
}

/// The health of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Health {
    failures: u32,
    out_ms: u64,
    /// Until then it is not asked.
    out_until_ms: u64,
    /// Whether a question tries it.
    is_tried: bool,
}

impl Health {
    /// Books an answer, or that there was none.
    pub fn book(&mut self, is_failure: bool, now_ms: u64) -> Option<Change> {
        if !is_failure {
            let was_out = self.out_ms > 0;
            *self = Self::default();
            return was_out.then_some(Change::Back);
        }
        self.failures = self.failures.saturating_add(1);
        // Failures of questions that were asked before it was out do not prolong it.
        if self.failures < FAILURES || (now_ms < self.out_until_ms && !self.is_tried) {
            return None;
        }
        let is_first = self.out_ms == 0;
        self.out_ms = (self.out_ms * 2).clamp(OUT_MS, MAX_OUT_MS);
        (self.out_until_ms, self.is_tried) = (now_ms + self.out_ms, false);
        is_first.then_some(Change::Out)
    }

    /// A question goes to it. To one that was out it is the only one, unless no outcome is booked for as long again.
    pub fn ask(&mut self, now_ms: u64) {
        if self.is_failing() {
            (self.out_until_ms, self.is_tried) = (now_ms + self.out_ms, true);
        }
    }

    /// Whether it was left out, and has not answered since.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.out_ms > 0
    }

    /// Whether it is left out now.
    #[must_use]
    pub fn is_out(&self, now_ms: u64) -> bool {
        now_ms < self.out_until_ms
    }
}

/// The endpoint whose turn it is, unless it is left out or is `except`, which has just failed. `None` without endpoints.
#[must_use]
pub fn at(all: &[Health], turn: usize, except: Option<usize>, now_ms: u64) -> Option<usize> {
    let endpoint = turn.checked_rem(all.len())?;
    let is_other = Some(endpoint) != except || all.len() == 1;
    (is_other && !all[endpoint].is_out(now_ms)).then_some(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(all: &[Health], turn: usize, except: Option<usize>, now_ms: u64) -> Option<usize> {
        (turn..turn + all.len()).find_map(|turn| at(all, turn, except, now_ms))
    }

    #[test]
    fn endpoints_take_turns_and_failed_ones_are_left_out() {
        let mut all = [Health::default(); 3];
        let asked = |all: &[Health], now| (0..6).map(|turn| pick(all, turn, None, now).unwrap()).collect::<Vec<_>>();
        assert_eq!(asked(&all, 0), [0, 1, 2, 0, 1, 2]);
        let changes: Vec<_> = (0..4).filter_map(|_| all[1].book(true, 100)).collect();
        assert_eq!(changes, [Change::Out], "told once");
        assert_eq!(asked(&all, 100), [0, 2, 2, 0, 2, 2]);
        assert_eq!(asked(&all, 1100), [0, 1, 2, 0, 1, 2], "it is tried again");
        assert_eq!(all[1].book(true, 1100), None);
        assert!(all[1].is_out(3000) && !all[1].is_out(3100), "twice as long");
        assert_eq!(all[1].book(false, 3100), Some(Change::Back));
        assert_eq!(all[1].book(false, 3101), None);
        assert_eq!(pick(&all, 0, Some(0), 3101), Some(1), "another one is asked again");
    }

    #[test]
    fn one_that_was_out_is_tried_by_one_question_at_a_time() {
        let mut all = [Health::default()];
        (0..3).for_each(|_| _ = all[0].book(true, 50));
        assert_eq!(pick(&all, 0, None, 60), None, "nothing waits for it");
        assert_eq!(pick(&all, 0, None, 1050), Some(0));
        all[0].ask(1050);
        assert_eq!(pick(&all, 0, None, 1060), None, "one at a time");
        assert_eq!(pick(&all, 0, None, 2050), Some(0), "the request of the first may have ended");
        all[0].ask(2050);
        assert_eq!(all[0].book(true, 2070), None);
        assert!(all[0].is_out(4069) && !all[0].is_out(4070), "twice as long");
        assert_eq!(all[0].book(false, 4070), Some(Change::Back));
        assert_eq!(pick(&all, 0, Some(0), 4071), Some(0), "the only one is asked again");
        assert_eq!(pick(&[], 0, None, 0), None);
    }
}
