//! The patterns of `matches` and `wildcard`, checked when the policy is loaded.
//!
//! Regular expressions are in the syntax of Rust's `regex` crate, over bytes, which matches
//! in linear time: no look-around, no back-references. Unicode is off unless the pattern
//! turns it on with `(?u)`: `\w`, `\d`, `\s` and `(?i)` mean ASCII, `.` is any byte but a
//! newline, `\xff` is that byte. Requests need not be UTF-8, attackers least of all, and
//! ASCII classes make automata that are a hundred times smaller.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::error::{Errors, Span};
use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH, MAX_PATTERN_STATES};
use crate::quoted::Quoted;

/// The regular-expression parser set up for the language's dialect: Unicode off, and matches
/// need not be UTF-8. Whoever compiles a pattern must use the same settings.
#[must_use]
pub fn regex_parser() -> regex_syntax::Parser {
    regex_syntax::ParserBuilder::new().unicode(false).utf8(false).nest_limit(MAX_PATTERN_DEPTH).build()
}

/// Checks the pattern of `matches` that stands at `span`.
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
            let states = states(&hir);
            if states > MAX_PATTERN_STATES {
                let message = format!("the pattern needs {states} automaton states, {MAX_PATTERN_STATES} are allowed");
                errors.add(span, message, Some("make the counts of repetitions smaller, or use `+` and `*`".into()));
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

/// Advice for the mistakes that people make who know other dialects.
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

/// About how many states the pattern's automaton has, with repetitions unfolded.
fn states(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().max(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            states(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().fold(1, |sum, one| states(one).saturating_add(sum))
        }
    }
}

/// Checks the pattern of `wildcard` and gives it with runs of stars made one.
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
