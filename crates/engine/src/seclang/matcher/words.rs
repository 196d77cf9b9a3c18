//! Comparisons of two words, tried at each word of the value.
//!
//! A word is a maximal run of word bytes, and the bytes that may precede it are none, so that one pass finds each word
//! and where its match would begin. The bytes up to the second word are those of an automaton that stops at its first
//! byte. It is required to have one place to stop ([`is_prefix_free`]), and so there is nothing to choose: the match is
//! the first word for which the comparison holds. Since what lies between has a bounded number of words, each byte is
//! passed over a bounded number of times.

use std::collections::HashSet;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};
use weir_rules::seclang::pattern::{self, Set};

use super::super::automaton::SEARCH;
use super::super::scratch::Scratch;
use super::Groups;

/// Bytes that the automaton, and its construction, may take. That of CRS 942130 takes less than 35 kB.
const MAX_BYTES: usize = 1 << 20;

/// Units of work for each byte: those between words are read again for each of them.
const WORDS_BYTE: u64 = 5;

pub(super) struct Words {
    leading: Set,
    caseless: bool,
    /// Its first pattern ends at a word that must equal the first, the second at one that must not.
    between: dense::DFA<Vec<u32>>,
}

impl Words {
    /// `None` if there may be two places where a second word begins, or if the automaton is too large.
    pub(super) fn new(words: &pattern::Words, syntax: syntax::Config) -> Option<Self> {
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .dfa_size_limit(Some(MAX_BYTES))
            .determinize_size_limit(Some(MAX_BYTES));
        let between = dense::Builder::new()
            .configure(config)
            .syntax(syntax)
            .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
            .build_many(&[&words.equal, &words.different])
            .ok()?;
        is_prefix_free(&between)?.then_some(Self { leading: words.leading, caseless: words.caseless, between })
    }

    /// The first match whose beginning is at an offset or behind it: the whole and the first word.
    pub(super) fn groups(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Groups> {
        if !scratch.work.charge(SEARCH + WORDS_BYTE * (value.len() - from) as u64) {
            return None;
        }
        let mut at = from;
        // A word that begins before is not whole.
        if from > 0 && is_word(value[from - 1]) {
            at = word_end(value, from);
        }
        let mut begin = at;
        while let Some(&byte) = value.get(at) {
            if !is_word(byte) {
                at += 1;
                begin = if self.leading.contains(byte) { begin } else { at };
                continue;
            }
            let end = word_end(value, at);
            if let Some(last) = self.compared(value, at, end) {
                let mut groups = Groups::default();
                groups[0] = Some((begin as u32, last as u32));
                groups[1] = Some((at as u32, end as u32));
                return Some(groups);
            }
            (at, begin) = (end, end);
        }
        None
    }

    /// The end of the second word, if the comparison holds.
    fn compared(&self, value: &[u8], start: usize, end: usize) -> Option<usize> {
        let dfa = &self.between;
        let config = start::Config::new().look_behind(Some(value[end - 1])).anchored(Anchored::Yes);
        let mut state = dfa.start_state(&config).ok()?;
        // A match state comes one byte late.
        for at in end..=value.len() {
            state = match value.get(at) {
                Some(byte) => dfa.next_state(state, *byte),
                None => dfa.next_eoi_state(state),
            };
            if dfa.is_match_state(state) {
                let second = at - 1;
                let second_end = word_end(value, second);
                let is_whole = !is_word(value[second - 1]);
                let (first, other) = (&value[start..end], &value[second..second_end]);
                let is_equal =
                    is_whole && if self.caseless { first.eq_ignore_ascii_case(other) } else { first == other };
                let holds = (0..dfa.match_len(state)).any(|index| {
                    let wants_equal = dfa.match_pattern(state, index).as_usize() == 0;
                    wants_equal == is_equal
                });
                return holds.then_some(second_end);
            }
            if dfa.is_dead_state(state) || dfa.is_quit_state(state) {
                return None;
            }
        }
        None
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_end(value: &[u8], from: usize) -> usize {
    value[from..].iter().position(|byte| !is_word(*byte)).map_or(value.len(), |length| from + length)
}

/// Whether no match of the automaton begins with another: no match state is reached from one.
fn is_prefix_free(dfa: &dense::DFA<Vec<u32>>) -> Option<bool> {
    let mut seen = HashSet::<(StateID, bool)>::new();
    // What follows the first word; the byte before is one of a word.
    let config = start::Config::new().look_behind(Some(b'a')).anchored(Anchored::Yes);
    let mut left = vec![(dfa.start_state(&config).ok()?, false)];
    while let Some((state, is_behind)) = left.pop() {
        if !seen.insert((state, is_behind)) {
            continue;
        }
        let is_match = dfa.is_match_state(state);
        if is_match && is_behind {
            return Some(false);
        }
        left.extend((0..=u8::MAX).map(|byte| (dfa.next_state(state, byte), is_behind || is_match)));
        left.push((dfa.next_eoi_state(state), is_behind || is_match));
    }
    Some(true)
}
