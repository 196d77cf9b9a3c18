//! Which literals a regular expression needs: a set of strings of which at least one occurs,
//! case folded, in everything that it matches.
//!
//! The idea is RE2's FilteredRE2 and Cox's trigram index: walk the syntax tree, keep the exact
//! strings of a node as long as they are few, and cut them into a requirement where they are
//! not. `regex_syntax`'s own extractor gives prefixes and suffixes only; attack patterns mostly
//! begin and end with classes and carry their literals inside.
//!
//! Folding is `byte | 0x20` on every byte: it merges the letters' cases at the price of merging
//! some punctuation too, which a necessary condition may do, and costs one instruction for eight
//! bytes of a value.

use regex_syntax::hir::{Class, Hir, HirKind};

/// More strings than this for one node are not kept apart.
const MAX_EXACT: usize = 64;
/// A requirement of more strings than this is of no use as a filter.
const MAX_REQUIRED: usize = 256;
/// Strings longer than this are cut: what follows adds nothing to a filter.
const MAX_LENGTH: usize = 24;
/// A class of more bytes than this (after folding) is not spelled out.
const MAX_CLASS: usize = 16;

/// A set of folded strings.
pub(crate) type Literals = Vec<Vec<u8>>;

/// Folds a string as the scanner folds values.
pub(crate) fn fold(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte | 0x20).collect()
}

/// Strings of which at least one occurs (folded) in every match, or `None` if nothing useful is
/// known.
pub(crate) fn required(hir: &Hir) -> Option<Literals> {
    let node = walk(hir);
    node.exact.filter(useful).or(node.required)
}

/// How likely a set is to let a harmless value through: the sum over its strings of the
/// estimated frequency of the rarest window of each. Lower is better.
pub(crate) fn likelihood(set: &[Vec<u8>]) -> f64 {
    set.iter().map(|literal| windows(literal, literal.len().min(4)).map(|window| window.1).fold(1.0, f64::min)).sum()
}

/// Where the rarest window of `width` bytes begins in a literal of at least as many.
pub(crate) fn rarest_window(literal: &[u8], width: usize) -> usize {
    windows(literal, width).min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |window| window.0)
}

/// What nearly every request has somewhere, folded: windows of it say nothing.
const COMMON: &[u8] =
    b"https://www. http://www. .com/ .org/ .net/ .html .php mozilla/5.0 (windows nt applewebkit/537.36 (khtml, \
    like gecko) chrome/ safari/537.36 firefox/ gzip, deflate text/html application/ charset=utf-8";
/// Assumed frequency of such a window.
const COMMON_FREQUENCY: f64 = 0.5;

/// Each window's beginning and estimated frequency: the product of its bytes' frequencies, which
/// takes `://` for rare, unless it is one of the commonplaces.
fn windows(literal: &[u8], width: usize) -> impl Iterator<Item = (usize, f64)> {
    let likelihood = |window: &[u8]| match window.len() >= 3 && memchr::memmem::find(COMMON, window).is_some() {
        true => COMMON_FREQUENCY,
        false => window.iter().map(|byte| frequency(*byte)).product::<f64>(),
    };
    literal.windows(width.max(1)).map(likelihood).enumerate()
}

/// Rough frequency of a folded byte in URLs, cookies, user agents and form values.
pub(crate) fn frequency(byte: u8) -> f64 {
    match byte {
        b'e' | b'a' | b't' | b'i' | b'o' | b'n' | b's' | b'r' => 0.06,
        b'l' | b'c' | b'd' | b'm' | b'p' | b'u' | b'h' | b'g' => 0.03,
        b'a'..=b'z' => 0.015,
        b'0'..=b'9' => 0.025,
        b'=' | b'&' | b'/' | b'.' | b'-' | b' ' | b'%' | b';' | b'_' | 0x7f => 0.02,
        b'?' | b':' | b',' | b'+' | b'(' | b')' | b'"' => 0.01,
        _ => 0.002,
    }
}

#[derive(Default)]
struct Node {
    /// All strings that the node matches, if they are few.
    exact: Option<Literals>,
    /// One of these occurs in every match.
    required: Option<Literals>,
}

impl Node {
    fn exactly(set: Literals) -> Self {
        Self { exact: Some(set), required: None }
    }

    /// The best requirement of the node as it stands.
    fn into_required(self) -> Option<Literals> {
        better(self.exact.filter(useful), self.required)
    }
}

fn useful(set: &Literals) -> bool {
    !set.is_empty() && set.len() <= MAX_REQUIRED && set.iter().all(|literal| !literal.is_empty())
}

fn better(a: Option<Literals>, b: Option<Literals>) -> Option<Literals> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if likelihood(&b) < likelihood(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Every string of `left` followed by every string of `right`, if that stays small.
fn cross(left: &Literals, right: &Literals) -> Option<Literals> {
    if left.len() * right.len() > MAX_EXACT {
        return None;
    }
    let mut set = Vec::with_capacity(left.len() * right.len());
    for prefix in left {
        for suffix in right {
            if prefix.len() + suffix.len() > MAX_LENGTH {
                return None;
            }
            set.push([prefix.as_slice(), suffix].concat());
        }
    }
    Some(tidy(set))
}

fn tidy(mut set: Literals) -> Literals {
    set.sort_unstable();
    set.dedup();
    set
}

fn walk(hir: &Hir) -> Node {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Node::exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => {
            let folded = fold(&literal.0);
            if folded.len() <= MAX_LENGTH {
                Node::exactly(vec![folded])
            } else {
                // The rarest stretch of a long literal filters as well as the whole.
                let at = rarest_window(&folded, 4).min(folded.len() - MAX_LENGTH);
                Node { exact: None, required: Some(vec![folded[at..at + MAX_LENGTH].to_vec()]) }
            }
        }
        HirKind::Class(class) => class_strings(class).map(Node::exactly).unwrap_or_default(),
        HirKind::Capture(capture) => walk(&capture.sub),
        HirKind::Repetition(repetition) => {
            let inner = walk(&repetition.sub);
            match (repetition.min, repetition.max) {
                (0, Some(1)) => match inner.exact {
                    Some(mut set) if set.len() < MAX_EXACT => {
                        set.push(Vec::new());
                        Node::exactly(tidy(set))
                    }
                    _ => Node::default(),
                },
                (0, _) => Node::default(),
                (min, max) => repeated(inner, min, max == Some(min)),
            }
        }
        HirKind::Concat(parts) => concat(parts),
        HirKind::Alternation(branches) => alternation(branches),
    }
}

/// At least `min` times in a row, `exactly` or more.
fn repeated(inner: Node, min: u32, exactly: bool) -> Node {
    let Some(once) = inner.exact else { return Node { exact: None, required: inner.required } };
    let mut times = once.clone();
    let mut whole = true;
    for _ in 1..min {
        match cross(&times, &once) {
            Some(longer) => times = longer,
            None => {
                whole = false;
                break;
            }
        }
    }
    if exactly && whole { Node::exactly(times) } else { Node { exact: None, required: Some(times).filter(useful) } }
}

fn concat(parts: &[Hir]) -> Node {
    let mut exact: Literals = vec![Vec::new()];
    let mut required = None;
    let mut whole = true;
    for part in parts {
        let node = walk(part);
        match node.exact.as_ref().and_then(|set| cross(&exact, set)) {
            Some(longer) => exact = longer,
            None => {
                whole = false;
                let run = std::mem::replace(&mut exact, vec![Vec::new()]);
                required = better(required, Some(run).filter(useful));
                match node.exact {
                    Some(set) => exact = set,
                    None => required = better(required, node.required),
                }
            }
        }
    }
    if whole {
        return Node { exact: Some(exact), required };
    }
    Node { exact: None, required: better(required, Some(exact).filter(useful)) }
}

fn alternation(branches: &[Hir]) -> Node {
    let nodes: Vec<Node> = branches.iter().map(walk).collect();
    if nodes.iter().all(|node| node.exact.is_some()) {
        let union = tidy(nodes.iter().flat_map(|node| node.exact.clone().unwrap_or_default()).collect());
        if union.len() <= MAX_EXACT {
            return Node::exactly(union);
        }
    }
    let mut union = Vec::new();
    for node in nodes {
        match node.into_required() {
            Some(set) => union.extend(set),
            None => return Node::default(),
        }
    }
    Node { exact: None, required: Some(tidy(union)).filter(useful) }
}

/// The strings of a small class, folded.
fn class_strings(class: &Class) -> Option<Literals> {
    let mut set = Literals::new();
    match class {
        Class::Bytes(bytes) => {
            for range in bytes.ranges() {
                for byte in range.start()..=range.end() {
                    set.push(vec![byte | 0x20]);
                }
            }
        }
        Class::Unicode(chars) => {
            for range in chars.ranges() {
                if range.len() > 2 * MAX_CLASS {
                    return None;
                }
                for character in range.start()..=range.end() {
                    set.push(fold(character.encode_utf8(&mut [0; 4]).as_bytes()));
                }
            }
        }
    }
    let set = tidy(set);
    (set.len() <= MAX_CLASS).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Option<Vec<String>> {
        let hir = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build().parse(pattern).unwrap();
        required(&hir).map(|set| set.iter().map(|literal| String::from_utf8_lossy(literal).into_owned()).collect())
    }

    #[test]
    fn finds_what_every_match_must_contain() {
        for (pattern, expected) in [
            ("union", Some(vec!["union"])),
            (r"(?i)union\s+select", Some(vec!["select"])),
            (r"(?i)<script[^>]*>", Some(vec!["<script"])),
            (r"(?:\.\./){2,}", Some(vec!["../../"])),
            ("a|b*", None),
            ("[a-z]+", None),
            (r"^/(admin|wp-login)\.php$", Some(vec!["/admin.php", "/wp-login.php"])),
            (r"x(foo|bar)?y", Some(vec!["xbary", "xfooy", "xy"])),
            (r"\bexec\b", Some(vec!["exec"])),
            (r"\d+evil\d+", Some(vec!["evil"])),
            (r"(?i)https?://[^/]*(?:semalt|darodar)\.", Some(vec!["darodar.", "semalt."])),
            ("", None),
            (r"(?s).*", None),
        ] {
            let expected = expected.map(|set| set.into_iter().map(String::from).collect::<Vec<_>>());
            assert_eq!(of(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn every_match_contains_one_of_them() {
        use proptest::strategy::{Strategy, ValueTree};
        use proptest::test_runner::TestRunner;
        let mut runner = TestRunner::deterministic();
        for pattern in [
            r"(?i)(?:union|select)[^a-z]{1,5}from",
            r"(?i)on(?:load|error|click)\s*=",
            r"(?:etc/(?:passwd|shadow)|boot\.ini)",
            r"[;|&]\s*(?:cat|ls|id|wget)\b",
            r"(?:a[bc]{2,3}d|xyz{3}|\x00.{2}q)",
            r"(?i)[ke]x{0,2}ss",
        ] {
            let set = of(pattern);
            let ascii: &str = &pattern.replace("(?i)", "(?i-u)").replace(r"\b", "").replace(r"\s", "[ \t]");
            let strategy = proptest::string::bytes_regex(ascii).unwrap();
            for _ in 0..500 {
                let value = fold(&strategy.new_tree(&mut runner).unwrap().current());
                if let Some(set) = &set {
                    let found = set.iter().any(|literal| memchr::memmem::find(&value, literal.as_bytes()).is_some());
                    assert!(found, "{pattern}: {:?} in {:?}", set, String::from_utf8_lossy(&value));
                }
            }
        }
    }
}
