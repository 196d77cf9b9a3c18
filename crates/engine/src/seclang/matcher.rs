//! Patterns ready to be run: linear automata, and a bounded backtracker for those few that need
//! look-around or back-references.

use std::ops::Range;

use bumpalo::Bump;
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use weir_rules::seclang::pattern::{Pattern, RUST_NEST_LIMIT, narrow_offset};

use super::need::Need;

/// Bytes of automaton that one pattern may take.
const MAX_PATTERN_BYTES: usize = 8 << 20;
/// Steps that the backtracker may take on one value. Past it the value counts as not matched, as
/// in ModSecurity with its match limit; the patterns of CRS need a few hundred.
const MAX_STEPS: usize = 200_000;
/// Groups that are kept: `TX:0` to `TX:9`.
pub(crate) const MAX_GROUPS: usize = 10;

/// What groups matched: the whole match and its groups, as byte ranges.
pub(crate) type Groups = [Option<(u32, u32)>; MAX_GROUPS];

/// A compiled pattern.
pub(crate) struct Matcher {
    /// Linear in the value. Matches whatever the pattern matches, and nothing else where
    /// `is_exact`.
    linear: Regex,
    /// For values whose match the linear one cannot decide: bounded by [`MAX_STEPS`].
    backtracking: Option<Box<fancy_regex::Regex>>,
    /// Matches nothing but what the pattern matches: spares the backtracker most of its work.
    inner: Option<Regex>,
    /// Whether the linear one decides all values but those that end in a newline.
    is_exact: bool,
    /// What every value that it matches has.
    pub(crate) need: Need,
    /// For a pattern that is a plain prefix, in either case: that prefix.
    beginning: Option<Box<[u8]>>,
}

/// The beginning that a pattern such as `(?i)^header_name_` asks for.
fn beginning(source: &str) -> Option<Box<[u8]>> {
    let text = source.strip_prefix("(?i)^")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(is_plain).then(|| text.as_bytes().into())
}

impl Matcher {
    pub(crate) fn new(pattern: &Pattern) -> Result<Self, String> {
        let syntax = syntax::Config::new().utf8(false).unicode(false).nest_limit(RUST_NEST_LIMIT);
        let hir = syntax::parse_with(pattern.rust(), &syntax).map_err(describe)?;
        let linear = build(&hir)?;
        let inner = match pattern.inner() {
            None => None,
            Some(text) => Some(build(&syntax::parse_with(text, &syntax).map_err(describe)?)?),
        };
        let backtracking = match pattern.fancy() {
            None => None,
            Some(text) => Some(Box::new(
                fancy_regex::RegexBuilder::new(text).backtrack_limit(MAX_STEPS).build().map_err(describe)?,
            )),
        };
        Ok(Self {
            linear,
            backtracking,
            inner,
            is_exact: !pattern.needs_backtracking(),
            need: Need::of_pattern(&hir),
            beginning: beginning(pattern.source()),
        })
    }

    /// The backtracker, if the value needs it.
    fn decider(&self, value: &[u8]) -> Option<&fancy_regex::Regex> {
        let regex = self.backtracking.as_deref()?;
        (!self.is_exact || value.ends_with(b"\n")).then_some(regex)
    }

    /// Whether there is a match at all.
    pub(crate) fn is_match(&self, value: &[u8], arena: &Bump) -> bool {
        // `^` also stands behind line ends, which names do not have.
        if let Some(beginning) = self.beginning.as_deref().filter(|_| memchr::memchr(b'\n', value).is_none()) {
            return value.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
        }
        if !value.ends_with(b"\n") && self.inner.as_ref().is_some_and(|inner| inner.is_match(value)) {
            return true;
        }
        if !self.linear.is_match(value) {
            return false;
        }
        let Some(regex) = self.decider(value) else { return true };
        regex.is_match(widened(value, arena)).unwrap_or(false)
    }

    /// The first match.
    pub(crate) fn find(&self, value: &[u8], arena: &Bump) -> Option<Range<usize>> {
        self.find_from(value, 0, arena)
    }

    /// The first match that begins at an offset or behind it; look-behind sees what is before.
    pub(crate) fn find_from(&self, value: &[u8], from: usize, arena: &Bump) -> Option<Range<usize>> {
        let found = self.linear.find(Input::new(value).range(from..))?.range();
        let Some(regex) = self.decider(value) else { return Some(found) };
        let text = widened(value, arena);
        let wide = from + value[..from].iter().filter(|byte| !byte.is_ascii()).count();
        let found = regex.find_from_pos(text, wide).ok()??;
        Some(narrow_offset(text, found.start())..narrow_offset(text, found.end()))
    }

    /// The groups of the first match.
    pub(crate) fn groups(&self, value: &[u8], arena: &Bump) -> Option<Groups> {
        let mut groups = Groups::default();
        if let Some(regex) = self.decider(value) {
            self.linear.find(value)?;
            let text = widened(value, arena);
            let captures = regex.captures(text).ok()??;
            let narrow = |offset| narrow_offset(text, offset) as u32;
            for (group, found) in groups.iter_mut().zip(captures.iter()) {
                *group = found.map(|one| (narrow(one.start()), narrow(one.end())));
            }
            return Some(groups);
        }
        let whole = self.linear.find(value)?; // allocates nothing, and most candidates do not match
        if self.linear.captures_len() == 1 {
            groups[0] = Some((whole.start() as u32, whole.end() as u32));
            return Some(groups);
        }
        let mut captures: Captures = self.linear.create_captures();
        self.linear.captures(value, &mut captures);
        captures.get_match()?;
        for (group, range) in groups.iter_mut().zip(captures.iter()) {
            *group = range.map(|span| (span.start as u32, span.end as u32));
        }
        Some(groups)
    }

    /// Whole matches one after the other, at most as many as there are groups to keep.
    pub(crate) fn find_all(&self, value: &[u8], arena: &Bump) -> Option<Groups> {
        if self.decider(value).is_some() {
            return self.groups(value, arena);
        }
        let mut groups = Groups::default();
        for (group, found) in groups.iter_mut().zip(self.linear.find_iter(Input::new(value))) {
            *group = Some((found.start() as u32, found.end() as u32));
        }
        groups[0].is_some().then_some(groups)
    }
}

fn build(hir: &regex_syntax::hir::Hir) -> Result<Regex, String> {
    Regex::builder()
        // Full DFAs and one-pass automata cost load time and memory for every pattern, and only
        // candidates are ever run.
        .configure(Regex::config().utf8_empty(false).dfa(false).onepass(false).nfa_size_limit(Some(MAX_PATTERN_BYTES)))
        .build_from_hir(hir)
        .map_err(describe)
}

fn describe(error: impl std::fmt::Display) -> String {
    format!("the pattern does not compile: {error}")
}

/// The value as text, each byte the character of that number.
fn widened<'a>(value: &[u8], arena: &'a Bump) -> &'a str {
    let mut text = bumpalo::collections::String::with_capacity_in(value.len() * 2, arena);
    text.extend(value.iter().map(|byte| char::from(*byte)));
    text.into_bump_str()
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Matcher").field("is_exact", &self.is_exact).field("need", &self.need).finish_non_exhaustive()
    }
}
