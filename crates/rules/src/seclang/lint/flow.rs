//! Control flow: skips to markers, and rules that remove other rules.

use super::RuleSummary;
use crate::seclang::chain::Chain;
use crate::seclang::diagnostic::{Report, SourceLocation};
use crate::seclang::ir::{Control, Effect, Flow, Phase, TextMatch};

pub(super) fn check(chain: &Chain, at: usize, set: &RuleSummary<'_>, report: &mut Report) {
    for link in &chain.links {
        if let Some((Flow::SkipAfter(name), spot)) = &link.actions.flow {
            marker(name, *spot, at, set, report);
        }
        for (effect, spot) in &link.actions.effects {
            if let Effect::Control(control) = effect {
                self::control(control, *spot, (chain.phase, at), set, report);
            }
        }
    }
}

fn marker(name: &str, spot: SourceLocation, at: usize, set: &RuleSummary<'_>, report: &mut Report) {
    let id = || name.parse().ok().and_then(|id: u64| set.rules.get(&id)).map(|(_, at)| *at);
    match set.markers.get(name).copied().or_else(id) {
        Some(marker) if marker > at => {}
        Some(_) => report.warn(
            spot,
            name,
            format!("the marker `{name}` is before this rule: the rest of the phase is skipped"),
            None,
        ),
        None => report.warn(spot, name, format!("there is no marker `{name}`: the rest of the phase is skipped"), None),
    }
}

fn control(control: &Control, spot: SourceLocation, here: (Phase, usize), set: &RuleSummary<'_>, report: &mut Report) {
    match control {
        Control::RemoveById(ranges) | Control::RemoveTargetById(ranges, _) => {
            for &(low, high) in ranges {
                let rules = || set.rules.range(low..=high).map(|(_, place)| *place);
                let name = if low == high { format!("rule {low}") } else { format!("rule from {low} to {high}") };
                if rules().next().is_none() {
                    report.warn(spot, &name, format!("there is no {name}"), None);
                } else if rules().all(|place| place <= here) {
                    runs_earlier(&name, spot, report);
                }
            }
        }
        Control::RemoveByTag(TextMatch::Exact(tag)) | Control::RemoveTargetByTag(TextMatch::Exact(tag), _) => {
            selected_rules(("tag", tag), set.tags.get(tag.as_str()), spot, here, report);
        }
        Control::RemoveByMessage(TextMatch::Exact(text))
        | Control::RemoveTargetByMessage(TextMatch::Exact(text), _) => {
            selected_rules(("message", text), set.messages.get(text.as_bytes()), spot, here, report);
        }
        _ => {}
    }
}

fn runs_earlier(name: &str, spot: SourceLocation, report: &mut Report) {
    let hint = "move this rule before it, or into an earlier phase";
    report.warn(spot, name, format!("{name} runs before this rule, so it is not affected"), Some(hint));
}

/// Rules selected by a tag or message; `last` is the last of them to run.
fn selected_rules(
    by: (&str, &str),
    last: Option<&(Phase, usize)>,
    spot: SourceLocation,
    here: (Phase, usize),
    report: &mut Report,
) {
    let (what, text) = by;
    match last {
        Some(last) if *last > here => {}
        Some(_) => runs_earlier(&format!("each rule with the {what} `{text}`"), spot, report),
        None => {
            let looks_like_pattern = text.contains(['*', '^', '$', '(', '[', '+', '\\']);
            let hint = "it is compared literally: ModSecurity 2 accepted patterns, version 3 does not";
            let message = format!("no rule has the {what} `{text}`");
            report.warn(spot, text, message, looks_like_pattern.then_some(hint));
        }
    }
}
