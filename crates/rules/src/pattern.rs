//! The patterns of `matches` and `wildcard`, checked when the policy is loaded.
//!
//! Regular expressions use the syntax of Rust's `regex` crate over bytes, which matches in linear time: no
//! look-around, no back-references. Unicode is off unless the pattern turns it on with `(?u)`: `\w`, `\d`, `\s` and
//! `(?i)` mean ASCII, `.` is any byte except a newline, `\xff` is that byte. Requests need not be UTF-8, least of all
//! an attacker's, and ASCII classes produce automata that are a hundred times smaller.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::error::{Errors, Span};
use crate::limits::{MAX_AUTOMATON_BYTES, MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH};
use crate::quoted::Quoted;

/// The regular-expression parser configured for this dialect: Unicode is off, and matches need not
/// be UTF-8. Code that compiles a pattern must use the same settings.
#[must_use]
pub fn regex_parser() -> regex_syntax::Parser {
    regex_syntax::ParserBuilder::new().unicode(false).utf8(false).nest_limit(MAX_PATTERN_DEPTH).build()
}

/// Checks the `matches` pattern at `span`.
pub(crate) fn regex(quoted: &Quoted, span: Span, errors: &mut Errors) -> Option<String> {
    if quoted.bytes.len() > MAX_PATTERN_BYTES {
        let hint = "split the pattern into several comparisons joined by `or`".to_owned();
        errors.add(span, format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"), Some(hint));
        return None;
    }
    let Ok(pattern) = std::str::from_utf8(&quoted.bytes) else {
        errors.add(span, "the pattern is not UTF-8", Some("write single bytes as \\xHH".into()));
        return None;
    };
    match regex_parser().parse(pattern) {
        Ok(hir) => {
            let bytes = automaton_bytes(&hir);
            if bytes > MAX_AUTOMATON_BYTES {
                let (needed, most) = (bytes >> 10, MAX_AUTOMATON_BYTES >> 10);
                let message = format!("the pattern needs an automaton of {needed} KiB, at most {most} are allowed");
                errors.add(span, message, Some("reduce the repetition counts, or use `+` and `*`".into()));
                return None;
            }
            Some(pattern.to_owned())
        }
        Err(error) => {
            let (start, end, message) = match &error {
                regex_syntax::Error::Parse(error) => {
                    (error.span().start.offset, error.span().end.offset, error.kind().to_string())
                }
                regex_syntax::Error::Translate(error) => {
                    (error.span().start.offset, error.span().end.offset, error.kind().to_string())
                }
                other => (0, pattern.len(), other.to_string()),
            };
            let place = Span::new(quoted.origin(start), quoted.origin(end));
            let hint = hint(&message);
            errors.add(place, format!("regular expression: {message}"), hint);
            None
        }
    }
}

/// Advice for mistakes common among users of other dialects.
fn hint(message: &str) -> Option<String> {
    const HINTS: &[(&str, &str)] = &[
        (
            "look-around",
            "matching is linear in the input, so there is no look-around; use two comparisons with `and` and `not`",
        ),
        ("backreferences", "matching is linear in the input, so there are no back-references"),
        ("Unicode not allowed", "Unicode is off; turn it on with (?u) at the beginning of the pattern"),
        ("unrecognized escape", "write `\\\\` for a backslash"),
        ("unclosed group", "write `\\(` for a parenthesis"),
        ("unopened group", "write `\\)` for a parenthesis"),
        ("unclosed character class", "write `\\[` for a bracket"),
        ("repetition operator missing", "write `\\*`, `\\+` or `\\?` for the character itself"),
    ];
    HINTS.iter().find(|(part, _)| message.contains(part)).map(|(_, hint)| (*hint).to_owned())
}

/// Upper bound on the size of the pattern's automaton, with repetitions unfolded. The weights are what
/// `regex-automata` uses while it builds the forward and reverse automata, rounded up; a test compares them.
fn automaton_bytes(hir: &Hir) -> usize {
    const STATE: usize = 64;
    const RANGE: usize = 8;
    // Unicode classes unfold to byte sequences: a few states always, and some for each range.
    const UNICODE: usize = 1600;
    const UNICODE_RANGE: usize = 128;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) => literal.0.len() * STATE,
        HirKind::Class(Class::Bytes(class)) => STATE + class.ranges().len() * RANGE,
        HirKind::Class(Class::Unicode(class)) => UNICODE + class.ranges().len() * UNICODE_RANGE,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            automaton_bytes(&repetition.sub).saturating_add(2 * STATE).saturating_mul(times)
        }
        HirKind::Capture(capture) => automaton_bytes(&capture.sub).saturating_add(2 * STATE),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            let parts = all.iter().map(|one| automaton_bytes(one).saturating_add(RANGE));
            parts.fold(2 * STATE, usize::saturating_add)
        }
    }
}

/// Checks a `wildcard` pattern and returns it with consecutive stars merged.
pub(crate) fn wildcard(quoted: &Quoted, span: Span, errors: &mut Errors) -> Option<Vec<u8>> {
    if quoted.bytes.len() > MAX_PATTERN_BYTES {
        errors.add(span, format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"), None);
        return None;
    }
    let mut pattern = Vec::with_capacity(quoted.bytes.len());
    let mut bytes = quoted.bytes.iter().copied();
    let mut star = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' if star => continue,
            b'\\' => {
                let Some(escaped @ (b'*' | b'\\')) = bytes.next() else {
                    let hint = "in a wildcard pattern a backslash is written r\"\\\\\", a star r\"\\*\"".to_owned();
                    errors.add(
                        span,
                        "a backslash in a wildcard pattern stands before `*` or another backslash",
                        Some(hint),
                    );
                    return None;
                };
                pattern.extend([b'\\', escaped]);
            }
            byte => pattern.push(byte),
        }
        star = byte == b'*';
    }
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use regex_automata::nfa::thompson::{Config, NFA, WhichCaptures};
    use regex_automata::util::syntax;

    use super::*;

    /// The largest repetition count that is accepted.
    fn largest(part: &str) -> String {
        let (mut low, mut high) = (1, 100_000);
        while low + 1 < high {
            let middle = (low + high) / 2;
            let hir = regex_parser().parse(&format!("(?:{part}){{{middle}}}")).expect("a pattern");
            if automaton_bytes(&hir) <= MAX_AUTOMATON_BYTES { low = middle } else { high = middle }
        }
        format!("(?:{part}){{{low}}}")
    }

    #[test]
    fn what_passes_compiles_within_the_same_bound() {
        let parts = [
            "a",
            r"\w",
            "[acegikmoqsuwy]",
            "a|b|cde|foo|bar",
            "a?",
            "x*",
            "(a{1,3}b)",
            "((a)(b)(c))",
            "^",
            "(?i)select",
            ".",
            r"(?u)\w",
            r"(?u)\P{Greek}",
            "(?u)[^a]",
            "(?u).",
            "(?iu)[a-z]",
            "(?u)[é-ö]",
            "(?u)é",
            r"\b|\xff",
        ];
        for part in parts {
            let pattern = largest(part);
            for reverse in [false, true] {
                let captures = if reverse { WhichCaptures::None } else { WhichCaptures::All };
                let config = Config::new().utf8(false).reverse(reverse).which_captures(captures);
                let built = NFA::compiler()
                    .syntax(syntax::Config::new().utf8(false).unicode(false))
                    .configure(config.nfa_size_limit(Some(MAX_AUTOMATON_BYTES)))
                    .build(&pattern);
                assert!(built.is_ok(), "{pattern}, reverse: {reverse}");
            }
        }
    }
}
