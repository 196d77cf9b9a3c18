//! Automata with conditions on the next byte: after a possessive run none of its set, and after a `^` behind a newline
//! any byte at all (PCRE's does not match after a newline that ends the value).
//!
//! A backtracker looks ahead. Here a state is paired with what may come next, and each way to go on keeps what it can
//! ([`Next`]). This is exact for verdict, range and groups, since the order of preference stays, and linear. Where the
//! match would end under such a condition, a group marks its end, and the byte is taken behind the mark.
#![expect(clippy::result_large_err, reason = "errors of the builder, passed on once, at load")]

use std::collections::HashMap;

use regex_automata::Input;
use regex_automata::nfa::thompson::{BuildError, Builder, Compiler, NFA, State, Transition};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::{PatternID, StateID};
use regex_syntax::hir::Hir;
use weir_rules::seclang::pattern::Set;

use super::super::automaton::{Automaton, MAX_PATTERN_BYTES, describe};
use super::super::scratch::Scratch;
use super::{Groups, kept};

/// What [`MARKS`](weir_rules::seclang::pattern::MARKS) and `END_MARK` are parsed to.
const MARK_LOOKS: [Look; 3] = [Look::WordStartAscii, Look::WordEndAscii, Look::WordStartHalfAscii];
const END_LOOK: Look = Look::WordEndHalfAscii;

/// What may come next: a byte of the set, or the end of the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Next {
    bytes: [u64; 4],
    end: bool,
}

impl Next {
    const ANY: Self = Self { bytes: [u64::MAX; 4], end: true };
    const BYTE: Self = Self { end: false, ..Self::ANY };
    const END: Self = Self { bytes: [0; 4], end: true };
    const LINE_END: Self = Self { bytes: [1 << b'\n', 0, 0, 0], end: true };

    fn not(set: &Set) -> Self {
        let word = |at: u8| (0..64).filter(|bit| !set.contains(at * 64 + bit)).map(|bit| 1 << bit).sum();
        Self { bytes: std::array::from_fn(|at| word(at as u8)), end: true }
    }

    fn and(self, other: Self) -> Self {
        Self { bytes: std::array::from_fn(|at| self.bytes[at] & other.bytes[at]), end: self.end && other.end }
    }

    /// The transitions that it leaves of one.
    fn restrict(self, from: Transition, next: StateID, into: &mut Vec<Transition>) {
        if self == Self::ANY {
            return into.push(Transition { next, ..from });
        }
        for byte in (from.start..=from.end).filter(|byte| self.bytes[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1) {
            match into.last_mut() {
                Some(last) if last.next == next && last.end.checked_add(1) == Some(byte) => last.end = byte,
                _ => into.push(Transition { start: byte, end: byte, next }),
            }
        }
    }
}

/// A state of the product.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    state: StateID,
    next: Next,
    /// Behind the end mark.
    has_ended: bool,
}

struct Product<'a> {
    nfa: &'a NFA,
    /// What the marks mean.
    marks: Vec<(Look, Next)>,
    end_group: u32,
    builder: Builder,
    states: HashMap<Pair, StateID>,
    left: Vec<Pair>,
}

impl Product<'_> {
    fn state(&mut self, pair: Pair) -> Result<StateID, BuildError> {
        if let Some(state) = self.states.get(&pair) {
            return Ok(*state);
        }
        let state = self.builder.add_empty()?;
        self.states.insert(pair, state);
        self.left.push(pair);
        Ok(state)
    }

    fn build(mut self) -> Result<NFA, BuildError> {
        let pair = |state| Pair { state, next: Next::ANY, has_ended: false };
        self.builder.start_pattern()?;
        let anchored = self.state(pair(self.nfa.start_anchored()))?;
        let unanchored = self.state(pair(self.nfa.start_unanchored()))?;
        while let Some(pair) = self.left.pop() {
            let expanded = self.expand(pair)?;
            self.builder.patch(self.states[&pair], expanded)?;
        }
        self.builder.finish_pattern(anchored)?;
        self.builder.build(anchored, unanchored)
    }

    fn expand(&mut self, pair: Pair) -> Result<StateID, BuildError> {
        match self.nfa.state(pair.state) {
            State::ByteRange { trans } => self.bytes(pair, std::slice::from_ref(trans)),
            State::Sparse(sparse) => self.bytes(pair, &sparse.transitions),
            State::Dense(dense) => {
                let next = |byte| dense.matches_byte(byte).map(|next| Transition { start: byte, end: byte, next });
                self.bytes(pair, &(0..=u8::MAX).filter_map(next).collect::<Vec<_>>())
            }
            State::Look { look, next } => self.look(*look, Pair { state: *next, ..pair }),
            State::Union { alternates } => self.union(pair, alternates),
            State::BinaryUnion { alt1, alt2 } => self.union(pair, &[*alt1, *alt2]),
            State::Capture { next, group_index, slot, .. } => {
                let next = self.state(Pair { state: *next, ..pair })?;
                match slot.as_usize() % 2 {
                    0 => self.builder.add_capture_start(next, group_index.as_u32(), None),
                    _ => self.builder.add_capture_end(next, group_index.as_u32()),
                }
            }
            State::Fail => self.builder.add_fail(),
            State::Match { .. } => self.end(pair),
        }
    }

    fn bytes(&mut self, pair: Pair, transitions: &[Transition]) -> Result<StateID, BuildError> {
        let mut kept = Vec::new();
        for from in transitions {
            let next = self.state(Pair { state: from.next, next: Next::ANY, ..pair })?;
            pair.next.restrict(*from, next, &mut kept);
        }
        if kept.is_empty() { self.builder.add_fail() } else { self.builder.add_sparse(kept) }
    }

    fn union(&mut self, pair: Pair, alternates: &[StateID]) -> Result<StateID, BuildError> {
        let states = alternates.iter().map(|state| self.state(Pair { state: *state, ..pair }));
        let states = states.collect::<Result<_, _>>()?;
        self.builder.add_union(states)
    }

    fn look(&mut self, look: Look, behind: Pair) -> Result<StateID, BuildError> {
        let under = |condition: Next| Pair { next: behind.next.and(condition), ..behind };
        if look == END_LOOK {
            let next = self.state(Pair { has_ended: true, ..behind })?;
            return self.mark_end(next);
        }
        if let Some((_, condition)) = self.marks.iter().find(|(mark, _)| *mark == look) {
            return self.state(under(*condition));
        }
        match look {
            Look::End => self.asserted(Look::End, under(Next::END)),
            Look::EndLF => self.asserted(Look::EndLF, under(Next::LINE_END)),
            Look::StartLF => {
                let first = self.asserted(Look::Start, behind)?;
                let later = self.asserted(Look::StartLF, under(Next::BYTE))?;
                self.builder.add_union(vec![first, later])
            }
            look => self.asserted(look, behind),
        }
    }

    fn asserted(&mut self, look: Look, pair: Pair) -> Result<StateID, BuildError> {
        let next = self.state(pair)?;
        self.builder.add_look(next, look)
    }

    fn mark_end(&mut self, next: StateID) -> Result<StateID, BuildError> {
        let end = self.builder.add_capture_end(next, self.end_group)?;
        self.builder.add_capture_start(end, self.end_group, None)
    }

    /// A match, if what comes next may.
    fn end(&mut self, pair: Pair) -> Result<StateID, BuildError> {
        let found = self.builder.add_match()?;
        if pair.next == Next::ANY {
            return Ok(found);
        }
        let mut ways = Vec::new();
        if pair.next.end {
            ways.push(self.builder.add_look(found, Look::End)?);
        }
        let mut kept = Vec::new();
        let any = Transition { start: 0, end: u8::MAX, next: found };
        pair.next.restrict(any, found, &mut kept);
        if !kept.is_empty() {
            ways.push(self.builder.add_sparse(kept)?);
        }
        let ways = self.builder.add_union(ways)?;
        if pair.has_ended { Ok(ways) } else { self.mark_end(ways) }
    }
}

/// A pattern with conditions on the next byte.
pub(super) struct Peek {
    automaton: Automaton,
    end_group: usize,
}

impl Peek {
    pub(super) fn new(hir: &Hir, sets: &[Set]) -> Result<Self, String> {
        let config = NFA::config().utf8(false).nfa_size_limit(Some(MAX_PATTERN_BYTES));
        let nfa = Compiler::new().configure(config).build_from_hir(hir).map_err(describe)?;
        let end_group = nfa.group_info().group_len(PatternID::ZERO);
        let mut builder = Builder::new();
        builder.set_size_limit(Some(MAX_PATTERN_BYTES)).map_err(describe)?;
        let marks = MARK_LOOKS.into_iter().zip(sets.iter().map(Next::not)).collect();
        let (states, left, end) = (HashMap::new(), Vec::new(), end_group as u32);
        let product = Product { nfa: &nfa, marks, end_group: end, builder, states, left }.build().map_err(describe)?;
        Ok(Self { automaton: Automaton::of_nfa(product)?, end_group })
    }

    pub(super) fn is_match(&self, value: &[u8], scratch: Scratch<'_>) -> bool {
        self.automaton.is_match(value, scratch)
    }

    /// The first match that begins at an offset or behind it, and its groups.
    pub(super) fn groups(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Groups> {
        let end = self.automaton.end(value, from, scratch)?;
        let mut mark = None;
        let mut groups = kept(|keep| {
            self.automaton.captured(Input::new(value).range(from..end), scratch, |number, range| {
                if number == self.end_group {
                    mark = Some(range.start);
                } else {
                    keep(number, range);
                }
            })
        })?;
        if let (Some(mark), Some((_, end))) = (mark, &mut groups[0]) {
            *end = mark as u32;
        }
        Some(groups)
    }
}
