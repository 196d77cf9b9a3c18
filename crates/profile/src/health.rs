//! The completeness of a profile, in words: the line shown with every graph and table.

use crate::Health;
use crate::amount::{grouped, share};

/// The assessment of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactLevel {
    /// Neither good nor bad.
    Plain,
    /// As it should be.
    Good,
    /// Relevant if figures are small.
    Warn,
    /// Figures may mislead.
    Bad,
}

impl FactLevel {
    /// The name, used as a class in the page's style sheet.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    /// For a part that should be zero: up to 1 % is good, up to 5 % a warning.
    fn of_loss(part: u64, whole: u64) -> Self {
        match part.saturating_mul(100) {
            0 => Self::Good,
            hundredfold if hundredfold <= whole => Self::Good,
            hundredfold if hundredfold <= whole.saturating_mul(5) => Self::Warn,
            _ => Self::Bad,
        }
    }
}

/// One fact: `unwound to the root`, `99.52 %`, good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthFact {
    /// The subject.
    pub label: &'static str,
    /// The value.
    pub value: String,
    /// The assessment.
    pub level: FactLevel,
}

impl Health {
    /// All known facts. Imported profiles, whose health is unknown, have none.
    #[must_use]
    pub fn facts(&self) -> Vec<HealthFact> {
        let fact = |label, value, level| HealthFact { label, value, level };
        let mut facts = Vec::new();
        if *self == Self::default() {
            return facts;
        }
        facts.push(fact("samples", grouped(self.samples), FactLevel::Plain));
        let taken = self.samples.saturating_add(self.lost);
        facts.push(fact("lost", grouped(self.lost), FactLevel::of_loss(self.lost, taken)));
        let stacks = self.complete.saturating_add(self.truncated).saturating_add(self.failed);
        if stacks > 0 {
            let broken = self.truncated.saturating_add(self.failed);
            facts.push(fact("unwound to the root", share(self.complete, stacks), FactLevel::of_loss(broken, stacks)));
            facts.push(fact("cut", grouped(self.truncated), FactLevel::of_loss(self.truncated, stacks)));
            facts.push(fact("failed", grouped(self.failed), FactLevel::of_loss(self.failed, stacks)));
        }
        if self.lua > 0 {
            let level = FactLevel::of_loss(self.lua.saturating_sub(self.lua_read), self.lua);
            facts.push(fact("Lua stacks read", format!("{} of {}", grouped(self.lua_read), grouped(self.lua)), level));
        }
        if self.frames > 0 {
            let level = FactLevel::of_loss(self.unknown_frames, self.frames);
            facts.push(fact("frames without a name", share(self.unknown_frames, self.frames), level));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_have_levels() {
        let cases = [
            (0, FactLevel::Good),
            (1, FactLevel::Good),
            (2, FactLevel::Warn),
            (5, FactLevel::Warn),
            (6, FactLevel::Bad),
        ];
        for (lost, want) in cases {
            assert_eq!(FactLevel::of_loss(lost, 100), want, "{lost} of 100");
        }
    }

    #[test]
    fn only_what_is_known_is_said() {
        assert_eq!(Health::default().facts(), []);
        let labels = |health: Health| health.facts().iter().map(|fact| fact.label).collect::<Vec<_>>();
        assert_eq!(labels(Health { samples: 1, ..Health::default() }), ["samples", "lost"]);
        let lua = Health { samples: 9, complete: 9, lua: 4, lua_read: 4, frames: 90, ..Health::default() };
        let all =
            ["samples", "lost", "unwound to the root", "cut", "failed", "Lua stacks read", "frames without a name"];
        assert_eq!(labels(lua), all);
    }
}
