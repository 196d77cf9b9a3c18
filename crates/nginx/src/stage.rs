//! How far the evaluation of a request has got.
//!
//! One state instead of a flag for each question: a request that rules cannot read completely has been evaluated, and one
//! that is decided is not evaluated any more.

/// A stage of evaluation. Requests go from one to the next and never back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// No rule has been asked.
    #[default]
    New,
    /// Rules have been asked, and more may be.
    Evaluating,
    /// As `Evaluating`, and the error log has reported that rules cannot read the request completely.
    Unreadable,
    /// Everything has been decided without a rule: by the gateway, or after a fault.
    DecidedWithoutRules,
    /// Everything has been decided, after rules have been asked.
    Decided,
}

impl Stage {
    /// Rules are asked now.
    pub fn evaluate(&mut self) {
        *self = match *self {
            Self::New => Self::Evaluating,
            Self::DecidedWithoutRules => Self::Decided,
            Self::Evaluating | Self::Unreadable | Self::Decided => return,
        };
    }

    /// Everything has been decided.
    pub fn decide(&mut self) {
        *self = match *self {
            Self::New => Self::DecidedWithoutRules,
            Self::Evaluating | Self::Unreadable => Self::Decided,
            Self::DecidedWithoutRules | Self::Decided => return,
        };
    }

    /// Rules cannot read the request completely. True the first time, and when they have just decided.
    pub fn unreadable(&mut self) -> bool {
        match *self {
            Self::New | Self::Evaluating => *self = Self::Unreadable,
            Self::Unreadable => return false,
            Self::DecidedWithoutRules | Self::Decided => {}
        }
        true
    }

    /// Whether any rules have been asked.
    pub fn is_evaluated(self) -> bool {
        match self {
            Self::New | Self::DecidedWithoutRules => false,
            Self::Evaluating | Self::Unreadable | Self::Decided => true,
        }
    }

    /// Whether everything has been decided: nothing is evaluated any more.
    pub fn is_decided(self) -> bool {
        match self {
            Self::New | Self::Evaluating | Self::Unreadable => false,
            Self::DecidedWithoutRules | Self::Decided => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_takes_back_what_has_happened() {
        let all = [Stage::New, Stage::Evaluating, Stage::Unreadable, Stage::DecidedWithoutRules, Stage::Decided];
        let steps: [fn(&mut Stage); 3] = [Stage::evaluate, Stage::decide, |stage| {
            stage.unreadable();
        }];
        for before in all {
            for step in steps {
                let mut after = before;
                step(&mut after);
                assert!(after.is_evaluated() >= before.is_evaluated(), "{before:?} {after:?}");
                assert!(after.is_decided() >= before.is_decided(), "{before:?} {after:?}");
            }
        }
        let mut stage = Stage::New;
        stage.evaluate();
        assert!(stage.unreadable() && !stage.unreadable(), "told once");
        stage.decide();
        assert!(stage.unreadable() && stage == Stage::Decided);
    }
}
