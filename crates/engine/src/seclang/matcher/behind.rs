//! A look-behind at the beginning: each place where the rest matches is a candidate, and its past is looked at there.

use regex_syntax::hir::Hir;
use weir_rules::seclang::pattern;

use super::super::automaton::Automaton;
use super::super::scratch::Scratch;
use super::{Groups, kept};

/// Bytes that the rest of the pattern may match, so that each candidate costs a bounded time.
const MAX_LENGTH: usize = 256;

pub(super) struct Behind {
    condition: pattern::Behind,
    /// The pattern where the condition does not hold. Where it does, it is the matcher's linear one, which matches at
    /// every place where this does.
    otherwise: Automaton,
}

pub(super) fn is_short(hir: &Hir) -> bool {
    hir.properties().maximum_len().is_some_and(|length| length <= MAX_LENGTH)
}

impl Behind {
    pub(super) fn new(condition: &pattern::Behind, otherwise: Automaton) -> Self {
        Self { condition: condition.clone(), otherwise }
    }

    /// Where the first match begins, at an offset or behind it, and the pattern that matches there.
    pub(super) fn begin<'m>(
        &'m self,
        linear: &'m Automaton,
        value: &[u8],
        from: usize,
        scratch: Scratch<'_>,
    ) -> Option<(usize, &'m Automaton)> {
        let mut at = from;
        loop {
            let start = linear.find_short(value, at, scratch)?.start;
            if self.condition.holds(&value[..start]) {
                return Some((start, linear));
            }
            if self.otherwise.is_match_at(value, start, MAX_LENGTH, scratch) {
                return Some((start, &self.otherwise));
            }
            at = start + 1;
        }
    }

    pub(super) fn groups(&self, linear: &Automaton, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Groups> {
        let (start, automaton) = self.begin(linear, value, from, scratch)?;
        kept(|keep| automaton.groups_at(value, start, scratch, keep))
    }
}
