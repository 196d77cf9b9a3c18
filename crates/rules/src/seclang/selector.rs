//! Variables of a rule and the selection of their members.

use std::sync::Arc;

use super::cursor::Cursor;
use super::diagnostic::{Report, SourceLocation, shown};
use super::ir::{Selector, Target, Variable};
use super::pattern::Pattern;
use super::table::variable::{Meaning, VARIABLES, refusal};
use super::table::{Row, find, guess};

/// A parsed list of variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    pub(super) targets: Vec<Target>,
    pub(super) exclusions: Vec<Target>,
    /// Whether the list was read without errors.
    pub(super) whole: bool,
}

/// Reads a list of variables, quoted or up to a blank.
pub(super) fn targets(cursor: &mut Cursor<'_>, report: &mut Report) -> Targets {
    let mut found = Targets { whole: true, ..Targets::default() };
    let quoted = cursor.eat(b'"');
    loop {
        let exclusion = cursor.eat(b'!');
        let count = !exclusion && cursor.eat(b'&');
        match target(cursor, count, report) {
            Some(target) if exclusion => found.exclusions.push(target),
            Some(target) => found.targets.push(target),
            None => found.whole = false,
        }
        if !(cursor.eat(b'|') || cursor.eat(b',')) {
            break;
        }
        if quoted {
            cursor.blanks();
        }
    }
    if quoted && !cursor.eat(b'"') {
        report.error(cursor.spot(), "", "expected `|` or `\"` after a variable", None);
        found.whole = false;
    }
    if found.targets.len() + found.exclusions.len() > report.limits.targets {
        let message = format!("more than {} variables", report.limits.targets);
        report.error(cursor.spot(), "", message, None);
        found.whole = false;
    }
    found
}

/// Reads one variable with its selector.
pub(super) fn target(cursor: &mut Cursor<'_>, count: bool, report: &mut Report) -> Option<Target> {
    let (start, spot) = (cursor.at, cursor.spot());
    let name = cursor.name();
    let Some(row) = find(VARIABLES, name) else {
        skip(cursor);
        let end = cursor.bytes[start..cursor.at].to_vec();
        let found = if name.is_empty() { shown(&end) } else { name.to_owned() };
        let what = if found.is_empty() { "nothing".to_owned() } else { format!("`{found}`") };
        let message = format!("expected a variable, found {what}");
        report.error(spot, &found, message, guess(VARIABLES, name).as_deref());
        return None;
    };
    let selected = matches!(cursor.peek(), Some(b':' | b'.'));
    let selector = if selected {
        cursor.at += 1;
        selector(cursor, row, report)?
    } else {
        Selector::All
    };
    let Some(variable) = row.kind.variable else {
        report.unsupported(spot, name, refusal(row).unwrap_or_default());
        return None;
    };
    if selected && !row.kind.members {
        report.error(
            spot,
            name,
            format!("`{}` has no members", row.name),
            Some("remove the colon and the text after it"),
        );
        return None;
    }
    Some(Target { variable, selector, count })
}

/// Skips to where the next variable may begin.
fn skip(cursor: &mut Cursor<'_>) {
    cursor.take_while(|byte| !is_delimiter(byte));
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'|' | b',' | b'"' | b' ' | b'\t' | b'\n' | b'\r')
}

/// Reads the text after the colon.
fn selector(cursor: &mut Cursor<'_>, row: &Row<Meaning>, report: &mut Report) -> Option<Selector> {
    let spot = cursor.spot();
    let xml = row.kind.variable == Some(Variable::Xml);
    if cursor.eat(b'\'') {
        let Some(text) = cursor.quoted(b'\'') else {
            report.error(spot, "'", "the quote is not closed", None);
            skip(cursor);
            return None;
        };
        return interpret(row, text, spot.plus(1), report);
    }
    if cursor.peek() == Some(b'/') && !xml {
        let rest = cursor.rest();
        if let Some(end) = pattern_end(rest) {
            cursor.at += end;
            return interpret(row, &rest[..end], spot, report);
        }
    }
    let text = cursor.take_while(|byte| !is_delimiter(byte));
    if text.is_empty() {
        report.error(spot, row.name, "expected a member's name after the colon", None);
        return None;
    }
    interpret(row, text, spot, report)
}

/// Length of `/pattern/`: its last slash is unescaped and followed by a delimiter.
fn pattern_end(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for at in 1..text.len() {
        match text[at] {
            b'\n' | b'"' if !escaped => return None,
            b'/' if !escaped && text.get(at + 1).is_none_or(|&next| is_delimiter(next)) => return Some(at + 1),
            _ => {}
        }
        escaped = text[at] == b'\\' && !escaped;
    }
    None
}

/// Interprets a selector.
pub(super) fn interpret(
    row: &Row<Meaning>,
    text: &[u8],
    spot: SourceLocation,
    report: &mut Report,
) -> Option<Selector> {
    let variable = row.kind.variable?;
    if variable == Variable::Xml {
        if matches!(text, b"/*" | b"//@*") {
            return Some(Selector::Name(text.to_vec()));
        }
        report.unsupported(spot, &shown(text), "XPath is limited to `/*`, all texts, and `//@*`, all attributes");
        return None;
    }
    match text {
        [b'/', inside @ .., b'/'] if !inside.is_empty() => pattern(inside, spot.plus(1), report).map(Selector::Pattern),
        _ => Some(Selector::Name(name(variable, text))),
    }
}

/// A pattern on names, which ignores case.
fn pattern(text: &[u8], spot: SourceLocation, report: &mut Report) -> Option<Arc<Pattern>> {
    const IGNORE_CASE: &str = "(?i)";
    let Ok(text) = std::str::from_utf8(text) else {
        report.error(spot, &shown(text), "a pattern must be UTF-8", Some("write other bytes as \\xHH"));
        return None;
    };
    match Pattern::parse(&format!("{IGNORE_CASE}{text}")) {
        Ok(pattern) => Some(Arc::new(pattern)),
        Err(error) => {
            let at = spot.plus(error.offset.saturating_sub(IGNORE_CASE.len()));
            report.error(at, text, error.message, error.hint.as_deref());
            None
        }
    }
}

/// A member name, in lower case except for XPath.
pub(super) fn name(variable: Variable, text: &[u8]) -> Vec<u8> {
    if variable == Variable::Xml { text.to_vec() } else { text.to_ascii_lowercase() }
}
