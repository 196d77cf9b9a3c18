//! Operators and their parameters.

use std::path::Path;
use std::sync::Arc;

use super::diagnostic::{Report, SourceLocation, shown};
use super::ir::{Operator, PatternText};
use super::macros;
use super::pattern::Pattern;
use super::phrases;
use super::source::Files;
use super::table::operator::{OPERATORS, OperatorKind, PlainOperator, TextOperator};
use super::table::variable::refusal;
use super::table::{Row, Status, find, guess};
use crate::confined;

/// A parsed operator with its text.
#[derive(Clone, Debug)]
pub(super) struct RawOperator {
    pub(super) operator: Operator,
    pub(super) negated: bool,
    /// Start of the parameter, and its text.
    pub(super) spot: SourceLocation,
    pub(super) parameter: Vec<u8>,
}

/// The environment of an operator: the files that it may name.
pub(super) struct Context<'f> {
    pub(super) files: &'f dyn Files,
    /// Directory of the rule file.
    pub(super) directory: &'f Path,
    /// Whether `@geoLookup` has a database.
    pub(super) geo: bool,
}

/// Parses an operator; `None` after reporting an error.
pub(super) fn parse(
    text: &[u8],
    spot: SourceLocation,
    context: &Context<'_>,
    report: &mut Report,
) -> Option<RawOperator> {
    let (negated, text, spot) = match text {
        [b'!', rest @ ..] => (true, rest, spot.plus(1)),
        _ => (false, text, spot),
    };
    let blanks = text.len() - text.trim_ascii_start().len();
    let (text, spot) = (&text[blanks..], spot.plus(blanks));
    if text.len() > report.limits.value_bytes {
        let message = format!("the operator is longer than {} bytes", report.limits.value_bytes);
        report.error(spot, "", message, None);
        return None;
    }
    let Some(named) = text.strip_prefix(b"@") else {
        let operator = rx(text, false, spot, report)?;
        return Some(RawOperator { operator, negated, spot, parameter: text.to_vec() });
    };
    let length = named.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(named.len());
    let name = String::from_utf8_lossy(&named[..length]);
    let Some(row) = find(OPERATORS, &name) else {
        let near = guess(OPERATORS, &name).map(|hint| hint.replacen('`', "`@", 1));
        let hint = near.unwrap_or_else(|| "a pattern that begins with @ needs `@rx` before it".into());
        report.error(spot, &name, format!("expected an operator, found `@{}`", shown(name.as_bytes())), Some(&hint));
        return None;
    };
    if let Some(why) = refusal(row) {
        report.unsupported(spot, &format!("@{}", row.name), why);
        return None;
    }
    let rest = &named[length..];
    let (parameter, skipped) = match rest {
        [b' ' | b'\t', rest @ ..] => (rest, 1),
        [] => (rest, 0),
        _ => {
            let message = format!("expected a blank after `@{}`", row.name);
            report.error(spot.plus(1 + length), &shown(rest), message, None);
            return None;
        }
    };
    let at = spot.plus(1 + length + skipped);
    let operator = operator(row, parameter, at, context, report)?;
    let known = matches!(row.kind, OperatorKind::Plain(PlainOperator::GeoLookup)) && context.geo;
    if let Status::OffByDefault(why) = row.status
        && !known
    {
        report.note(spot, row.name, format!("`@{}` {why}", row.name));
    }
    Some(RawOperator { operator, negated, spot: at, parameter: parameter.to_vec() })
}

fn operator(
    row: &'static Row<OperatorKind>,
    parameter: &[u8],
    spot: SourceLocation,
    context: &Context<'_>,
    report: &mut Report,
) -> Option<Operator> {
    if let OperatorKind::Plain(plain) = row.kind {
        if !parameter.trim_ascii().is_empty() {
            let message = format!("`@{}` takes no parameter", row.name);
            report.error(spot, &shown(parameter), message, None);
            return None;
        }
        return Some(without_parameter(plain));
    }
    if parameter.is_empty() {
        report.error(spot, row.name, format!("`@{}` needs a parameter", row.name), None);
        return None;
    }
    match row.kind {
        OperatorKind::Plain(_) | OperatorKind::Lacking => None,
        OperatorKind::Text(text) => Some(with_text(text, macros::parse(parameter, spot, report))),
        OperatorKind::Compare(comparison) => {
            Some(Operator::Compare(comparison, macros::parse(parameter, spot, report)))
        }
        OperatorKind::Rx(global) => rx(parameter, global, spot, report),
        OperatorKind::Verify(verify) => Some(Operator::Verify(verify, pattern(parameter, spot, report)?)),
        OperatorKind::Rbl => Some(Operator::Rbl(text(parameter, spot, report)?.trim().to_owned())),
        OperatorKind::Pm => phrase_list(phrases::words(parameter), row, spot, report),
        OperatorKind::PmFromFile => {
            let content = file(parameter, spot, context, report)?;
            phrase_list(phrases::lines(&content), row, spot, report)
        }
        OperatorKind::IpMatch => match phrases::networks(text(parameter, spot, report)?) {
            Ok(networks) => Some(Operator::IpMatch(Arc::new(networks))),
            Err((at, word)) => {
                let message = format!("expected an address or a network, found `{}`", shown(word.as_bytes()));
                report.error(spot.plus(at), &word, message, Some("such as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32"));
                None
            }
        },
        OperatorKind::IpMatchFromFile => match phrases::network_lines(&file(parameter, spot, context, report)?) {
            Ok(networks) => Some(Operator::IpMatch(Arc::new(networks))),
            Err((line, _)) => {
                // What the file says is not shown: its name may have been a secret's.
                let file = shown(parameter);
                report.error(spot, &file, format!("line {line} of `{file}` is no address or network"), None);
                None
            }
        },
        OperatorKind::ByteRange => match phrases::bytes(text(parameter, spot, report)?) {
            Ok(set) => Some(Operator::ValidateByteRange(set)),
            Err(word) => {
                let message = format!("expected a byte or a range of bytes, found `{}`", shown(word.as_bytes()));
                report.error(spot, &word, message, Some("such as 9,10,13,32-126"));
                None
            }
        },
    }
}

fn without_parameter(plain: PlainOperator) -> Operator {
    match plain {
        PlainOperator::UnconditionalMatch => Operator::UnconditionalMatch,
        PlainOperator::NoMatch => Operator::NoMatch,
        PlainOperator::DetectSqli => Operator::DetectSqli,
        PlainOperator::DetectXss => Operator::DetectXss,
        PlainOperator::ValidateUrlEncoding => Operator::ValidateUrlEncoding,
        PlainOperator::ValidateUtf8Encoding => Operator::ValidateUtf8Encoding,
        PlainOperator::GeoLookup => Operator::GeoLookup,
    }
}

fn with_text(text: TextOperator, parameter: super::ir::Macro) -> Operator {
    match text {
        TextOperator::Within => Operator::Within(parameter),
        TextOperator::Contains => Operator::Contains(parameter),
        TextOperator::ContainsWord => Operator::ContainsWord(parameter),
        TextOperator::StrMatch => Operator::StrMatch(parameter),
        TextOperator::BeginsWith => Operator::BeginsWith(parameter),
        TextOperator::EndsWith => Operator::EndsWith(parameter),
        TextOperator::StrEq => Operator::StrEq(parameter),
    }
}

fn rx(parameter: &[u8], global: bool, spot: SourceLocation, report: &mut Report) -> Option<Operator> {
    if parameter.is_empty() {
        report.error(spot, "", "expected a pattern", Some("`@unconditionalMatch` always matches"));
        return None;
    }
    let pattern = if macros::has_any(parameter) {
        PatternText::Macro(macros::parse(parameter, spot, report))
    } else {
        PatternText::Ready(pattern(parameter, spot, report)?)
    };
    Some(Operator::Rx { pattern, global })
}

fn pattern(parameter: &[u8], spot: SourceLocation, report: &mut Report) -> Option<Arc<Pattern>> {
    let text = text(parameter, spot, report)?;
    match Pattern::parse(text) {
        Ok(pattern) => Some(Arc::new(pattern)),
        Err(error) => {
            report.error(spot.plus(error.offset), text, error.message, error.hint.as_deref());
            None
        }
    }
}

fn text<'p>(parameter: &'p [u8], spot: SourceLocation, report: &mut Report) -> Option<&'p str> {
    let text = std::str::from_utf8(parameter);
    if text.is_err() {
        report.error(spot, &shown(parameter), "expected UTF-8", Some("write other bytes as \\xHH"));
    }
    text.ok()
}

fn phrase_list(
    phrases: Vec<Vec<u8>>,
    row: &Row<OperatorKind>,
    spot: SourceLocation,
    report: &mut Report,
) -> Option<Operator> {
    if phrases.is_empty() {
        report.error(spot, row.name, format!("`@{}` has no phrases", row.name), Some("`@noMatch` never matches"));
        return None;
    }
    Some(Operator::Pm(Arc::new(phrases)))
}

/// Reads a file named by a rule, relative to the rule file.
fn file(parameter: &[u8], spot: SourceLocation, context: &Context<'_>, report: &mut Report) -> Option<Vec<u8>> {
    let name = text(parameter, spot, report)?.trim();
    if name.starts_with("https://") || name.starts_with("http://") {
        report.unsupported(spot, name, "data can only be read from files");
        return None;
    }
    let path = context.directory.join(name);
    match context.files.read(&path, report.limits.file_bytes) {
        Ok(content) if report.spend(content.len(), spot) => Some(content),
        Ok(_) => None,
        Err(error) => {
            let message = format!("cannot read `{}`: {}", path.display(), confined::reason(&error));
            report.error(spot, name, message, Some("names are relative to the file that holds the rule"));
            None
        }
    }
}
