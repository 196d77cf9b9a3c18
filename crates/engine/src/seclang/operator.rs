//! Operators on one value, exactly as ModSecurity v3 defines them.

use std::net::IpAddr;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use ipnet::IpNet;
use memchr::memmem;
use weir_rules::seclang::ir::{Comparison, Verify};

use super::expand::Text;
use super::matcher::{Groups, Matcher};
use super::need::Need;
use super::number;
use super::remembered::Remembered;
use super::scratch::Scratch;

/// Units of work for a test of any value.
const TEST: u64 = 220;
/// Units for each byte that the detectors read, in several contexts, and that others read.
const SQLI_BYTE: u64 = 5;
const XSS_BYTE: u64 = 10;
const READ_BYTE: u64 = 1;

/// An operator with its parameter compiled.
#[derive(Clone, Debug)]
pub(crate) enum Operator {
    Always,
    /// A pattern that matches every value whole, which CRS uses to capture it.
    Whole,
    Never,
    Rx(Arc<Matcher>),
    RxGlobal(Arc<Matcher>),
    /// A pattern with macros in it, and what they have come to.
    RxText(Text, Arc<Remembered>),
    /// The automaton, and what the filter looks for.
    Pm(Arc<AhoCorasick>, Arc<Need>),
    Within(Text),
    Contains(Text),
    ContainsWord(Text),
    BeginsWith(Text),
    EndsWith(Text),
    StrEq(Text),
    Compare(Comparison, Text),
    IpMatch(Arc<Vec<IpNet>>),
    Sqli,
    Xss,
    ByteRange([u64; 4]),
    UrlEncoding,
    Utf8,
    Verify(Verify, Arc<Matcher>),
    GeoLookup,
}

/// A match of an operator.
#[derive(Debug, Default)]
pub(crate) struct OperatorMatch<'a> {
    /// The part of the value that made it match, if it is a part.
    pub(crate) range: Option<(u32, u32)>,
    /// What `capture` keeps.
    pub(crate) captured: Captured<'a>,
}

/// What `capture` keeps in `TX:0` to `TX:9`.
#[derive(Debug, Default)]
pub(crate) enum Captured<'a> {
    #[default]
    Nothing,
    /// Parts of the value.
    Groups(Groups),
    /// `TX:0`: the whole value, or a fingerprint.
    Text(&'a [u8]),
}

/// Inputs of operators besides the value.
pub(crate) struct Setting<'a, 'e> {
    pub(crate) scratch: Scratch<'a>,
    /// The text of the parameter, macros expanded.
    pub(crate) text: &'e [u8],
    /// Whether captures are wanted.
    pub(crate) capture: bool,
    /// Whether it is all the same where it matches.
    pub(crate) verdict_only: bool,
}

impl Operator {
    /// The parameter, if it is a text that may have macros.
    pub(crate) fn text(&self) -> Option<&Text> {
        match self {
            Self::RxText(text, _)
            | Self::Within(text)
            | Self::Contains(text)
            | Self::ContainsWord(text)
            | Self::BeginsWith(text)
            | Self::EndsWith(text)
            | Self::StrEq(text)
            | Self::Compare(_, text) => Some(text),
            _ => None,
        }
    }

    /// Units of work for each byte of a value, besides what patterns charge themselves.
    fn byte_units(&self) -> u64 {
        match self {
            Self::Sqli => SQLI_BYTE,
            Self::Xss => XSS_BYTE,
            Self::Pm(..) | Self::Contains(_) | Self::ContainsWord(_) | Self::Within(_) => READ_BYTE,
            Self::ByteRange(_) | Self::UrlEncoding | Self::Utf8 => READ_BYTE,
            _ => 0,
        }
    }

    /// Whether the value matches, and where; not where there is no work left to tell.
    pub(crate) fn find<'a>(&self, value: &'a [u8], setting: &Setting<'a, '_>) -> Option<OperatorMatch<'a>> {
        let (scratch, text) = (setting.scratch, setting.text);
        let when = |truth: bool| truth.then(OperatorMatch::default);
        if !scratch.work.charge(TEST + self.byte_units() * value.len() as u64) {
            return None;
        }
        match self {
            Self::Always => when(true),
            Self::Whole => {
                let mut groups = Groups::default();
                groups[0] = Some((0, value.len() as u32));
                Some(of_groups(groups))
            }
            Self::Never | Self::GeoLookup => None,
            Self::Rx(matcher) => rx(matcher, value, setting),
            Self::RxGlobal(matcher) => matcher.find_all(value, scratch).map(of_groups),
            Self::RxText(_, remembered) => rx(remembered.get(text, scratch.work)?.as_ref().as_ref()?, value, setting),
            Self::Pm(phrases, _) => phrases.find(value).map(|found| {
                let range = (found.start() as u32, found.end() as u32);
                let mut groups = Groups::default();
                groups[0] = Some(range);
                OperatorMatch { range: Some(range), captured: Captured::Groups(groups) }
            }),
            Self::Within(_) => when(value.is_empty() || memmem::find(text, value).is_some()),
            Self::Contains(_) => memmem::find(value, text).map(|at| of_range(at, at + text.len())),
            Self::ContainsWord(_) => when(contains_word(value, text)),
            Self::BeginsWith(_) => value.starts_with(text).then(|| of_range(0, text.len())),
            Self::EndsWith(_) => value.ends_with(text).then(|| of_range(value.len() - text.len(), value.len())),
            Self::StrEq(_) => when(value == text),
            Self::Compare(comparison, _) => when(compare(*comparison, number::parse(value), number::parse(text))),
            Self::IpMatch(networks) => when(in_networks(value, networks)),
            Self::Sqli => weir_detect::sqli(value).map(|fingerprint| OperatorMatch {
                range: None,
                captured: Captured::Text(scratch.arena.alloc_slice_copy(fingerprint.as_bytes())),
            }),
            Self::Xss => {
                weir_detect::xss(value).then_some(OperatorMatch { range: None, captured: Captured::Text(value) })
            }
            Self::ByteRange(allowed) => {
                let outside = |byte: &u8| allowed[usize::from(byte >> 6)] >> (byte & 63) & 1 == 0;
                value.iter().position(outside).map(|at| of_range(at, at + 1))
            }
            Self::UrlEncoding => when(weir_detect::check_url_encoding(value).is_err()),
            Self::Utf8 => when(weir_detect::check_utf8(value).is_err()),
            Self::Verify(kind, matcher) => verify(*kind, matcher, value, scratch),
        }
    }
}

fn of_range(start: usize, end: usize) -> OperatorMatch<'static> {
    OperatorMatch { range: Some((start as u32, end as u32)), captured: Captured::Nothing }
}

fn of_groups(groups: Groups) -> OperatorMatch<'static> {
    OperatorMatch { range: groups[0], captured: Captured::Groups(groups) }
}

fn rx<'a>(matcher: &Matcher, value: &'a [u8], setting: &Setting<'a, '_>) -> Option<OperatorMatch<'a>> {
    if setting.verdict_only {
        return matcher.is_match(value, setting.scratch).then(OperatorMatch::default);
    }
    if setting.capture {
        return matcher.groups(value, setting.scratch).map(of_groups);
    }
    matcher.find(value, setting.scratch).map(|found| of_range(found.start, found.end))
}

fn compare(comparison: Comparison, left: i64, right: i64) -> bool {
    match comparison {
        Comparison::Eq => left == right,
        Comparison::Ge => left >= right,
        Comparison::Gt => left > right,
        Comparison::Le => left <= right,
        Comparison::Lt => left < right,
    }
}

fn in_networks(value: &[u8], networks: &[IpNet]) -> bool {
    let address = std::str::from_utf8(value).ok().and_then(|text| text.parse::<IpAddr>().ok());
    address.is_some_and(|address| networks.iter().any(|network| network.contains(&address)))
}

/// Whether `word` occurs in `value` with no letter beside it. At the very beginning and end one
/// side is enough, as in ModSecurity v3, whose test for "before the first byte" looks past the end.
fn contains_word(value: &[u8], word: &[u8]) -> bool {
    if word.is_empty() || value == word {
        return true;
    }
    // A position outside the value bounds no word there.
    let bounds = |at: Option<usize>| at.and_then(|at| value.get(at)).is_some_and(|byte| !byte.is_ascii_alphabetic());
    memmem::find_iter(value, word).any(|at| {
        let (before, after) = (at.checked_sub(1), Some(at + word.len()));
        match (at == 0, at + word.len() == value.len()) {
            (true, _) => bounds(after),
            (_, true) => bounds(before),
            _ => bounds(before) && bounds(after),
        }
    })
}

/// A number with check digits among the matches of a pattern.
fn verify<'a>(kind: Verify, matcher: &Matcher, value: &'a [u8], scratch: Scratch<'_>) -> Option<OperatorMatch<'a>> {
    let is_valid = match kind {
        Verify::CreditCard => weir_detect::is_card_number,
        Verify::Ssn => weir_detect::is_ssn,
        Verify::Cpf => weir_detect::is_cpf,
        Verify::Svnr => weir_detect::is_svnr,
    };
    let mut from = 0;
    // A bound on the starting positions that are tried: a long run of digits would otherwise take quadratic time.
    for _ in 0..MAX_VERIFIED {
        let rest = value.get(from..)?;
        // ModSecurity looks for cards in the whole value, for the others in what is left of it.
        let (start, end) = match kind {
            Verify::CreditCard => matcher.find_from(value, from, scratch).map(|found| (found.start, found.end)),
            _ => matcher.find(rest, scratch).map(|found| (from + found.start, from + found.end)),
        }?;
        if is_valid(&value[start..end]) {
            return Some(OperatorMatch {
                range: Some((start as u32, end as u32)),
                captured: Captured::Text(&value[start..end]),
            });
        }
        from = start + 1;
    }
    None
}

/// Candidates for numbers with check digits in one value.
const MAX_VERIFIED: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_letters_beside_them() {
        for (value, word, expected) in [
            ("", "", true),
            ("", "x", false),
            ("x", "x", true),
            ("x abc y", "abc", true),
            ("xabc y", "abc", false),
            ("abc y", "abc", true),
            ("abcd abc", "abc", true),
            ("1abc2", "abc", true),
        ] {
            assert_eq!(contains_word(value.as_bytes(), word.as_bytes()), expected, "{word} in {value}");
        }
    }
}
