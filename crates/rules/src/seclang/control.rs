//! Values of `ctl`, and lists of rule ids.

use super::action::RawAction;
use super::cursor::Cursor;
use super::diagnostic::{Report, SourceLocation, shown};
use super::ir::{BodyProcessor, Control, Engine, Target, TextMatch};
use super::selector;
use super::table::control::{CONTROLS, ControlKind};
use super::table::variable::refusal;
use super::table::{find, guess};

const SWITCH: &[(&str, bool)] = &[("On", true), ("Off", false)];

const ENGINES: &[(&str, Engine)] =
    &[("On", Engine::On), ("Off", Engine::Off), ("DetectionOnly", Engine::DetectionOnly)];

const PROCESSORS: &[(&str, BodyProcessor)] = &[
    ("URLENCODED", BodyProcessor::UrlEncoded),
    ("MULTIPART", BodyProcessor::Multipart),
    ("XML", BodyProcessor::Xml),
    ("JSON", BodyProcessor::Json),
];

/// Parses the value of a `ctl` action.
pub(super) fn parse(written: &RawAction, report: &mut Report) -> Option<Control> {
    let text = written.text();
    let spot = written.value_spot;
    let (name, value) = text.split_once('=').unwrap_or((&text, ""));
    let Some(row) = find(CONTROLS, name) else {
        let message = format!("expected a `ctl` option, found `{}`", shown(name.as_bytes()));
        report.error(spot, name, message, guess(CONTROLS, name).as_deref());
        return None;
    };
    if let Some(why) = refusal(row) {
        report.unsupported(spot, &format!("ctl:{}", row.name), why);
        return None;
    }
    let at = spot.plus(name.len() + 1);
    if value.is_empty() {
        let hint = format!("write ctl:{}=...", row.name);
        report.error(at, name, format!("`ctl:{}` needs a value", row.name), Some(&hint));
        return None;
    }
    let switch = |report: &mut Report| choice(value, SWITCH, at, report);
    Some(match row.kind {
        ControlKind::Ignored => Control::Ignored,
        ControlKind::RuleEngine => Control::RuleEngine(choice(value, ENGINES, at, report)?),
        ControlKind::RequestBodyAccess => Control::RequestBodyAccess(switch(report)?),
        ControlKind::ResponseBodyAccess => Control::ResponseBodyAccess(switch(report)?),
        ControlKind::ForceRequestBodyVariable => Control::ForceRequestBodyVariable(switch(report)?),
        ControlKind::RequestBodyProcessor => Control::RequestBodyProcessor(choice(value, PROCESSORS, at, report)?),
        ControlKind::RemoveById => Control::RemoveById(ids(value, at, report)?),
        ControlKind::RemoveByTag => Control::RemoveByTag(exactly(value)),
        ControlKind::RemoveByMsg => Control::RemoveByMessage(exactly(value)),
        ControlKind::RemoveTargetById => {
            let (ids_text, target) = target(value, at, report)?;
            Control::RemoveTargetById(ids(ids_text, at, report)?, target)
        }
        ControlKind::RemoveTargetByTag => {
            let (tag, target) = target(value, at, report)?;
            Control::RemoveTargetByTag(exactly(tag), target)
        }
        ControlKind::RemoveTargetByMsg => {
            let (message, target) = target(value, at, report)?;
            Control::RemoveTargetByMessage(exactly(message), target)
        }
    })
}

/// Version 3 compares tags and messages literally; version 2 accepted patterns here.
fn exactly(text: &str) -> TextMatch {
    TextMatch::Exact(text.to_owned())
}

fn choice<T: Copy>(value: &str, known: &[(&str, T)], spot: SourceLocation, report: &mut Report) -> Option<T> {
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let message = format!("expected {}, found `{}`", names.join(" or "), shown(value.as_bytes()));
        report.error(spot, value, message, None);
    }
    found
}

/// Splits `selector;VARIABLE:member`.
fn target<'v>(value: &'v str, spot: SourceLocation, report: &mut Report) -> Option<(&'v str, Target)> {
    let Some((which, variable)) = value.split_once(';') else {
        let hint = "such as ctl:ruleRemoveTargetById=942100;ARGS:comment";
        report.error(spot, value, "expected `;` and a variable", Some(hint));
        return None;
    };
    let mut cursor = Cursor::new(variable.as_bytes(), spot.plus(which.len() + 1));
    let target = selector::target(&mut cursor, false, report)?;
    if !cursor.rest().is_empty() {
        let rest = shown(cursor.rest());
        report.error(cursor.spot(), &rest, format!("unexpected `{rest}` after the variable"), None);
        return None;
    }
    Some((which, target))
}

/// Ids and ranges: `1 2-5`, also separated by commas.
pub(super) fn ids(text: &str, spot: SourceLocation, report: &mut Report) -> Option<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    for word in text.split([' ', ',', '\t']).map(|word| word.trim_matches(['"', '\''])) {
        if word.is_empty() {
            continue;
        }
        let (low, high) = word.split_once('-').unwrap_or((word, word));
        match low.trim().parse().ok().zip(high.trim().parse().ok()) {
            Some((low, high)) if low <= high => found.push((low, high)),
            _ => {
                let message = format!("expected a rule's id or a range of ids, found `{}`", shown(word.as_bytes()));
                report.error(spot, word, message, Some("such as 942100 or 942100-942199"));
                return None;
            }
        }
    }
    if found.is_empty() {
        report.error(spot, text, "expected a rule's id", None);
        return None;
    }
    Some(found)
}
