//! Parts of many patterns, searched for at once.
//!
//! What opens rules in everyday text (`select`, a quote, a slash) is mostly followed by nothing that their patterns ask
//! for. One pass over the value tells for all of them: a pattern of whose part ([`super::super::factor`]) it finds nothing
//! does not match. The parts of a rule set are divided among as few automata as there can be.
//!
//! Their states are built as values need them. A request builds as many as its budget of work has to spare; where that is
//! spent, there is no telling, and the patterns are matched.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use regex_automata::util::pool::Pool;
use regex_syntax::hir::Hir;

use super::super::scratch::Scratch;
use super::positions::{PositionAutomaton, States};

/// Units of work for a search, for each byte, and for a transition that no value has needed before.
const SEARCH: u64 = 100;
const BYTE: u64 = 2;
const NEW: u64 = 500;

/// Parts in one automaton, a bit each of what a search finds.
const MAX_PARTS: usize = u32::BITS as usize;

/// The automata of a rule set.
#[derive(Debug, Default)]
pub(crate) struct Factors {
    groups: Vec<Group>,
    /// By rule: the automaton that has its part, and the bit.
    of_rule: Vec<Option<Place>>,
}

/// One of the automata.
struct Group {
    automaton: Arc<PositionAutomaton>,
    states: Pool<States, Box<dyn Fn() -> States + Send + Sync + UnwindSafe + RefUnwindSafe>>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.automaton.fmt(out)
    }
}

/// Where a rule's part is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) group: u8,
    bit: u8,
}

impl Factors {
    /// Of rules, given as positions among so many, and their parts.
    pub(crate) fn new(parts: &[(usize, &Hir)], rules: usize) -> Self {
        let mut factors = Self { groups: Vec::new(), of_rule: vec![None; rules] };
        let of_each = parts.len().div_ceil(parts.len().div_ceil(MAX_PARTS).max(1)).max(1);
        parts.chunks(of_each).for_each(|parts| factors.add(parts));
        factors
    }

    /// Puts parts into an automaton, or into several if it becomes too large.
    fn add(&mut self, parts: &[(usize, &Hir)]) {
        let Ok(group) = u8::try_from(self.groups.len()) else { return };
        let patterns: Vec<&Hir> = parts.iter().map(|(_, part)| *part).collect();
        match PositionAutomaton::new(&patterns) {
            Some(automaton) => {
                let automaton = Arc::new(automaton);
                let kept = Arc::clone(&automaton);
                self.groups.push(Group { automaton, states: Pool::new(Box::new(move || kept.states())) });
                for (bit, (rule, _)) in parts.iter().enumerate() {
                    self.of_rule[*rule] = Some(Place { group, bit: bit as u8 });
                }
            }
            None if parts.len() > 1 => {
                let (left, right) = parts.split_at(parts.len() / 2);
                self.add(left);
                self.add(right);
            }
            None => {}
        }
    }

    /// Where a rule's part is, if it has one.
    pub(super) fn place(&self, rule: u32) -> Option<Place> {
        self.of_rule.get(rule as usize).copied().flatten()
    }

    /// Which parts of a group occur in the value; all, if there is no telling.
    pub(super) fn search(&self, group: u8, value: &[u8], scratch: Scratch<'_>) -> u32 {
        if !scratch.work.spare(SEARCH + BYTE * value.len() as u64) {
            return u32::MAX;
        }
        let Group { automaton, states } = &self.groups[usize::from(group)];
        automaton.search(value, &mut states.get(), || scratch.work.spare(NEW)).unwrap_or(u32::MAX)
    }
}

impl Place {
    /// Whether the part is among those that a search has found.
    pub(super) fn is_among(self, found: u32) -> bool {
        found >> self.bit & 1 != 0
    }
}
