//! Routes that are never chosen, because another route of their site takes every request that they match.
//!
//! Routes are compared exactly, not by the look of their paths: each path becomes an automaton, and a walk through the
//! product of two automata finds a path that only one of them takes, or shows that there is none. What an analysis
//! would take too long for is not found: automata, and the states of a walk, have bounds.
//!
//! Only paths of printable UTF-8 count. `.` does not match a line break, so `/.*` would otherwise never be said to take
//! all that the prefix `/` takes.

use std::{
    cell::{Cell, OnceCell},
    collections::HashSet,
};

use regex_automata::{
    Anchored, MatchKind,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson,
    util::{primitives::StateID, start},
};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Repetition};

use crate::{
    path::{End, Path, Rank, Segment},
    pattern,
    resource::{Condition, PathMatch, Route, Test},
};

/// The largest automaton of one path, in bytes.
const MAX_AUTOMATON: usize = 256 << 10;
/// The largest automaton before it is made deterministic, in bytes.
const MAX_NFA: usize = 64 << 10;
/// States that one walk visits at most.
const MAX_STATES: usize = 4096;
/// The paths that count.
const PRINTABLE: &str = r"/[^\x00-\x1f\x7f]*";

type Dfa = dense::DFA<Vec<u32>>;

/// How many automata may still be made; each takes up to a millisecond, most some 20 µs.
pub type Budget = Cell<usize>;

/// A route in comparison with others.
pub struct Candidate {
    route: Route,
    rank: Rank,
    /// Not of expressions.
    path: Option<Path>,
    language: OnceCell<Option<Dfa>>,
}

impl Candidate {
    /// `None` if the path is not valid.
    #[must_use]
    pub fn new(route: Route) -> Option<Self> {
        let path = match &route.matches.path {
            PathMatch::Regex(_) => None,
            path => Some(Path::parse_plain(path).ok()?),
        };
        let rank = Rank::new(&route, path.as_ref());
        Some(Self { route, rank, path, language: OnceCell::new() })
    }

    /// The route.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Whether no path matches: an expression that does not begin with a slash.
    pub fn is_empty(&self, budget: &Budget) -> bool {
        matches!(self.route.matches.path, PathMatch::Regex(_))
            && self.language(budget).is_some_and(|own| exists(&[(own, true)]) == Some(false))
    }

    /// Whether this route takes every request that `other` matches. False if it takes too long to find out.
    pub fn shadows(&self, other: &Self, budget: &Budget) -> bool {
        self.route.site == other.route.site
            && (self.rank, &self.route.id) < (other.rank, &other.route.id)
            && self.is_implied_by(other)
            && self.may_contain(other)
            && self.walk(other, false, budget) == Some(false)
    }

    /// Whether some path matches both, as far as can be found out.
    pub fn overlaps(&self, other: &Self, budget: &Budget) -> bool {
        self.walk(other, true, budget) == Some(true)
    }

    /// Why this route goes before one that it shadows.
    #[must_use]
    pub fn reason(&self, other: &Self) -> String {
        let kind = |route: &Route| match &route.matches.path {
            PathMatch::Exact(_) => "an exact path",
            PathMatch::Template(_) => "a template",
            PathMatch::Regex(_) => "a regular expression",
            PathMatch::Prefix(_) => "a prefix",
        };
        let (own, others) = (kind(&self.route), kind(&other.route));
        match (self.route.priority, other.route.priority) {
            (high, low) if high > low => format!("its priority is {high}, not {low}"),
            _ if own != others => format!("{own} goes before {others}"),
            _ => format!("of two paths of the same kind the longer goes first ({own})"),
        }
    }

    /// Whether conditions that `other` has make each of this route's conditions hold.
    fn is_implied_by(&self, other: &Self) -> bool {
        let (own, others) = (&self.route.matches, &other.route.matches);
        let methods = own.methods.is_empty()
            || (!others.methods.is_empty() && others.methods.iter().all(|method| own.methods.contains(method)));
        methods
            && [(&own.headers, &others.headers), (&own.query, &others.query), (&own.cookies, &others.cookies)]
                .iter()
                .all(|(weak, strong)| weak.iter().all(|weak| strong.iter().any(|strong| implies(strong, weak))))
    }

    /// A comparison that is cheap and rules most pairs out: of paths made of segments.
    fn may_contain(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (&self.path, &other.path) else { return true };
        let fits = |(n, segment): (usize, &Segment)| match (segment, others.segments.get(n)) {
            (_, None) => false,
            (Segment::Param(_), Some(_)) => true,
            (literal, Some(theirs)) => literal == theirs,
        };
        own.segments.iter().enumerate().all(fits)
    }

    /// Whether `other` matches a path that this route matches (`shared`), or does not match.
    fn walk(&self, other: &Self, shared: bool, budget: &Budget) -> Option<bool> {
        exists(&[(other.language(budget)?, true), (self.language(budget)?, shared)])
    }

    fn language(&self, budget: &Budget) -> Option<&Dfa> {
        let make = || {
            budget.set(budget.get().checked_sub(1)?);
            match (&self.path, &self.route.matches.path) {
                (Some(path), _) => automaton(&expression(path)),
                (None, PathMatch::Regex(text)) => automaton(&pattern::parse(text).ok()?),
                (None, _) => None,
            }
        };
        self.language.get_or_init(make).as_ref()
    }
}

/// Whether a value that fulfils one condition fulfils the other.
fn implies(strong: &Condition, weak: &Condition) -> bool {
    strong.name == weak.name
        && (strong.test == weak.test
            || match (&strong.test, &weak.test) {
                (Test::Present(false), _) => false,
                (_, Test::Present(present)) => *present,
                (Test::Is(value), Test::OneOf(values)) => values.contains(value),
                (Test::OneOf(some), Test::OneOf(values)) => some.iter().all(|value| values.contains(value)),
                _ => false,
            })
}

/// A path of segments as an expression.
fn expression(path: &Path) -> Hir {
    let literal = |text: &[u8]| Hir::literal(text);
    let anything = |class: ClassBytes, min| {
        let sub = Box::new(Hir::class(Class::Bytes(class)));
        Hir::repetition(Repetition { min, max: None, greedy: true, sub })
    };
    let mut no_slash = ClassBytes::new([ClassBytesRange::new(b'/', b'/')]);
    no_slash.negate();
    let any = ClassBytes::new([ClassBytesRange::new(0, 255)]);
    let mut parts = Vec::new();
    for segment in &path.segments {
        parts.push(literal(b"/"));
        parts.push(match segment {
            Segment::Literal(text) => literal(text),
            Segment::Param(_) => anything(no_slash.clone(), 1),
        });
    }
    let below = Hir::concat(vec![literal(b"/"), anything(any, 0)]);
    match &path.end {
        End::Here => {}
        End::Rest(_) => parts.push(below),
        End::Below => {
            parts.push(Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(below) }));
        }
        End::Regex(_) => unreachable!("a path of segments"),
    }
    Hir::concat(parts)
}

/// The automaton for whole texts that match; `None` if it is too large.
fn automaton(hir: &Hir) -> Option<Dfa> {
    let nfa = thompson::Compiler::new()
        .configure(thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_NFA)))
        .build_from_hir(&pattern::whole(hir))
        .ok()?;
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Anchored)
        .accelerate(false)
        .dfa_size_limit(Some(MAX_AUTOMATON))
        .determinize_size_limit(Some(MAX_AUTOMATON));
    dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()
}

/// Whether there is a printable path that is in each language, or not in it, as wanted; `None` past the bound.
fn exists(languages: &[(&Dfa, bool)]) -> Option<bool> {
    thread_local! {
        static ALL: Option<Dfa> = pattern::parse(PRINTABLE).ok().and_then(|hir| automaton(&hir));
    }
    ALL.with(|all| {
        let all = [(all.as_ref()?, true)];
        let languages: Vec<(&Dfa, bool)> = all.iter().chain(languages).copied().collect();
        let begin = start::Config::new().anchored(Anchored::Yes);
        let first = languages.iter().map(|(dfa, _)| dfa.start_state(&begin).ok()).collect::<Option<Vec<StateID>>>()?;
        let bytes = representatives(&languages);
        let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
        while let Some(states) = open.pop() {
            let of = || languages.iter().zip(&states);
            if of().all(|((dfa, wanted), state)| dfa.is_match_state(dfa.next_eoi_state(*state)) == *wanted) {
                return Some(true);
            }
            for byte in &bytes {
                let next: Vec<StateID> = of().map(|((dfa, _), state)| dfa.next_state(*state, *byte)).collect();
                let is_over =
                    languages.iter().zip(&next).any(|((dfa, wanted), state)| *wanted && dfa.is_dead_state(*state));
                if !is_over && seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > MAX_STATES {
                return None;
            }
        }
        Some(false)
    })
}

/// One byte of each class that no automaton tells apart.
fn representatives(languages: &[(&Dfa, bool)]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let class = |byte: u8| languages.iter().map(|(dfa, _)| dfa.byte_classes().get(byte)).collect::<Vec<u8>>();
    (0..=u8::MAX).filter(|byte| seen.insert(class(*byte))).collect()
}

#[cfg(test)]
mod tests;
