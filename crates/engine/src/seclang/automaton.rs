//! A pattern that needs no backtracking, matched in bounded time.
//!
//! A lazily built DFA reads most values at a nanosecond per byte. A value made for it meets new states all the time, and
//! building each takes microseconds. `regex_automata::meta` then goes on with a simulation of the NFA, whatever that
//! takes; here its price is charged first, and the search is given up where it is not affordable. For the same reason
//! groups are looked for within the match only, and the memory of a DFA is small: an attacker could fill it for every
//! pattern of a rule set.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::hybrid::dfa::{Builder, Cache, DFA};
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input, MatchKind, PatternID};
use regex_syntax::hir::Hir;

use super::scratch::Scratch;

/// Bytes of automaton that one pattern may take.
pub(crate) const MAX_PATTERN_BYTES: usize = 8 << 20;
/// Bytes of states that each DFA of a pattern may keep in a thread.
const CACHE_BYTES: usize = 384 << 10;
/// A DFA whose memory has been full is given up if it needs a new state more often than once in so many bytes.
const BYTES_PER_STATE: usize = 48;

/// Units of work for a search, and for each byte that a DFA reads.
pub(crate) const SEARCH: u64 = 180;
const DFA_BYTE: u64 = 1;
/// Units for each byte that the simulation reads, at least, and for each state of the NFA.
const NFA_BYTE: u64 = 20;
const NFA_STATE: f64 = 0.1;

/// The pattern.
pub(crate) struct Automaton {
    forward: DFA,
    /// From the end of a match to its beginning; without it the simulation finds that.
    reverse: Option<DFA>,
    simulation: PikeVM,
    caches: Pool<Caches, Box<dyn Fn() -> Caches + Send + Sync + UnwindSafe + RefUnwindSafe>>,
    /// Units for each byte that the simulation reads.
    simulated_byte: u64,
    groups: usize,
}

/// What a search changes.
struct Caches {
    forward: Cache,
    reverse: Option<Cache>,
    /// Made when it is needed.
    simulation: Option<pikevm::Cache>,
    slots: Vec<Option<NonMaxUsize>>,
}

impl Automaton {
    pub(crate) fn new(hir: &Hir) -> Result<Self, String> {
        let compile = |config: thompson::Config| {
            let config = config.utf8(false).nfa_size_limit(Some(MAX_PATTERN_BYTES)).shrink(false);
            thompson::Compiler::new().configure(config).build_from_hir(hir).map_err(describe)
        };
        let reverse = compile(thompson::Config::new().which_captures(WhichCaptures::None).reverse(true))?;
        Self::of(compile(thompson::Config::new())?, Some(lazy(&reverse, MatchKind::All)?))
    }

    /// Of an NFA that comes from no pattern.
    pub(crate) fn of_nfa(nfa: NFA) -> Result<Self, String> {
        Self::of(nfa, None)
    }

    fn of(nfa: NFA, reverse: Option<DFA>) -> Result<Self, String> {
        let forward = lazy(&nfa, MatchKind::LeftmostFirst)?;
        let groups = nfa.group_info().group_len(PatternID::ZERO);
        let simulated_byte = NFA_BYTE + (nfa.states().len() as f64 * NFA_STATE) as u64;
        let kept = (forward.clone(), reverse.clone());
        let create = move || Caches {
            forward: kept.0.create_cache(),
            reverse: kept.1.as_ref().map(DFA::create_cache),
            simulation: None,
            slots: vec![None; 2 * groups],
        };
        let simulation = PikeVM::new_from_nfa(nfa).map_err(describe)?;
        Ok(Self { forward, reverse, simulation, caches: Pool::new(Box::new(create)), simulated_byte, groups })
    }

    /// Whether there is a match; `false` too where there is no work left to tell.
    pub(crate) fn is_match(&self, value: &[u8], scratch: Scratch<'_>) -> bool {
        self.is_match_in(Input::new(value), value.len(), scratch)
    }

    /// Whether there is a match of at most so many bytes that begins exactly there.
    pub(crate) fn is_match_at(&self, value: &[u8], start: usize, length: usize, scratch: Scratch<'_>) -> bool {
        self.is_match_in(Input::new(value).range(start..).anchored(Anchored::Yes), length, scratch)
    }

    fn is_match_in(&self, input: Input<'_>, length: usize, scratch: Scratch<'_>) -> bool {
        if !scratch.work.charge(SEARCH + DFA_BYTE * length as u64) {
            return false;
        }
        let mut caches = self.caches.get();
        match self.forward.try_search_fwd(&mut caches.forward, &input.clone().earliest(true)) {
            Ok(found) => found.is_some(),
            Err(_) => self.simulate(&mut caches, input, scratch, false).is_some(),
        }
    }

    /// The first match that begins at an offset or behind it.
    pub(crate) fn find(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Range<usize>> {
        self.find_in(Input::new(value).range(from..), scratch)
    }

    /// As [`Self::find`], of a pattern whose matches are short: charged up to where it ends.
    pub(crate) fn find_short(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Range<usize>> {
        let found = self.find_uncharged(Input::new(value).range(from..), scratch);
        let end = found.as_ref().map_or(value.len(), |found| found.end);
        found.filter(|_| scratch.work.charge(SEARCH + DFA_BYTE * (end - from) as u64))
    }

    fn find_in(&self, input: Input<'_>, scratch: Scratch<'_>) -> Option<Range<usize>> {
        let is_affordable = scratch.work.charge(SEARCH + 2 * DFA_BYTE * input.get_span().len() as u64);
        is_affordable.then(|| self.find_uncharged(input, scratch))?
    }

    fn find_uncharged(&self, input: Input<'_>, scratch: Scratch<'_>) -> Option<Range<usize>> {
        let from = input.start();
        let mut caches = self.caches.get();
        let within = match self.forward.try_search_fwd(&mut caches.forward, &input) {
            Ok(found) => {
                let end = found?.offset();
                if end == from || input.get_anchored().is_anchored() {
                    return Some(from..end);
                }
                let back = Input::new(input.haystack()).range(from..end).anchored(Anchored::Yes);
                if let (Some(reverse), Some(cache)) = (&self.reverse, &mut caches.reverse)
                    && let Ok(Some(start)) = reverse.try_search_rev(cache, &back)
                {
                    return Some(start.offset()..end);
                }
                Input::new(input.haystack()).range(from..end)
            }
            Err(_) => input,
        };
        self.simulate(&mut caches, within, scratch, false)?;
        group(&caches.slots, 0)
    }

    /// Calls `each` with the number and place of every group of the first match that has one.
    pub(crate) fn groups(
        &self,
        value: &[u8],
        scratch: Scratch<'_>,
        each: impl FnMut(usize, Range<usize>),
    ) -> Option<()> {
        self.groups_in(Input::new(value), scratch, each)
    }

    /// As [`Self::groups`], of a match that begins exactly there.
    pub(crate) fn groups_at(
        &self,
        value: &[u8],
        start: usize,
        scratch: Scratch<'_>,
        each: impl FnMut(usize, Range<usize>),
    ) -> Option<()> {
        self.groups_in(Input::new(value).range(start..).anchored(Anchored::Yes), scratch, each)
    }

    fn groups_in(
        &self,
        input: Input<'_>,
        scratch: Scratch<'_>,
        mut each: impl FnMut(usize, Range<usize>),
    ) -> Option<()> {
        let value = input.haystack();
        let whole = self.find_in(input, scratch)?; // most candidates do not match
        if self.groups == 1 {
            each(0, whole);
            return Some(());
        }
        self.captured(Input::new(value).range(whole).anchored(Anchored::Yes), scratch, each)
    }

    /// Where the first match that begins at an offset or behind it ends; the end of the value if only the simulation can
    /// tell.
    pub(crate) fn end(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<usize> {
        let input = Input::new(value).range(from..);
        if !scratch.work.charge(SEARCH + DFA_BYTE * input.get_span().len() as u64) {
            return None;
        }
        match self.forward.try_search_fwd(&mut self.caches.get().forward, &input) {
            Ok(found) => Some(found?.offset()),
            Err(_) => Some(value.len()),
        }
    }

    /// Calls `each` with the groups of the match in a stretch that has one.
    pub(crate) fn captured(
        &self,
        input: Input<'_>,
        scratch: Scratch<'_>,
        mut each: impl FnMut(usize, Range<usize>),
    ) -> Option<()> {
        let mut caches = self.caches.get();
        self.simulate(&mut caches, input, scratch, true)?;
        (0..self.groups).for_each(|number| {
            if let Some(range) = group(&caches.slots, number) {
                each(number, range);
            }
        });
        Some(())
    }

    /// Simulates the NFA; with `is_within`, in a stretch that is known to match, where few states are alive.
    fn simulate(&self, caches: &mut Caches, input: Input<'_>, scratch: Scratch<'_>, is_within: bool) -> Option<()> {
        let byte = if is_within { NFA_BYTE + self.simulated_byte / 16 } else { self.simulated_byte };
        if !scratch.work.charge(SEARCH + byte * input.get_span().len() as u64) {
            return None;
        }
        let cache = caches.simulation.get_or_insert_with(|| self.simulation.create_cache());
        self.simulation.search_slots(cache, &input, &mut caches.slots).map(|_| ())
    }
}

/// Without a prefilter: the filter has found the literals already, and most values are short.
fn lazy(nfa: &NFA, kind: MatchKind) -> Result<DFA, String> {
    let config = DFA::config()
        .match_kind(kind)
        .cache_capacity(CACHE_BYTES)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(1))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE));
    Builder::new().configure(config).build_from_nfa(nfa.clone()).map_err(describe)
}

fn group(slots: &[Option<NonMaxUsize>], number: usize) -> Option<Range<usize>> {
    Some(slots[2 * number]?.get()..slots[2 * number + 1]?.get())
}

pub(crate) fn describe(error: impl std::fmt::Display) -> String {
    format!("the pattern does not compile: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpalo::Bump;
    use regex_automata::meta;
    use regex_automata::util::syntax;
    use weir_http::Work;

    fn hir(pattern: &str) -> Hir {
        syntax::parse_with(pattern, &syntax::Config::new().utf8(false).unicode(false)).unwrap()
    }

    proptest::proptest! {
        #[test]
        fn finds_what_a_regex_finds(value in proptest::collection::vec(proptest::sample::select(b"ab \n=xY\xff".to_vec()), 0..40)) {
            let (arena, work) = (Bump::new(), Work::unbounded());
            let scratch = Scratch { arena: &arena, work: &work };
            for pattern in ["a+b", r"(?m)^a|b$", r"\bx(a*)(b|=)?", "(a|b)*?=(Y)?", "", r"(?i)y\s*", r"x??a", "[^a]*b"] {
                let regex = meta::Regex::builder().syntax(syntax::Config::new().utf8(false).unicode(false))
                    .configure(meta::Regex::config().utf8_empty(false)).build(pattern).unwrap();
                let automaton = Automaton::new(&hir(pattern)).unwrap();
                assert_eq!(automaton.is_match(&value, scratch), regex.is_match(&value));
                let found = regex.find(&value).map(|found| found.range());
                assert_eq!(automaton.find(&value, 0, scratch), found, "{pattern}");
                let mut captures = regex.create_captures();
                regex.captures(&value, &mut captures);
                let expected: Vec<_> = captures.iter().enumerate().filter_map(|(at, span)| Some((at, span?.range()))).collect();
                let mut groups = Vec::new();
                automaton.groups(&value, scratch, |number, range| groups.push((number, range)));
                assert_eq!(groups, if captures.is_match() { expected } else { Vec::new() }, "{pattern}");
            }
        }
    }

    #[test]
    fn a_value_that_defeats_the_dfa_is_charged_before_it_is_simulated() {
        // A state for each set of the last 16 positions of an `a`.
        let automaton = Automaton::new(&hir("a.{16}x[^x]{3}y")).unwrap();
        let mut seed = 1u64;
        let letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if seed >> 63 == 1 { b'a' } else { b'b' }
        };
        let value: Vec<u8> = std::iter::repeat_with(letter).take(300_000).collect();
        let arena = Bump::new();
        let (few, many) = (Work::default(), Work::unbounded());
        assert!(!automaton.is_match(&value, Scratch { arena: &arena, work: &few }) && few.take_refusal());
        assert!(!automaton.is_match(&value, Scratch { arena: &arena, work: &many }) && !many.take_refusal());
        assert!(many.spent() > 20 * value.len() as u64, "the simulation was charged");
    }
}
