//! Interpretation of an action list, before defaults and chains are known.

use super::action::{RawAction, RawActions};
use super::control;
use super::diagnostic::{Report, SourceLocation, shown};
use super::effect;
use super::ir::{AllowScope, Collection, Effect, Flow, Macro, Phase};
use super::macros;
use super::table::action::ActionKind;
use super::table::transformation;
use weir_transform::Transformation;

/// The actions of one rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Actions {
    pub(super) id: Option<(u64, SourceLocation)>,
    pub(super) phase: Option<(Phase, SourceLocation)>,
    pub(super) block: Option<SourceLocation>,
    pub(super) disruptive: Option<(Disruptive, SourceLocation)>,
    pub(super) status: Option<u16>,
    pub(super) log: Option<bool>,
    pub(super) flow: Option<(Flow, SourceLocation)>,
    pub(super) chain: Option<SourceLocation>,
    pub(super) capture: Option<SourceLocation>,
    pub(super) multi_match: Option<SourceLocation>,
    pub(super) message: Option<(Macro, SourceLocation)>,
    pub(super) log_data: Option<(Macro, SourceLocation)>,
    pub(super) severity: Option<(u8, SourceLocation)>,
    pub(super) tags: Vec<(String, SourceLocation)>,
    pub(super) revision: Option<String>,
    pub(super) version: Option<String>,
    pub(super) transformations: Vec<(Transformation, SourceLocation)>,
    /// Whether `t:none` discards the default transformations.
    pub(super) cleared: bool,
    /// `setvar`, applied at each match.
    pub(super) set: Vec<(Effect, SourceLocation)>,
    /// Other effects, applied after the whole chain has matched.
    pub(super) effects: Vec<(Effect, SourceLocation)>,
    /// Whether the list was read without errors.
    pub(super) whole: bool,
}

/// Disruptive actions except `block`.
#[derive(Clone, Debug)]
pub(super) enum Disruptive {
    Pass,
    Deny,
    Drop,
    Redirect(Macro),
    Allow(AllowScope),
}

/// Interprets an action list.
pub(super) fn read(list: &RawActions, report: &mut Report) -> Actions {
    let mut actions = Actions { whole: list.whole, ..Actions::default() };
    for written in &list.actions {
        if add(&mut actions, written, report).is_none() {
            actions.whole = false;
        }
    }
    actions
}

/// Adds one action; `None` after reporting a wrong value.
fn add(actions: &mut Actions, written: &RawAction, report: &mut Report) -> Option<()> {
    let spot = written.spot;
    let text = |report: &mut Report| macros::parse(&written.value, written.value_spot, report);
    match written.kind() {
        ActionKind::Id => actions.id = Some((number(written, 1, u64::MAX, report)?, spot)),
        ActionKind::Phase => actions.phase = Some((phase(written, report)?, spot)),
        ActionKind::Block => actions.block = Some(spot),
        ActionKind::Pass => actions.disruptive = Some((Disruptive::Pass, spot)),
        ActionKind::Deny => actions.disruptive = Some((Disruptive::Deny, spot)),
        ActionKind::Drop => actions.disruptive = Some((Disruptive::Drop, spot)),
        ActionKind::Redirect => actions.disruptive = Some((Disruptive::Redirect(text(report)), spot)),
        ActionKind::Allow => actions.disruptive = Some((Disruptive::Allow(allow(written, report)?), spot)),
        ActionKind::Status => actions.status = u16::try_from(number(written, 100, 599, report)?).ok(),
        ActionKind::Log(log) => actions.log = Some(log),
        ActionKind::Skip => {
            let count = number(written, 1, u64::from(u32::MAX), report)?;
            actions.flow = Some((Flow::Skip(u32::try_from(count).unwrap_or(u32::MAX)), spot));
        }
        ActionKind::SkipAfter => actions.flow = Some((Flow::SkipAfter(written.text()), spot)),
        ActionKind::Chain => actions.chain = Some(spot),
        ActionKind::Capture => actions.capture = Some(spot),
        ActionKind::MultiMatch => actions.multi_match = Some(spot),
        ActionKind::Msg => actions.message = Some((text(report), spot)),
        ActionKind::LogData => actions.log_data = Some((text(report), spot)),
        ActionKind::Severity => actions.severity = Some((severity(written, report)?, spot)),
        ActionKind::Tag => actions.tags.push((written.text(), spot)),
        ActionKind::Rev => actions.revision = Some(written.text()),
        ActionKind::Ver => actions.version = Some(written.text()),
        ActionKind::Transformation => transformation(actions, written, report)?,
        ActionKind::SetVar => actions.set.push((effect::set_variable(written, report)?, spot)),
        ActionKind::ExpireVar => actions.effects.push((effect::expire_variable(written, report)?, spot)),
        ActionKind::InitCol => actions.effects.push((effect::init_collection(written, report)?, spot)),
        ActionKind::SetEnv => actions.effects.push((effect::set_environment(written, report), spot)),
        ActionKind::UseRecord(collection) => actions.effects.push((use_record(collection, text(report)), spot)),
        ActionKind::Ctl => actions.effects.push((Effect::Control(control::parse(written, report)?), spot)),
        ActionKind::Nothing => {}
    }
    Some(())
}

fn use_record(collection: Collection, record: Macro) -> Effect {
    Effect::InitCollection(collection, record)
}

fn transformation(actions: &mut Actions, written: &RawAction, report: &mut Report) -> Option<()> {
    let name = written.text();
    if name.eq_ignore_ascii_case("none") {
        actions.transformations.clear();
        actions.cleared = true;
        return Some(());
    }
    let Some(transformation) = transformation::find(&name) else {
        let message = format!("expected a transformation, found `{}`", shown(&written.value));
        report.error(written.value_spot, &name, message, transformation::guess(&name).as_deref());
        return None;
    };
    actions.transformations.push((transformation, written.spot));
    Some(())
}

fn number(written: &RawAction, low: u64, high: u64, report: &mut Report) -> Option<u64> {
    let text = written.text();
    let found = text.parse().ok().filter(|number| (low..=high).contains(number));
    if found.is_none() {
        let message = format!("expected a number for `{}`, found `{}`", written.row.name, shown(&written.value));
        let hint = if high < u64::from(u16::MAX) { format!("{low} to {high}") } else { format!("{low} or more") };
        report.error(written.value_spot, &text, message, Some(&hint));
    }
    found
}

const PHASES: &[(&str, Phase)] = &[
    ("1", Phase::RequestHeaders),
    ("2", Phase::RequestBody),
    ("request", Phase::RequestBody),
    ("3", Phase::ResponseHeaders),
    ("4", Phase::ResponseBody),
    ("response", Phase::ResponseBody),
    ("5", Phase::Logging),
    ("logging", Phase::Logging),
];

const SEVERITIES: &[&str] = &["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

const SCOPES: &[(&str, AllowScope)] =
    &[("", AllowScope::All), ("phase", AllowScope::Phase), ("request", AllowScope::Request)];

fn choice<T: Copy>(written: &RawAction, known: &[(&str, T)], hint: &str, report: &mut Report) -> Option<T> {
    let text = written.text();
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text)).map(|(_, value)| *value);
    if found.is_none() {
        let message = format!("`{}` cannot be `{}`", written.row.name, shown(&written.value));
        report.error(written.value_spot, &text, message, Some(hint));
    }
    found
}

fn phase(written: &RawAction, report: &mut Report) -> Option<Phase> {
    choice(written, PHASES, "write 1 to 5, request, response or logging", report)
}

fn allow(written: &RawAction, report: &mut Report) -> Option<AllowScope> {
    choice(written, SCOPES, "write allow, allow:phase or allow:request", report)
}

fn severity(written: &RawAction, report: &mut Report) -> Option<u8> {
    let digits = ["0", "1", "2", "3", "4", "5", "6", "7"];
    let known: Vec<(&str, u8)> = SEVERITIES.iter().copied().zip(0..).chain(digits.into_iter().zip(0..)).collect();
    choice(written, &known, "write 0 (EMERGENCY) to 7 (DEBUG), or the name", report)
}
