//! Operators with unsuitable parameters.

use regex_syntax::hir::{Hir, HirKind};

use crate::seclang::diagnostic::{Report, Severity, SourceLocation, shown};
use crate::seclang::draft::Link;
use crate::seclang::ir::{Operator, PatternText};
use crate::seclang::operator::RawOperator;
use crate::seclang::pattern::Pattern;

/// Maximum depth to which a pattern is inspected.
const MAX_DEPTH: usize = 64;

pub(super) fn check(link: &Link, report: &mut Report) {
    let Some(test) = &link.test else { return };
    let targets = &test.targets;
    if targets.targets.iter().all(|target| targets.exclusions.contains(target)) {
        report.warn(link.spot, "", "the rule has no targets and never matches", None);
    }
    let Some(written) = &test.operator else { return };
    let parameter = &written.parameter;
    if parameter.windows(2).any(|pair| pair == b"\\\n") {
        let hint = "ModSecurity v3 keeps both; write the parameter on one line";
        report.warn(written.spot, "\\", "a backslash and a line end are part of the parameter", Some(hint));
    }
    match &written.operator {
        Operator::Compare(_, text) => {
            let number = text.as_text().map(|text| String::from_utf8_lossy(text).trim().parse::<i64>());
            if let Some(Err(_)) = number {
                let message = format!("`{}` is not a number and counts as 0", shown(parameter));
                report.warn(written.spot, &shown(parameter), message, Some("`@streq` compares texts"));
            }
        }
        Operator::Rx { pattern: PatternText::Ready(pattern), .. } => rx(pattern, written, report),
        _ => {}
    }
}

fn rx(pattern: &Pattern, written: &RawOperator, report: &mut Report) {
    let source = pattern.source();
    if let Some((operator, text)) = literal_operator(source) {
        let hint = format!("`@{operator} {text}` is equivalent and cheaper");
        report.add(Severity::Note, written.spot, source, "a pattern without special characters".into(), Some(hint));
    }
    let anchored = ["^", r"\A", "(?i)^", "(?i:^"].iter().any(|start| source.starts_with(start));
    if written.negated && !anchored && !source.ends_with('$') {
        let hint = "write ^ before and $ after it if the whole value is meant";
        report.warn(
            written.spot,
            source,
            "the negated pattern is not anchored: a value that contains it anywhere passes",
            Some(hint),
        );
    }
    nested(pattern, written.spot, report);
}

/// The operator equivalent to a pattern without special characters, with its parameter.
fn literal_operator(source: &str) -> Option<(&'static str, &str)> {
    let inside = source.strip_prefix('^').unwrap_or(source);
    let begins = inside.len() < source.len();
    let text = inside.strip_suffix('$').unwrap_or(inside);
    let ends = text.len() < inside.len();
    let special = |character: char| r"\^$.|?*+()[]{}".contains(character);
    if text.is_empty() || text.contains(special) {
        return None;
    }
    let operator = match (begins, ends) {
        (true, true) => "streq",
        (true, false) => "beginsWith",
        (false, true) => "endsWith",
        (false, false) => "contains",
    };
    Some((operator, text))
}

/// Nested repetitions, for which a backtracking matcher may take exponential time.
fn nested(pattern: &Pattern, spot: SourceLocation, report: &mut Report) {
    if pattern.needs_backtracking() {
        let message = "look-around or a back-reference that takes backtracking: dear for the requests that it tests";
        report.note(spot, pattern.source(), message);
        return;
    }
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).nest_limit(512).build();
    if parser.parse(pattern.rust()).is_ok_and(|hir| has_nested(&hir, false, 0)) {
        let message = "a repetition inside a repetition: harmless here, because patterns run in linear time";
        report.note(spot, pattern.source(), message);
    }
}

fn has_nested(hir: &Hir, inside: bool, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let unbounded = repetition.max.is_none();
            (unbounded && inside) || has_nested(&repetition.sub, inside || unbounded, depth + 1)
        }
        HirKind::Capture(group) => has_nested(&group.sub, inside, depth + 1),
        // After a fixed part, a repetition can begin at few positions only.
        HirKind::Concat(parts) => {
            let fixed = parts.iter().any(|part| matches!(part.kind(), HirKind::Literal(_)));
            parts.iter().any(|part| has_nested(part, inside && !fixed, depth + 1))
        }
        HirKind::Alternation(parts) => parts.iter().any(|part| has_nested(part, inside, depth + 1)),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}
