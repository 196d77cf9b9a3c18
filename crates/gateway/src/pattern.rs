//! Regular expressions: compiled beside the event loop, shared by all uses of the same text.
//!
//! Compiling takes from 20 µs to milliseconds, too long for a worker's event loop. So [`Patterns::compile`] is a
//! function that any thread may call, and [`crate::Gateway::apply`] only looks its results up.

use std::{collections::HashMap, sync::Arc};

use regex_automata::{meta, util::syntax};
use regex_syntax::hir::{Hir, HirKind, Look};

/// The largest automaton of one expression, in bytes; a larger one is refused.
const MAX_AUTOMATON: usize = 2 << 20;
/// Longest expression, in bytes.
const MAX_PATTERN: usize = 4096;
/// Deepest nesting of an expression.
const MAX_NESTING: u32 = 64;
/// Memory of the lazy automaton of one expression, in bytes.
const CACHE: usize = 1 << 20;

/// A compiled expression. Searching takes linear time.
#[derive(Debug)]
pub struct Regex {
    whole: meta::Regex,
    within: meta::Regex,
    prefix: Box<[u8]>,
}

impl Regex {
    /// Whether all of `text` matches.
    #[must_use]
    pub fn is_whole(&self, text: &[u8]) -> bool {
        self.whole.is_match(text)
    }

    /// The automaton for searching within a text (leftmost first).
    pub(crate) fn within(&self) -> &meta::Regex {
        &self.within
    }

    /// The common prefix of all texts that match as a whole.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }
}

/// Compiled expressions by their text, of one worker.
#[derive(Debug, Default)]
pub struct Patterns {
    known: HashMap<Box<str>, Arc<Regex>>,
    /// The size at which unused expressions are searched again.
    sweep_at: usize,
    /// Unused expressions: dropping one takes 20 µs, so they are dropped one by one.
    unused: Vec<Arc<Regex>>,
}

impl Patterns {
    /// An empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles an expression; takes up to milliseconds, so call it beside the event loop. The error says what is
    /// wrong, over several lines.
    pub fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
        if pattern.len() > MAX_PATTERN {
            return Err(format!("the expression has {} bytes; at most {MAX_PATTERN} are allowed", pattern.len()));
        }
        let hir = parse(pattern)?;
        let prefix = literal_prefix(&hir).into();
        Ok(Arc::new(Regex { whole: build(&whole(&hir))?, within: build(&hir)?, prefix }))
    }

    /// Adds what [`Self::compile`] made of a text. Those that no route uses any more are dropped now and then, two at
    /// most in a call.
    pub fn insert(&mut self, pattern: &str, regex: Arc<Regex>) {
        self.unused.truncate(self.unused.len().saturating_sub(2));
        if self.known.len() >= self.sweep_at {
            let unused = self.known.extract_if(|_, regex| Arc::strong_count(regex) == 1);
            self.unused.extend(unused.map(|(_, regex)| regex));
            self.sweep_at = (self.known.len() * 2).max(64);
        }
        self.known.insert(pattern.into(), regex);
    }

    /// The compiled expression of a text, if available.
    #[must_use]
    pub fn get(&self, pattern: &str) -> Option<&Arc<Regex>> {
        self.known.get(pattern)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// The syntax tree of an expression; an error says what is wrong, over several lines.
pub(crate) fn parse(pattern: &str) -> Result<Hir, String> {
    let settings = syntax::Config::new().utf8(false).unicode(true).nest_limit(MAX_NESTING);
    syntax::parse_with(pattern, &settings).map_err(|error| error.to_string())
}

/// What matches whole texts only.
pub(crate) fn whole(hir: &Hir) -> Hir {
    Hir::concat(vec![Hir::look(Look::Start), hir.clone(), Hir::look(Look::End)])
}

fn build(hir: &Hir) -> Result<meta::Regex, String> {
    let config = meta::Config::new().nfa_size_limit(Some(MAX_AUTOMATON)).hybrid_cache_capacity(CACHE).utf8_empty(false);
    meta::Builder::new().configure(config).build_from_hir(hir).map_err(|error| match error.size_limit() {
        Some(_) => format!("the compiled expression is larger than {} MiB", MAX_AUTOMATON >> 20),
        None => error.to_string(),
    })
}

/// The bytes that any match of the whole text must begin with.
fn literal_prefix(hir: &Hir) -> &[u8] {
    let first = match hir.kind() {
        HirKind::Concat(parts) => parts.iter().find(|part| !matches!(part.kind(), HirKind::Look(Look::Start))),
        _ => Some(hir),
    };
    match first.map(Hir::kind) {
        Some(HirKind::Literal(literal)) => &literal.0,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_texts_match() {
        let cases: [(&str, &[u8], bool); 9] = [
            ("a|ab", b"ab", true),
            ("a|ab", b"abc", false),
            ("/a/.*", b"/a/b/c", true),
            ("^/a$", b"/a", true),
            ("a", b"ba", false),
            ("", b"", true),
            ("", b"a", false),
            (".", b"\xff", false),
            ("(?s-u:.)", b"\xff", true),
        ];
        for (pattern, text, expected) in cases {
            let regex = Patterns::compile(pattern).unwrap();
            assert_eq!(regex.is_whole(text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn finds_the_literal_prefix() {
        let cases: [(&str, &[u8]); 7] = [
            ("/items/[0-9]+", b"/items/"),
            ("^/items/[0-9]+", b"/items/"),
            ("/items", b"/items"),
            ("/items/v?x", b"/items/"),
            ("(?i)/items", b"/"),
            ("/a|/b", b""),
            (".*", b""),
        ];
        for (pattern, expected) in cases {
            assert_eq!(Patterns::compile(pattern).unwrap().prefix(), expected, "{pattern}");
        }
    }

    #[test]
    fn bad_and_huge_ones_are_refused() {
        for pattern in ["(", "a(?=b)", r"(a)\1", r"(?:\pL{500}){500}", &"a".repeat(5000)] {
            assert!(Patterns::compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn unused_ones_are_dropped() {
        let mut patterns = Patterns::new();
        for n in 0..1000 {
            patterns.insert(&format!("p{n}"), Patterns::compile("x").unwrap());
        }
        assert!(patterns.len() <= 128, "{}", patterns.len());
    }
}
