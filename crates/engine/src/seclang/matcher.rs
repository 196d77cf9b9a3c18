//! Patterns ready to be run: linear automata, and a bounded backtracker for those few that need
//! look-around or back-references.

use std::ops::Range;

use bumpalo::Bump;
use regex_automata::util::syntax;
use weir_rules::seclang::pattern::{Pattern, RUST_NEST_LIMIT, narrow_offset};

use super::automaton::Automaton;
use super::need::Need;
use super::scratch::Scratch;

/// Steps that the backtracker may take on one value; the patterns of CRS need a few hundred.
const MAX_STEPS: usize = 20_000;
/// Units of work for a step.
const STEP: u64 = 5;
/// Groups that are kept: `TX:0` to `TX:9`.
pub(crate) const MAX_GROUPS: usize = 10;

/// What groups matched: the whole match and its groups, as byte ranges.
pub(crate) type Groups = [Option<(u32, u32)>; MAX_GROUPS];

/// A compiled pattern.
pub(crate) struct Matcher {
    /// Linear in the value. Matches whatever the pattern matches, and nothing else where
    /// `is_exact`.
    linear: Automaton,
    /// For values whose match the linear one cannot decide: bounded by [`MAX_STEPS`].
    backtracking: Option<Box<fancy_regex::Regex>>,
    /// Matches nothing but what the pattern matches: spares the backtracker most of its work.
    inner: Option<Automaton>,
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
        let linear = Automaton::new(&hir)?;
        let inner = match pattern.inner() {
            None => None,
            Some(text) => Some(Automaton::new(&syntax::parse_with(text, &syntax).map_err(describe)?)?),
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

    /// Whether there is a match at all; `false` too where there is no work left to tell.
    pub(crate) fn is_match(&self, value: &[u8], scratch: Scratch<'_>) -> bool {
        // `^` also stands behind line ends, which names do not have.
        if let Some(beginning) = self.beginning.as_deref().filter(|_| memchr::memchr(b'\n', value).is_none()) {
            return value.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
        }
        if !value.ends_with(b"\n") && self.inner.as_ref().is_some_and(|inner| inner.is_match(value, scratch)) {
            return true;
        }
        if !self.linear.is_match(value, scratch) {
            return false;
        }
        let Some(regex) = self.decider(value) else { return true };
        backtrack(scratch, || regex.is_match(widened(value, scratch.arena))).unwrap_or(false)
    }

    /// The first match.
    pub(crate) fn find(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Range<usize>> {
        self.find_from(value, 0, scratch)
    }

    /// The first match that begins at an offset or behind it; look-behind sees what is before.
    pub(crate) fn find_from(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Range<usize>> {
        let found = self.linear.find(value, from, scratch)?;
        let Some(regex) = self.decider(value) else { return Some(found) };
        let text = widened(value, scratch.arena);
        let wide = from + value[..from].iter().filter(|byte| !byte.is_ascii()).count();
        let found = backtrack(scratch, || regex.find_from_pos(text, wide))??;
        Some(narrow_offset(text, found.start())..narrow_offset(text, found.end()))
    }

    /// The groups of the first match.
    pub(crate) fn groups(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Groups> {
        let mut groups = Groups::default();
        let mut keep = |number: usize, start: usize, end: usize| {
            if let Some(group) = groups.get_mut(number) {
                *group = Some((start as u32, end as u32));
            }
        };
        match self.decider(value) {
            Some(regex) => {
                self.linear.find(value, 0, scratch)?;
                let text = widened(value, scratch.arena);
                let captures = backtrack(scratch, || regex.captures(text))??;
                let narrow = |offset| narrow_offset(text, offset);
                let found = captures.iter().enumerate().filter_map(|(number, group)| Some((number, group?)));
                found.for_each(|(number, group)| keep(number, narrow(group.start()), narrow(group.end())));
            }
            None => self.linear.groups(value, scratch, |number, range| keep(number, range.start, range.end))?,
        }
        Some(groups)
    }

    /// Whole matches one after the other, at most as many as there are groups to keep.
    pub(crate) fn find_all(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Groups> {
        if self.decider(value).is_some() {
            return self.groups(value, scratch);
        }
        let mut groups = Groups::default();
        let (mut from, mut end, mut number) = (0, None, 0);
        while number < MAX_GROUPS && from <= value.len() {
            let Some(found) = self.linear.find(value, from, scratch) else { break };
            // No empty match stands right behind another match.
            if found.is_empty() && end == Some(found.end) {
                from = found.end + 1;
                continue;
            }
            groups[number] = Some((found.start as u32, found.end as u32));
            number += 1;
            (from, end) = (found.end, Some(found.end));
        }
        groups[0].is_some().then_some(groups)
    }
}

/// Runs the backtracker if there is work left for as many steps as it may take; past them there is none.
fn backtrack<R>(scratch: Scratch<'_>, run: impl FnOnce() -> Result<R, fancy_regex::Error>) -> Option<R> {
    if !scratch.work.charge(MAX_STEPS as u64 * STEP) {
        return None;
    }
    run().map_err(|_| scratch.work.charge(u64::MAX)).ok()
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
