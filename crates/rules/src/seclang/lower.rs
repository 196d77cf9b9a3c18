//! Lowers chains to the rules that are evaluated: merges defaults and places each action where it takes effect.
//!
//! Only the observable parts of ModSecurity v3.0.9's order are kept: `setvar` runs at each match of
//! its own link; all other effects run once the whole chain has matched, those of the last link
//! first, that is, at a match of the last link. A rule without a disruptive action does not
//! disrupt; `block` applies the phase's default, or has no effect if there is none.

use weir_transform::Transformation;

use super::actions::{Actions, Disruptive};
use super::chain::{Chain, Step};
use super::diagnostic::{Report, SourceLocation};
use super::draft;
use super::ir::{Disruption, Effect, Flow, Link, Macro, Rule, RuleSetEntry, SourcePosition, Test};
use super::resolve::merge;

/// Default status of `deny`.
const DENIED: u16 = 403;
/// Default status of `redirect`.
const FOUND: u16 = 302;

/// `SecDefaultAction`s by phase.
pub(super) type Defaults = [Option<Actions>; 6];

/// Defaults of all sources: those of later sources add to those of earlier ones.
pub(super) fn defaults(all: &[draft::Defaults]) -> Defaults {
    let mut defaults = Defaults::default();
    for one in all {
        match &mut defaults[one.phase as usize] {
            Some(known) => merge(known, &one.actions),
            none => *none = Some(one.actions.clone()),
        }
    }
    defaults
}

/// All entries, in their order.
pub(super) fn entries(steps: Vec<Step>, defaults: &Defaults, mapped: bool, report: &Report) -> Vec<RuleSetEntry> {
    let none = Actions::default();
    let entry = |step| match step {
        Step::Marker(name) => RuleSetEntry::Marker(name),
        Step::Chain(chain) => {
            let default = defaults[chain.phase as usize].as_ref().unwrap_or(&none);
            RuleSetEntry::Rule(Box::new(rule(chain, default, mapped, report)))
        }
    };
    steps.into_iter().map(entry).collect()
}

fn place(spot: SourceLocation, report: &Report) -> SourcePosition {
    SourcePosition { file: spot.file, line: report.line(spot) }
}

fn rule(chain: Chain, default: &Actions, mapped: bool, report: &Report) -> Rule {
    let all = || chain.links.iter().map(|link| &link.actions).chain([default]);
    // Earlier links of the chain override later ones.
    let text = |get: fn(&Actions) -> &Option<(Macro, SourceLocation)>| {
        all().find_map(|actions| get(actions).as_ref()).map_or_else(Macro::default, |(text, _)| text.clone())
    };
    let head = &chain.head().actions;
    let status = all().find_map(|actions| actions.status);
    let flow = all().find_map(|actions| actions.flow.as_ref()).map_or(Flow::Next, |(flow, _)| flow.clone());
    let tags = [default].into_iter().chain(chain.links.iter().rev().map(|link| &link.actions));
    Rule {
        id: chain.id,
        phase: chain.phase,
        place: place(chain.head().spot, report),
        message: text(|actions| &actions.message),
        log_data: text(|actions| &actions.log_data),
        severity: all().find_map(|actions| actions.severity).map(|(severity, _)| severity),
        tags: tags.flat_map(|actions| &actions.tags).map(|(tag, _)| tag.clone()).collect(),
        revision: head.revision.clone().unwrap_or_default(),
        version: head.version.clone().unwrap_or_default(),
        log: logged(&chain, default),
        disruption: disruption(head, default, status),
        flow,
        links: links(&chain, default, mapped, report),
    }
}

/// Each link, from the last to the first, contributes the default and then its own setting. A
/// `SecAction` is logged only if it has something to report: a message, or that it blocks.
fn logged(chain: &Chain, default: &Actions) -> bool {
    let said = chain.links.iter().find_map(|link| link.actions.log.or(default.log));
    let head = chain.head();
    let silent = head.test.is_none() && head.actions.block.is_none();
    let message =
        chain.links.iter().map(|link| &link.actions).chain([default]).any(|actions| actions.message.is_some());
    said.unwrap_or(true) && (message || !silent)
}

fn disruption(head: &Actions, default: &Actions, status: Option<u16>) -> Disruption {
    let said = head.disruptive.as_ref().or(default.disruptive.as_ref().filter(|_| head.block.is_some()));
    match said.map(|(disruptive, _)| disruptive) {
        None | Some(Disruptive::Pass) => Disruption::Pass,
        Some(Disruptive::Deny) => Disruption::Deny { status: status.unwrap_or(DENIED) },
        Some(Disruptive::Drop) => Disruption::Drop,
        Some(Disruptive::Allow(scope)) => Disruption::Allow(*scope),
        Some(Disruptive::Redirect(to)) => {
            let status = status.filter(|status| matches!(status, 301 | 302 | 303 | 307 | 308)).unwrap_or(FOUND);
            Disruption::Redirect { status, to: to.clone() }
        }
    }
}

fn links(chain: &Chain, default: &Actions, mapped: bool, report: &Report) -> Vec<Link> {
    let lower = |link: &draft::Link| Link {
        place: place(link.spot, report),
        test: link.test.as_ref().map(test),
        transformations: transformations(&link.actions, default, mapped),
        multi_match: link.actions.multi_match.is_some(),
        capture: link.actions.capture.is_some(),
        effects: link.actions.set.iter().map(|(effect, _)| effect.clone()).collect(),
    };
    let mut links: Vec<Link> = chain.links.iter().map(lower).collect();
    if chain.open {
        let test = Test { targets: vec![], exclusions: vec![], operator: super::ir::Operator::NoMatch, negated: false };
        let place = links[links.len() - 1].place;
        let transformations = Vec::new();
        let never =
            Link { place, test: Some(test), transformations, multi_match: false, capture: false, effects: vec![] };
        links.push(never);
    }
    let last = links.last_mut().expect("a chain has links");
    last.effects.extend(chain_effects(chain, default));
    links
}

/// Effects of the whole chain.
fn chain_effects<'c>(chain: &'c Chain, default: &'c Actions) -> impl Iterator<Item = Effect> + 'c {
    let by_default = move || default.set.iter().chain(&default.effects);
    let links = chain.links.iter().rev().flat_map(move |link| by_default().chain(&link.actions.effects));
    links.map(|(effect, _)| effect.clone())
}

fn transformations(actions: &Actions, default: &Actions, mapped: bool) -> Vec<Transformation> {
    let by_default = default.transformations.iter().filter(|_| !actions.cleared);
    let all = by_default.chain(&actions.transformations).map(|(transformation, _)| *transformation);
    all.map(|one| if mapped { one.with_unicode_map() } else { one }).collect()
}

fn test(test: &draft::Test) -> Test {
    let operator = test.operator.as_ref().expect("rules that could not be read are left out");
    let exclusions = test.targets.exclusions.clone();
    // A target that is excluded verbatim need not be read in the first place.
    let targets = test.targets.targets.iter().filter(|target| !exclusions.contains(target)).cloned().collect();
    Test { targets, exclusions, operator: operator.operator.clone(), negated: operator.negated }
}
