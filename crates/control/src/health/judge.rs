//! From single results to a verdict, by how many good or bad ones come in a row.

use weir_gateway::resource::ActiveHealth;

/// The verdict on one member and the results since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Judge {
    verdict: Option<bool>,
    /// Results in a row that contradict the verdict or, while there is none, agree.
    row: u32,
    last: bool,
}

impl Judge {
    /// Adds a result. Returns the verdict if it changes, and the first one: workers may hold an older one from before
    /// a restart.
    pub fn observe(&mut self, good: bool, active: &ActiveHealth) -> Option<bool> {
        if self.verdict == Some(good) {
            self.row = 0;
            return None;
        }
        self.row = if self.row > 0 && self.last == good { self.row.saturating_add(1) } else { 1 };
        self.last = good;
        let needed = if good { active.healthy } else { active.unhealthy };
        if self.row < needed.max(1) {
            return None;
        }
        self.row = 0;
        self.verdict = Some(good);
        self.verdict
    }

    /// Healthy, unhealthy, or not known yet.
    pub fn verdict(&self) -> Option<bool> {
        self.verdict
    }
}

#[cfg(test)]
mod tests {
    use weir_gateway::resource::CheckKind;

    use super::*;

    #[test]
    fn answers_in_a_row_make_a_verdict() {
        let active = ActiveHealth { kind: CheckKind::Tcp, interval_ms: 1, timeout_ms: 1, healthy: 2, unhealthy: 3 };
        // `+` and `-` are answers; a capital after one is the verdict that it brings.
        for script in ["+ +H + -", "- - -U - + +H", "+ - + - + +H", "+ +H - - + - - -U + - + +H", "- - + - - -U"] {
            let mut judge = Judge::default();
            for step in script.split(' ') {
                let expected = match step.get(1..) {
                    Some("H") => Some(true),
                    Some("U") => Some(false),
                    _ => None,
                };
                assert_eq!(judge.observe(step.starts_with('+'), &active), expected, "{script} at {step}");
            }
        }
    }
}
