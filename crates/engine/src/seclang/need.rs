//! What a value needs to have for an operator to match it: conditions that are necessary, cheap
//! to test for all rules at once, and rarely met.
//!
//! Literals come from `literal.rs`. Many patterns of CRS have none that is rare (`on\w+\s*=`), but
//! need bytes of several classes (an `=`, a quote or a space): those are tested against the set of
//! bytes that occur in the value, which is computed once for all rules. DESIGN's measurements have
//! that at 69 µs where running every pattern takes 190; both kinds together do far better.

use regex_syntax::hir::{Class, Hir, HirKind};
use weir_transform::ByteSet;

use super::expand::Text;
use super::operator::Operator;
use crate::literal::{self, Literals, frequency};

/// Necessary conditions on one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Need {
    /// Nothing is known: every value may match.
    Any,
    /// No value matches.
    Never,
    /// One of the literals occurs, folded, and the bytes do.
    Literals(Literals, Bytes),
    /// The bytes occur.
    Bytes(Bytes),
    /// What the SQL detector needs.
    Sqli,
    /// What the XSS detector needs.
    Xss,
}

/// At least one byte of each of these sets occurs, in a value of a length within bounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bytes {
    pub(crate) sets: Vec<ByteSet>,
    pub(crate) min_length: usize,
    /// Longer values do not match.
    pub(crate) max_length: usize,
}

impl Default for Bytes {
    fn default() -> Self {
        Self { sets: Vec::new(), min_length: 0, max_length: usize::MAX }
    }
}

/// Sets kept for one pattern: more hardly refuse more.
const MAX_SETS: usize = 3;
/// Sets that everyday text meets more often than this are not worth a test.
const MAX_FREQUENCY: f64 = 0.2;
/// A set of bytes tells as much as a literal of one, and does not take a line end for a `*`.
const MIN_LITERAL: usize = 2;
/// Literals that do not refuse so much more than the sets of bytes alone are not looked for.
const WORTH_A_SCAN: f64 = 0.7;
/// Bytes of an everyday value, for estimates.
const USUAL_LENGTH: f64 = 24.0;

impl Bytes {
    /// Whether a value of that length in which exactly the bytes of `occurring` occur meets it.
    #[inline]
    pub(crate) fn met(&self, occurring: &ByteSet, length: usize) -> bool {
        (self.min_length..=self.max_length).contains(&length) && self.sets.iter().all(|set| set.intersects(occurring))
    }

    fn likelihood(&self) -> f64 {
        self.sets.iter().map(|set| (of_set(set) * USUAL_LENGTH).min(1.0)).product()
    }
}

fn of_set(set: &ByteSet) -> f64 {
    (0..=255u8).filter(|byte| set.contains(*byte)).map(|byte| frequency(byte | 0x20)).sum()
}

impl Need {
    /// How often an everyday value meets it, roughly.
    pub(crate) fn likelihood(&self) -> f64 {
        match self {
            Self::Any => 1.0,
            Self::Never => 0.0,
            Self::Literals(literals, bytes) => {
                (literal::likelihood(literals) * USUAL_LENGTH).min(1.0) * bytes.likelihood()
            }
            Self::Bytes(bytes) => bytes.likelihood(),
            Self::Sqli | Self::Xss => 0.1,
        }
    }

    /// The needs of an operator.
    pub(crate) fn of(operator: &Operator, negated: bool) -> Self {
        if negated {
            return Self::Any;
        }
        let contains = |text: &Text| match text {
            Text::Plain(text) if !text.is_empty() => Self::Literals(vec![literal::fold(text)], Bytes::default()),
            _ => Self::Any,
        };
        match operator {
            Operator::Never => Self::Never,
            Operator::Rx(matcher) | Operator::RxGlobal(matcher) | Operator::Verify(_, matcher) => matcher.need.clone(),
            Operator::Pm(_, need) => need.as_ref().clone(),
            Operator::Contains(text) | Operator::BeginsWith(text) | Operator::EndsWith(text) => contains(text),
            Operator::StrEq(Text::Plain(text)) if !text.is_empty() => {
                let length = Bytes { min_length: text.len(), max_length: text.len(), ..Bytes::default() };
                Self::Literals(vec![literal::fold(text)], length)
            }
            Operator::Sqli => Self::Sqli,
            Operator::Xss => Self::Xss,
            Operator::ByteRange(allowed) => {
                Self::of_bytes(|byte| allowed[usize::from(byte >> 6)] >> (byte & 63) & 1 == 0)
            }
            Operator::UrlEncoding => Self::of_bytes(|byte| byte == b'%'),
            Operator::Utf8 => Self::of_bytes(|byte| byte >= 0x80),
            _ => Self::Any,
        }
    }

    fn of_bytes(wanted: impl Fn(u8) -> bool) -> Self {
        let mut set = ByteSet::EMPTY;
        (0..=255).filter(|byte| wanted(*byte)).for_each(|byte| set.insert(byte));
        Self::Bytes(Bytes { sets: vec![set], min_length: 1, ..Bytes::default() })
    }

    /// The needs of phrases of which one occurs, in any case.
    pub(crate) fn of_phrases(phrases: &[Vec<u8>]) -> Self {
        let mut folded: Vec<Vec<u8>> = phrases.iter().map(|phrase| literal::fold(phrase)).collect();
        folded.sort_unstable();
        folded.dedup();
        let min_length = phrases.iter().map(Vec::len).min().unwrap_or(0);
        Self::Literals(
            folded,
            Bytes { sets: punctuation(phrases).into_iter().collect(), min_length, ..Bytes::default() },
        )
    }

    /// The needs of a pattern.
    pub(crate) fn of_pattern(hir: &Hir) -> Self {
        let mut sets: Vec<(f64, ByteSet)> =
            sets(hir).into_iter().map(|set| (of_set(&set), set)).filter(|(often, _)| *often < MAX_FREQUENCY).collect();
        sets.sort_by(|a, b| a.0.total_cmp(&b.0));
        sets.dedup_by(|a, b| a.1 == b.1);
        sets.truncate(MAX_SETS);
        let bytes = Bytes {
            sets: sets.into_iter().map(|(_, set)| set).collect(),
            min_length: hir.properties().minimum_len().unwrap_or(0),
            ..Bytes::default()
        };
        let literals = literal::required(hir).filter(|literals| {
            let often = (literal::likelihood(literals) * USUAL_LENGTH).min(1.0);
            literals.iter().all(|literal| literal.len() >= MIN_LITERAL) && often < WORTH_A_SCAN * bytes.likelihood()
        });
        match literals {
            Some(literals) => Self::Literals(literals, bytes),
            None if bytes.sets.is_empty() && bytes.min_length < 2 => Self::Any,
            None => Self::Bytes(bytes),
        }
    }
}

/// A set of bytes, none of them a letter or digit, of which each phrase has one, if they are rare
/// enough to tell: paths have a slash or a dot.
fn punctuation(phrases: &[Vec<u8>]) -> Option<ByteSet> {
    let mut set = ByteSet::EMPTY;
    let mut left: Vec<&Vec<u8>> = phrases.iter().collect();
    while !left.is_empty() {
        let covers = |byte: u8| left.iter().filter(|phrase| phrase.contains(&byte)).count();
        let candidates = (0..=127u8).filter(|byte| !byte.is_ascii_alphanumeric() && *byte != b' ');
        let best = candidates.max_by_key(|byte| covers(*byte))?;
        if covers(best) == 0 {
            return None;
        }
        set.insert(best);
        left.retain(|phrase| !phrase.contains(&best));
    }
    Some(set).filter(|set| of_set(set) < MAX_FREQUENCY)
}

/// Sets of which each match has at least one byte.
fn sets(hir: &Hir) -> Vec<ByteSet> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Literal(literal) => literal.0.iter().map(|byte| of(std::iter::once(*byte))).collect(),
        HirKind::Class(class) => match class {
            Class::Bytes(class) => {
                vec![of(class.ranges().iter().flat_map(|range| range.start()..=range.end()))]
            }
            // Patterns are compiled without Unicode, so only ASCII classes come as this.
            Class::Unicode(class) if class.is_ascii() => {
                let bytes = class.ranges().iter().flat_map(|range| range.start() as u8..=range.end() as u8);
                vec![of(bytes)]
            }
            Class::Unicode(_) => Vec::new(),
        },
        HirKind::Capture(capture) => sets(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
        HirKind::Repetition(repetition) => sets(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().flat_map(sets).collect(),
        HirKind::Alternation(branches) => {
            let mut union = ByteSet::EMPTY;
            for branch in branches {
                let best = sets(branch).into_iter().min_by(|a, b| of_set(a).total_cmp(&of_set(b)));
                let Some(best) = best else { return Vec::new() };
                union = union.union(&best);
            }
            vec![union]
        }
    }
}

fn of(bytes: impl Iterator<Item = u8>) -> ByteSet {
    let mut set = ByteSet::EMPTY;
    bytes.for_each(|byte| set.insert(byte));
    set
}
