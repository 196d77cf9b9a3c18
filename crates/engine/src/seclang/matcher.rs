//! Patterns ready to be run: in time linear in the value, or by a bounded backtracker for those few that need
//! look-around or back-references in ways that [`Form`] does not have.

mod behind;
mod peek;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

use bumpalo::Bump;
use regex_automata::util::syntax;
use regex_syntax::hir::Hir;
use weir_rules::seclang::pattern::{Form, Pattern, RUST_NEST_LIMIT, narrow_offset};

use super::automaton::{Automaton, describe};
use super::factor::factor;
use super::need::Need;
use super::scratch::Scratch;
use behind::Behind;
use peek::Peek;
use words::Words;

/// Steps that the backtracker may take on one value. No pattern of CRS is run by it.
const MAX_STEPS: usize = 20_000;
/// Units of work for a step.
const STEP: u64 = 5;
/// Groups that are kept: `TX:0` to `TX:9`.
pub(crate) const MAX_GROUPS: usize = 10;

/// What groups matched: the whole match and its groups, as byte ranges.
pub(crate) type Groups = [Option<(u32, u32)>; MAX_GROUPS];

/// A compiled pattern.
pub(crate) struct Matcher {
    /// Linear in the value. Matches whatever the pattern matches, and nothing else where `exact` is not asked.
    linear: Automaton,
    /// For values that the linear one cannot decide.
    exact: Option<Box<Exact>>,
    /// Whether those are only the ones that end in a newline.
    only_after_newline: bool,
    /// What every value that it matches has.
    pub(crate) need: Need,
    /// A part of the pattern that everyday text does not have.
    pub(crate) factor: Option<Hir>,
    /// For a pattern that is a plain prefix, in either case: that prefix.
    beginning: Option<Box<[u8]>>,
}

/// A matcher that decides every value.
enum Exact {
    Peek(Peek),
    Behind(Behind),
    Words(Words),
    /// Bounded by [`MAX_STEPS`].
    Backtracking(fancy_regex::Regex),
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
        let exact = match pattern.fancy() {
            None => None,
            Some(text) => Some(match special(pattern, &hir, syntax) {
                Some(exact) => exact,
                None => Exact::Backtracking(
                    fancy_regex::RegexBuilder::new(text).backtrack_limit(MAX_STEPS).build().map_err(describe)?,
                ),
            }),
        };
        Ok(Self {
            linear: Automaton::new(&hir)?,
            exact: exact.map(Box::new),
            only_after_newline: *pattern.form() == Form::Linear,
            need: Need::of_pattern(&hir),
            factor: factor(&hir),
            beginning: beginning(pattern.source()),
        })
    }

    /// For a pattern that is a plain prefix, in either case: that prefix.
    pub(crate) fn beginning(&self) -> Option<&[u8]> {
        self.beginning.as_deref()
    }

    /// Whether some values need the backtracker, whose time is bounded but not linear.
    fn backtracks(&self) -> bool {
        matches!(self.exact.as_deref(), Some(Exact::Backtracking(_)))
    }

    /// The exact matcher, if the value needs it.
    fn decider(&self, value: &[u8]) -> Option<&Exact> {
        let exact = self.exact.as_deref()?;
        (!self.only_after_newline || value.ends_with(b"\n")).then_some(exact)
    }

    /// Whether there is a match at all; `false` too where there is no work left to tell.
    pub(crate) fn is_match(&self, value: &[u8], scratch: Scratch<'_>) -> bool {
        // `^` also stands behind line ends, which names do not have.
        if let Some(beginning) = self.beginning.as_deref().filter(|_| memchr::memchr(b'\n', value).is_none()) {
            return value.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
        }
        let exact = self.decider(value);
        if let Some(Exact::Peek(peek)) = exact {
            return peek.is_match(value, scratch);
        }
        if !self.linear.is_match(value, scratch) {
            return false;
        }
        match exact {
            None | Some(Exact::Peek(_)) => true,
            Some(Exact::Behind(behind)) => behind.begin(&self.linear, value, 0, scratch).is_some(),
            Some(Exact::Words(words)) => words.groups(value, 0, scratch).is_some(),
            Some(Exact::Backtracking(regex)) => {
                backtrack(scratch, || regex.is_match(widened(value, scratch.arena)).ok()).unwrap_or(false)
            }
        }
    }

    /// The first match.
    pub(crate) fn find(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Range<usize>> {
        self.find_from(value, 0, scratch)
    }

    /// The first match that begins at an offset or behind it; look-behind sees what is before.
    pub(crate) fn find_from(&self, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Range<usize>> {
        match self.decider(value) {
            None => self.linear.find(value, from, scratch),
            Some(exact) => {
                let (start, end) = self.exact_groups(exact, value, from, scratch)?[0]?;
                Some(start as usize..end as usize)
            }
        }
    }

    /// The groups of the first match.
    pub(crate) fn groups(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Groups> {
        match self.decider(value) {
            None => kept(|keep| self.linear.groups(value, scratch, keep)),
            Some(exact) => self.exact_groups(exact, value, 0, scratch),
        }
    }

    fn exact_groups(&self, exact: &Exact, value: &[u8], from: usize, scratch: Scratch<'_>) -> Option<Groups> {
        // What matches exactly begins no earlier.
        let first = self.linear.find(value, from, scratch)?.start;
        match exact {
            Exact::Peek(peek) => peek.groups(value, first, scratch),
            Exact::Behind(behind) => behind.groups(&self.linear, value, first, scratch),
            Exact::Words(words) => words.groups(value, first, scratch),
            Exact::Backtracking(regex) => {
                let text = widened(value, scratch.arena);
                let wide = from + value[..from].iter().filter(|byte| !byte.is_ascii()).count();
                let captures = backtrack(scratch, || regex.captures_from_pos(text, wide).ok())??;
                let narrow = |offset| narrow_offset(text, offset) as u32;
                let mut groups = Groups::default();
                for (group, found) in groups.iter_mut().zip(captures.iter()) {
                    *group = found.map(|one| (narrow(one.start()), narrow(one.end())));
                }
                Some(groups)
            }
        }
    }

    /// Whole matches one after the other, at most as many as there are groups to keep.
    pub(crate) fn find_all(&self, value: &[u8], scratch: Scratch<'_>) -> Option<Groups> {
        if let Some(exact @ Exact::Backtracking(_)) = self.decider(value) {
            return self.exact_groups(exact, value, 0, scratch);
        }
        let mut groups = Groups::default();
        let (mut count, mut from) = (0, 0);
        while count < MAX_GROUPS && from <= value.len() {
            let Some(found) = self.find_from(value, from, scratch) else { break };
            // An empty match beside the one before is none.
            if found.is_empty() && count > 0 && groups[count - 1].is_some_and(|(_, end)| end as usize == found.end) {
                from += 1;
                continue;
            }
            groups[count] = Some((found.start as u32, found.end as u32));
            (count, from) = (count + 1, found.end);
        }
        groups[0].is_some().then_some(groups)
    }
}

/// The groups that `find` finds, as far as they are kept.
fn kept(find: impl FnOnce(&mut dyn FnMut(usize, Range<usize>)) -> Option<()>) -> Option<Groups> {
    let mut groups = Groups::default();
    find(&mut |number, range| {
        if let Some(group) = groups.get_mut(number) {
            *group = Some((range.start as u32, range.end as u32));
        }
    })?;
    Some(groups)
}

/// Runs the backtracker if there is work left for as many steps as it may take. Where these do not suffice, there is none.
fn backtrack<R>(scratch: Scratch<'_>, run: impl FnOnce() -> Option<R>) -> Option<R> {
    if !scratch.work.charge(MAX_STEPS as u64 * STEP) {
        return None;
    }
    let found = run();
    if found.is_none() {
        scratch.work.charge(u64::MAX);
    }
    found
}

/// The matcher for the pattern's form; `None` if it is too large for that, or does not quite have it.
fn special(pattern: &Pattern, hir: &Hir, syntax: syntax::Config) -> Option<Exact> {
    let parse = |text: &str| syntax::parse_with(text, &syntax).ok();
    match pattern.form() {
        Form::Linear => Peek::new(hir, &[]).ok().map(Exact::Peek),
        Form::Marked(marked) => Peek::new(&parse(&marked.text)?, &marked.sets).ok().map(Exact::Peek),
        Form::Behind(behind) if behind::is_short(hir) => {
            Some(Exact::Behind(Behind::new(behind, Automaton::new(&parse(&behind.otherwise)?).ok()?)))
        }
        Form::Words(words) => Words::new(words, syntax).map(Exact::Words),
        Form::Behind(_) | Form::Backtracking => None,
    }
}

/// The value as text, each byte the character of that number.
fn widened<'a>(value: &[u8], arena: &'a Bump) -> &'a str {
    let mut text = bumpalo::collections::String::with_capacity_in(value.len() * 2, arena);
    text.extend(value.iter().map(|byte| char::from(*byte)));
    text.into_bump_str()
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Matcher")
            .field("backtracks", &self.backtracks())
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}
