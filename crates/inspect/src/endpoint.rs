//! Which endpoint is asked next: in turn, without those that have just failed several times in a row.
//!
//! An endpoint that is out is tried again after a while; while all of them are out, the one whose time comes first is
//! asked. The breaker looks at the inspector as a whole, this at each address of it.

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
    out_until_ms: u64,
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
        if self.failures < FAILURES || now_ms < self.out_until_ms {
            return None;
        }
        let is_first = self.out_ms == 0;
        self.out_ms = (self.out_ms * 2).clamp(OUT_MS, MAX_OUT_MS);
        self.out_until_ms = now_ms + self.out_ms;
        is_first.then_some(Change::Out)
    }

    /// Whether it is left out now.
    #[must_use]
    pub fn is_out(&self, now_ms: u64) -> bool {
        now_ms < self.out_until_ms
    }
}

/// The endpoint to ask, `turn` counting the questions; `except` is one that has just failed. `None` without endpoints.
#[must_use]
pub fn pick(all: &[Health], turn: usize, except: Option<usize>, now_ms: u64) -> Option<usize> {
    let from = turn.checked_rem(all.len())?;
    let order = || (from..all.len()).chain(0..from).filter(|at| Some(*at) != except || all.len() == 1);
    order().find(|at| !all[*at].is_out(now_ms)).or_else(|| order().min_by_key(|at| all[*at].out_until_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn while_all_are_out_the_first_to_come_back_is_asked() {
        let mut all = [Health::default(); 2];
        (0..3).for_each(|_| _ = all[0].book(true, 50));
        (0..3).for_each(|_| _ = all[1].book(true, 20));
        assert_eq!(pick(&all, 0, None, 60), Some(1));
        assert_eq!(pick(&[], 0, None, 0), None);
        assert_eq!(pick(&all[..1], 0, Some(0), 60), Some(0), "the only one");
    }
}
