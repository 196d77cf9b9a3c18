//! Which of many short patterns a value has, in one pass.
//!
//! The automaton of Glushkov (1961): what it needs to know of the bytes before is which positions in the patterns may come
//! next. A match may begin at any byte, so those at which patterns begin need not be remembered: what is left are a few
//! dozen at most, and a new state takes a fraction of a microsecond where the lazy DFA of a general engine, which follows
//! the beginnings of all patterns at each byte, takes ten.
//!
//! Assertions stand for a byte beside the match where they begin or end a pattern (the beginning and the end of the value
//! count as bytes there), and for nothing elsewhere: then more is found than the pattern matches.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use weir_transform::ByteSet;

use super::super::bits::Bits;

/// More positions are not put into one automaton.
const MAX_POSITIONS: usize = 8_192;
/// States that a thread keeps: half a megabyte of transitions if there are up to 64 classes.
const MAX_STATES: usize = 4_096;

/// Transitions that a thread builds at once, and the bytes that it has to search for each more: values may be made to meet
/// new states all the time.
const MAX_BUILT: u64 = 8_192;
const BYTES_PER_BUILT: u64 = 32;

/// Bytes and the two edges of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Symbols {
    bytes: ByteSet,
    begin: bool,
    end: bool,
}

/// The edges as numbers of symbols.
const BEGIN: usize = 256;
const END: usize = 257;
const SYMBOLS: usize = 258;

impl Symbols {
    const EDGES: Self = Self { bytes: ByteSet::EMPTY, begin: true, end: true };

    fn of(bytes: ByteSet) -> Self {
        Self { bytes, ..Self::default() }
    }

    fn contains(&self, symbol: usize) -> bool {
        match symbol {
            BEGIN => self.begin,
            END => self.end,
            byte => self.bytes.contains(byte as u8),
        }
    }
}

/// What word boundaries take for letters.
const WORD: ByteSet =
    ByteSet::range(b'a', b'z').union(&ByteSet::range(b'A', b'Z')).union(&ByteSet::range(b'0', b'9')).with(b'_');

/// The positions of some patterns.
#[derive(Default)]
struct Positions {
    symbols: Vec<Symbols>,
    /// The positions that may come next.
    follow: Vec<Vec<u16>>,
}

/// A part of a pattern.
struct Part {
    is_nullable: bool,
    first: Vec<u16>,
    last: Vec<u16>,
}

/// Whether a part has the pattern's beginning or end.
#[derive(Clone, Copy)]
struct Edges {
    first: bool,
    last: bool,
}

impl Part {
    fn empty() -> Self {
        Self { is_nullable: true, first: Vec::new(), last: Vec::new() }
    }
}

impl Positions {
    fn position(&mut self, symbols: Symbols) -> Option<Part> {
        if self.symbols.len() >= MAX_POSITIONS {
            return None;
        }
        let at = self.symbols.len() as u16;
        self.symbols.push(Symbols { bytes: widened(symbols.bytes), ..symbols });
        self.follow.push(Vec::new());
        Some(Part { is_nullable: false, first: vec![at], last: vec![at] })
    }

    /// `None` if it is too large.
    fn part(&mut self, hir: &Hir, edges: Edges) -> Option<Part> {
        match hir.kind() {
            HirKind::Empty => Some(Part::empty()),
            HirKind::Literal(literal) => {
                let mut all = Part::empty();
                for byte in &literal.0 {
                    let next = self.position(Symbols::of(ByteSet::EMPTY.with(*byte)))?;
                    all = self.joined(all, next);
                }
                Some(all)
            }
            HirKind::Class(class) => self.position(Symbols::of(bytes_of(class)?)),
            HirKind::Look(look) => match look {
                Look::Start | Look::StartLF | Look::StartCRLF if edges.first => {
                    self.position(Symbols { begin: true, ..Symbols::of(line_ends(*look)) })
                }
                Look::End | Look::EndLF | Look::EndCRLF if edges.last => {
                    self.position(Symbols { end: true, ..Symbols::of(line_ends(*look)) })
                }
                _ => Some(Part::empty()),
            },
            HirKind::Capture(capture) => self.part(&capture.sub, edges),
            HirKind::Concat(parts) => self.concat(parts, edges),
            HirKind::Alternation(branches) => {
                let mut all = Part { is_nullable: false, ..Part::empty() };
                for branch in branches {
                    let part = self.part(branch, edges)?;
                    all.is_nullable |= part.is_nullable;
                    all.first.extend(part.first);
                    all.last.extend(part.last);
                }
                Some(all)
            }
            HirKind::Repetition(repetition) => self.repetition(repetition),
        }
    }

    fn joined(&mut self, left: Part, right: Part) -> Part {
        for at in &left.last {
            self.follow[usize::from(*at)].extend(&right.first);
        }
        let mut part = Part { is_nullable: left.is_nullable && right.is_nullable, first: left.first, last: right.last };
        if left.is_nullable {
            part.first.extend(right.first);
        }
        if right.is_nullable {
            part.last.extend(left.last);
        }
        part
    }

    fn concat(&mut self, parts: &[Hir], edges: Edges) -> Option<Part> {
        let is_boundary = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::WordAscii));
        let mut all = Part::empty();
        for (number, part) in parts.iter().enumerate() {
            let here = Edges { first: edges.first && number == 0, last: edges.last && number + 1 == parts.len() };
            let next = self.part(part, here)?;
            all = self.joined(all, next);
        }
        if edges.first
            && parts.first().is_some_and(is_boundary)
            && let Some(beside) = self.beside(&all, &all.first)
        {
            let before = self.position(beside)?;
            all = self.joined(before, all);
        }
        if edges.last
            && parts.last().is_some_and(is_boundary)
            && let Some(beside) = self.beside(&all, &all.last)
        {
            let behind = self.position(beside)?;
            all = self.joined(all, behind);
        }
        Some(all)
    }

    /// What stands on the other side of a word boundary at the edge of a part, if it is known what stands on this one.
    fn beside(&self, part: &Part, positions: &[u16]) -> Option<Symbols> {
        let mut of_each = positions.iter().map(|at| &self.symbols[usize::from(*at)]);
        let is_word = |symbols: &Symbols| {
            let edge = symbols.begin || symbols.end;
            !edge && symbols.bytes.is_subset(&WORD)
        };
        (!part.is_nullable && of_each.all(is_word))
            .then(|| Symbols { bytes: ByteSet::ALL.minus(&WORD), ..Symbols::EDGES })
    }

    fn repetition(&mut self, repetition: &Repetition) -> Option<Part> {
        let inner = Edges { first: false, last: false };
        let mut all = Part::empty();
        for _ in 0..repetition.min.saturating_sub(u32::from(repetition.max.is_none())) {
            let next = self.part(&repetition.sub, inner)?;
            all = self.joined(all, next);
        }
        let Some(max) = repetition.max else {
            let mut any = self.part(&repetition.sub, inner)?;
            for at in &any.last {
                self.follow[usize::from(*at)].extend(&any.first);
            }
            any.is_nullable |= repetition.min == 0;
            return Some(self.joined(all, any));
        };
        for _ in repetition.min..max {
            let mut next = self.part(&repetition.sub, inner)?;
            next.is_nullable = true;
            all = self.joined(all, next);
        }
        Some(all)
    }
}

fn bytes_of(class: &Class) -> Option<ByteSet> {
    let mut set = ByteSet::EMPTY;
    match class {
        Class::Bytes(class) => {
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).for_each(|byte| set.insert(byte));
        }
        // Patterns are compiled without Unicode, so only ASCII classes come as this.
        Class::Unicode(class) if class.is_ascii() => {
            let bytes = class.ranges().iter().flat_map(|range| range.start() as u8..=range.end() as u8);
            bytes.for_each(|byte| set.insert(byte));
        }
        Class::Unicode(_) => return None,
    }
    Some(set)
}

/// With bytes that are not told apart: capitals and small letters, digits, and those that text does not have. So there are
/// fewer classes and states, and hardly more is found.
fn widened(mut bytes: ByteSet) -> ByteSet {
    for letter in b'a'..=b'z' {
        let both = ByteSet::EMPTY.with(letter).with(letter.to_ascii_uppercase());
        if both.intersects(&bytes) {
            bytes = bytes.union(&both);
        }
    }
    for alike in [DIGITS, OTHERS] {
        if alike.intersects(&bytes) {
            bytes = bytes.union(&alike);
        }
    }
    bytes
}

const DIGITS: ByteSet = ByteSet::range(b'0', b'9');
const OTHERS: ByteSet = ByteSet::range(0, 8).union(&ByteSet::range(0x0e, 0x1f)).union(&ByteSet::range(0x7f, 0xff));

/// The bytes beside which a line begins or ends.
fn line_ends(look: Look) -> ByteSet {
    match look {
        Look::StartLF | Look::EndLF => ByteSet::EMPTY.with(b'\n'),
        Look::StartCRLF | Look::EndCRLF => ByteSet::EMPTY.with(b'\n').with(b'\r'),
        _ => ByteSet::EMPTY,
    }
}

/// The automaton of at most 32 patterns.
pub(super) struct PositionAutomaton {
    /// The class of each byte, and of the beginning and the end of a value.
    class_of: [u8; SYMBOLS],
    /// Transitions of each state as a power of two: the number of classes, or somewhat more.
    shift: u32,
    /// Of each class, the positions where patterns begin.
    begin: Vec<Vec<u16>>,
    /// Of each position, the classes that it takes.
    takes: Vec<Bits>,
    follow: Vec<Vec<u16>>,
    /// Of each position, the patterns that end there, a bit each.
    ends: Vec<u32>,
}

/// The states that values have needed so far.
pub(super) struct States {
    /// By state and class, the next one; [`UNKNOWN`], or with [`FOUND`] if patterns end there.
    next: Vec<u16>,
    all: Vec<Arc<State>>,
    /// Transitions built so far, and the bytes that have been searched.
    built: u64,
    searched: u64,
    numbers: HashMap<Arc<State>, u16, foldhash::fast::RandomState>,
}

/// The positions that may come next, besides those at which patterns begin, and the patterns that end in the state.
type State = (Vec<u16>, u32);

const UNKNOWN: u16 = u16::MAX;
const FOUND: u16 = 1 << 15;

impl std::fmt::Debug for PositionAutomaton {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PositionAutomaton").field("positions", &self.follow.len()).finish_non_exhaustive()
    }
}

impl PositionAutomaton {
    /// `None` if it would be too large, or a pattern matches everything.
    pub(super) fn new(patterns: &[&Hir]) -> Option<Self> {
        let mut positions = Positions::default();
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for (number, pattern) in patterns.iter().enumerate() {
            let part = positions.part(pattern, Edges { first: true, last: true })?;
            if part.is_nullable {
                return None;
            }
            begins.extend(part.first);
            ends.resize(positions.symbols.len(), 0u32);
            part.last.iter().for_each(|at| ends[usize::from(*at)] |= 1 << number);
        }
        for follow in &mut positions.follow {
            follow.sort_unstable();
            follow.dedup();
        }
        let (class_of, members) = classes(&positions.symbols)?;
        let takes = |symbols: &Symbols| {
            let mut classes = Bits::new(members.len());
            members
                .iter()
                .enumerate()
                .filter(|(_, member)| symbols.contains(**member))
                .for_each(|(at, _)| classes.insert(at));
            classes
        };
        let takes: Vec<Bits> = positions.symbols.iter().map(takes).collect();
        let of_class = |class| begins.iter().copied().filter(|at| takes[usize::from(*at)].contains(class)).collect();
        Some(Self {
            class_of,
            shift: members.len().next_power_of_two().trailing_zeros(),
            begin: (0..members.len()).map(of_class).collect(),
            takes,
            follow: positions.follow,
            ends,
        })
    }

    pub(super) fn states(&self) -> States {
        let mut states =
            States { next: Vec::new(), all: Vec::new(), built: 0, searched: 0, numbers: HashMap::default() };
        states.clear(self);
        states
    }

    /// The patterns that a value has, a bit each; `None` if a transition is not known and `may_build` does not allow one.
    #[inline]
    pub(super) fn search(&self, value: &[u8], states: &mut States, mut may_build: impl FnMut() -> bool) -> Option<u32> {
        let (mut state, mut found) = (0u16, 0);
        states.searched += value.len() as u64;
        let mut step = |symbol: usize| {
            let class = self.class_of[symbol];
            let mut next = states.next[usize::from(state) << self.shift | usize::from(class)];
            if next >= FOUND {
                if next == UNKNOWN {
                    let is_due = states.built < MAX_BUILT + states.searched / BYTES_PER_BUILT;
                    next = (is_due && may_build()).then(|| states.build(self, state, class))??;
                }
                if next >= FOUND {
                    next ^= FOUND;
                    found |= states.all[usize::from(next)].1;
                }
            }
            state = next;
            Some(())
        };
        step(BEGIN)?;
        for byte in value {
            step(usize::from(*byte))?;
        }
        step(END)?;
        Some(found)
    }
}

impl States {
    fn clear(&mut self, automaton: &PositionAutomaton) {
        self.next.clear();
        self.all.clear();
        self.numbers.clear();
        self.add(automaton, (Vec::new(), 0));
    }

    fn add(&mut self, automaton: &PositionAutomaton, state: State) -> u16 {
        let number = self.all.len() as u16;
        self.next.resize(self.next.len() + (1 << automaton.shift), UNKNOWN);
        let state = Arc::new(state);
        self.numbers.insert(Arc::clone(&state), number);
        self.all.push(state);
        number
    }

    /// The state after one; `None` if there is no room for it, and then there is none that is known.
    #[cold]
    fn build(&mut self, automaton: &PositionAutomaton, from: u16, class: u8) -> Option<u16> {
        self.built += 1;
        let waiting = self.all[usize::from(from)].0.iter();
        let taken = waiting.filter(|at| automaton.takes[usize::from(**at)].contains(usize::from(class)));
        let (mut after, mut found) = (Vec::new(), 0);
        for at in taken.chain(&automaton.begin[usize::from(class)]) {
            after.extend(&automaton.follow[usize::from(*at)]);
            found |= automaton.ends[usize::from(*at)];
        }
        after.sort_unstable();
        after.dedup();
        let state = (after, found);
        let number = match self.numbers.get(&state) {
            Some(number) => *number,
            None if self.all.len() >= MAX_STATES => {
                self.clear(automaton);
                return None;
            }
            None => self.add(automaton, state),
        };
        let next = if found == 0 { number } else { number | FOUND };
        self.next[usize::from(from) << automaton.shift | usize::from(class)] = next;
        Some(next)
    }
}

/// Symbols that no position tells apart: the class of each, and a member of each class; `None` if there are too many.
fn classes(positions: &[Symbols]) -> Option<([u8; SYMBOLS], Vec<usize>)> {
    let mut sets: Vec<Symbols> = positions.to_vec();
    sets.sort_unstable_by_key(|symbols| (*symbols.bytes.words(), symbols.begin, symbols.end));
    sets.dedup();
    let mut known: HashMap<Vec<bool>, u8> = HashMap::new();
    let mut members = Vec::new();
    let mut class_of = [0; SYMBOLS];
    for (symbol, class) in class_of.iter_mut().enumerate() {
        let signature = sets.iter().map(|set| set.contains(symbol)).collect();
        *class = *known.entry(signature).or_insert_with(|| {
            members.push(symbol);
            (members.len() - 1) as u8
        });
    }
    (members.len() <= 256).then_some((class_of, members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::meta;
    use regex_automata::util::syntax;

    const PATTERNS: [&str; 12] = [
        "ab+c?",
        r"(?m)^x",
        r"^x",
        r"x$",
        r"\ba",
        r"b\b",
        r"\b(?:a|x)+\b",
        "(?:a|bx){2,3} ",
        "[^=]b*'",
        r"\s*=\s*'",
        "x{2,}",
        r"(?m)=$",
    ];

    proptest::proptest! {
        #[test]
        fn finds_what_regexes_find(value in proptest::collection::vec(proptest::sample::select(b"abcx =\n'\xff".to_vec()), 0..30)) {
            let syntax = syntax::Config::new().utf8(false).unicode(false);
            let hirs = PATTERNS.map(|pattern| syntax::parse_with(pattern, &syntax).unwrap());
            let automaton = PositionAutomaton::new(&hirs.iter().collect::<Vec<_>>()).unwrap();
            let found = automaton.search(&value, &mut automaton.states(), || true).unwrap();
            for (number, (pattern, hir)) in PATTERNS.iter().zip(&hirs).enumerate() {
                let regex = meta::Builder::new().configure(meta::Config::new().utf8_empty(false)).build_from_hir(hir).unwrap();
                assert_eq!(found >> number & 1 != 0, regex.is_match(&value), "{pattern} in {:?}", value.escape_ascii());
            }
        }
    }

    #[test]
    fn builds_no_more_than_it_may_and_begins_anew_when_it_is_full() {
        let syntax = syntax::Config::new().utf8(false).unicode(false);
        let hir = syntax::parse_with("[ab]{1,20}c|a.{13}b", &syntax).unwrap();
        let automaton = PositionAutomaton::new(&[&hir]).unwrap();
        let mut states = automaton.states();
        assert_eq!(automaton.search(b"aabac", &mut states, || false), None);
        assert_eq!(automaton.search(b"aabac", &mut states, || true), Some(1));
        assert_eq!(automaton.search(b"aabac", &mut states, || false), Some(1), "all is known");
        let mut seed = 1u64;
        let letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if seed >> 63 == 1 { b'a' } else { b'b' }
        };
        let value: Vec<u8> = std::iter::repeat_with(letter).take(50_000).collect();
        assert_eq!(automaton.search(&value, &mut states, || true), None, "too many transitions");
        assert!(states.built <= MAX_BUILT + value.len() as u64 / BYTES_PER_BUILT);
        let full = |states: &States| states.all.len() == MAX_STATES;
        states.searched += 10_000_000;
        assert_eq!(automaton.search(&value, &mut states, || true), None, "too many states");
        assert!(!full(&states));
        assert_eq!(automaton.search(b"aabac", &mut states, || true), Some(1));
    }
}
