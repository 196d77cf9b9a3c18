//! What a list of actions means, before defaults and chains are known.

use super::action::{List, Written};
use super::control;
use super::diagnostic::{Report, Spot, shown};
use super::effect;
use super::ir::{AllowScope, Collection, Effect, Flow, Macro, Phase};
use super::macros;
use super::table::action::Kind;
use super::table::transformation;
use weir_transform::Transformation;

/// What a rule's own actions say.
#[derive(Clone, Debug, Default)]
pub(super) struct Actions {
    pub(super) id: Option<(u64, Spot)>,
    pub(super) phase: Option<(Phase, Spot)>,
    pub(super) block: Option<Spot>,
    pub(super) disruptive: Option<(Disruptive, Spot)>,
    pub(super) status: Option<u16>,
    pub(super) log: Option<bool>,
    pub(super) flow: Option<(Flow, Spot)>,
    pub(super) chain: Option<Spot>,
    pub(super) capture: Option<Spot>,
    pub(super) multi_match: Option<Spot>,
    pub(super) message: Option<(Macro, Spot)>,
    pub(super) log_data: Option<(Macro, Spot)>,
    pub(super) severity: Option<(u8, Spot)>,
    pub(super) tags: Vec<(String, Spot)>,
    pub(super) revision: Option<String>,
    pub(super) version: Option<String>,
    pub(super) transformations: Vec<(Transformation, Spot)>,
    /// Whether `t:none` forgets the defaults.
    pub(super) cleared: bool,
    /// `setvar`: at each match.
    pub(super) set: Vec<(Effect, Spot)>,
    /// Other effects: after the whole chain matched.
    pub(super) effects: Vec<(Effect, Spot)>,
    /// Whether all of it could be read.
    pub(super) whole: bool,
}

/// Disruptive actions but `block`.
#[derive(Clone, Debug)]
pub(super) enum Disruptive {
    Pass,
    Deny,
    Drop,
    Redirect(Macro),
    Allow(AllowScope),
}

/// Reads the values of a list.
pub(super) fn read(list: &List, report: &mut Report) -> Actions {
    let mut actions = Actions { whole: list.whole, ..Actions::default() };
    for written in &list.actions {
        if add(&mut actions, written, report).is_none() {
            actions.whole = false;
        }
    }
    actions
}

/// Adds one; `None` if its value is wrong, which is reported.
fn add(actions: &mut Actions, written: &Written, report: &mut Report) -> Option<()> {
    let spot = written.spot;
    let text = |report: &mut Report| macros::parse(&written.value, written.value_spot, report);
    match written.kind() {
        Kind::Id => actions.id = Some((number(written, 1, u64::MAX, report)?, spot)),
        Kind::Phase => actions.phase = Some((phase(written, report)?, spot)),
        Kind::Block => actions.block = Some(spot),
        Kind::Pass => actions.disruptive = Some((Disruptive::Pass, spot)),
        Kind::Deny => actions.disruptive = Some((Disruptive::Deny, spot)),
        Kind::Drop => actions.disruptive = Some((Disruptive::Drop, spot)),
        Kind::Redirect => actions.disruptive = Some((Disruptive::Redirect(text(report)), spot)),
        Kind::Allow => actions.disruptive = Some((Disruptive::Allow(allow(written, report)?), spot)),
        Kind::Status => actions.status = u16::try_from(number(written, 100, 599, report)?).ok(),
        Kind::Log(log) | Kind::AuditLog(log) => actions.log = Some(log),
        Kind::Skip => {
            let count = number(written, 1, u64::from(u32::MAX), report)?;
            actions.flow = Some((Flow::Skip(u32::try_from(count).unwrap_or(u32::MAX)), spot));
        }
        Kind::SkipAfter => actions.flow = Some((Flow::SkipAfter(written.text()), spot)),
        Kind::Chain => actions.chain = Some(spot),
        Kind::Capture => actions.capture = Some(spot),
        Kind::MultiMatch => actions.multi_match = Some(spot),
        Kind::Msg => actions.message = Some((text(report), spot)),
        Kind::LogData => actions.log_data = Some((text(report), spot)),
        Kind::Severity => actions.severity = Some((severity(written, report)?, spot)),
        Kind::Tag => actions.tags.push((written.text(), spot)),
        Kind::Rev => actions.revision = Some(written.text()),
        Kind::Ver => actions.version = Some(written.text()),
        Kind::Transformation => transformation(actions, written, report)?,
        Kind::SetVar => actions.set.push((effect::set_variable(written, report)?, spot)),
        Kind::ExpireVar => actions.effects.push((effect::expire_variable(written, report)?, spot)),
        Kind::InitCol => actions.effects.push((effect::init_collection(written, report)?, spot)),
        Kind::SetEnv => actions.effects.push((effect::set_environment(written, report), spot)),
        Kind::UseRecord(collection) => actions.effects.push((use_record(collection, text(report)), spot)),
        Kind::Ctl => actions.effects.push((Effect::Control(control::parse(written, report)?), spot)),
        Kind::Nothing => {}
    }
    Some(())
}

fn use_record(collection: Collection, record: Macro) -> Effect {
    Effect::InitCollection(collection, record)
}

fn transformation(actions: &mut Actions, written: &Written, report: &mut Report) -> Option<()> {
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

fn number(written: &Written, low: u64, high: u64, report: &mut Report) -> Option<u64> {
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

fn choice<T: Copy>(written: &Written, known: &[(&str, T)], hint: &str, report: &mut Report) -> Option<T> {
    let text = written.text();
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text)).map(|(_, value)| *value);
    if found.is_none() {
        let message = format!("`{}` cannot be `{}`", written.row.name, shown(&written.value));
        report.error(written.value_spot, &text, message, Some(hint));
    }
    found
}

fn phase(written: &Written, report: &mut Report) -> Option<Phase> {
    choice(written, PHASES, "write 1 to 5, request, response or logging", report)
}

fn allow(written: &Written, report: &mut Report) -> Option<AllowScope> {
    choice(written, SCOPES, "write allow, allow:phase or allow:request", report)
}

fn severity(written: &Written, report: &mut Report) -> Option<u8> {
    let digits = ["0", "1", "2", "3", "4", "5", "6", "7"];
    let known: Vec<(&str, u8)> = SEVERITIES.iter().copied().zip(0..).chain(digits.into_iter().zip(0..)).collect();
    choice(written, &known, "write 0 (EMERGENCY) to 7 (DEBUG), or the name", report)
}
