//! The proposal, as a patch to paste with comments that say what it does.

use serde_json::{Value, json};

use super::choice::Choice;
use super::exclusion::{Exclusion, Proposal};
use super::target::Target;
use crate::table::counted;
use crate::terminal::shown;

pub(super) fn as_text(proposal: &Proposal, choice: &Choice) -> String {
    let silenced: u64 = proposal.exclusions.iter().map(|one| one.named.findings + one.others.findings).sum();
    let mut out = format!(
        "# {}; together they silence {silenced} of the log's {} in {}.\n",
        counted(proposal.exclusions.len() as u64, "exclusion"),
        counted(proposal.findings, "finding"),
        counted(proposal.requests, "request")
    );
    for note in notes(proposal, choice) {
        out.push_str(&format!("# note: {note}\n"));
    }
    for via in proposal.vias() {
        out.push_str(&format!("\n# for the action of the policy's rule `{}`\nexclude:\n", shown(via, 64)));
        for exclusion in proposal.exclusions.iter().filter(|one| one.key.via == via) {
            out.push_str(&item(exclusion));
        }
    }
    out
}

fn item(exclusion: &Exclusion) -> String {
    let mut out = format!(
        "  # {} {}: {} in {}, such as `{}`\n",
        exclusion.key.rule,
        shown(&exclusion.message, 100),
        counted(exclusion.named.findings, "finding"),
        counted(exclusion.named.requests, "request"),
        shown(&exclusion.sample, 60)
    );
    for warning in exclusion.warnings() {
        out.push_str(&format!("  # warning: {}\n", shown(&warning, 300)));
    }
    out.push_str(&format!("  - {}\n", exclusion.as_yaml()));
    out
}

fn notes(proposal: &Proposal, choice: &Choice) -> Vec<String> {
    let mut notes = Vec::new();
    let missing = choice.missing(&proposal.seen);
    if !missing.is_empty() {
        let listed: Vec<String> = missing.iter().take(5).map(|id| shown(id, 64)).collect();
        notes.push(format!("not in the log: {} ({})", counted(missing.len() as u64, "request"), listed.join(", ")));
    }
    if proposal.own > 0 {
        let own = counted(proposal.own, "finding");
        notes.push(format!("{own} of the policy's own rules: change the conditions of those"));
    }
    if proposal.unread_lines > 0 {
        notes.push(format!("{} that an attack log does not have", counted(proposal.unread_lines, "line")));
    }
    notes
}

pub(super) fn as_value(proposal: &Proposal, choice: &Choice) -> Value {
    let exclusion = |one: &Exclusion| {
        json!({
            "policy": one.key.policy, "via": one.key.via, "rule": one.key.rule.parse::<u64>().ok(), "message": one.message,
            "target": match &one.key.target { Target::Named(target) => Some(target), Target::Whole => None },
            "when": one.place.expression(), "sample": one.sample, "yaml": one.as_yaml(),
            "silences": { "findings": one.named.findings, "requests": one.named.requests },
            "silences_others": { "findings": one.others.findings, "requests": one.others.requests,
                "example": one.other.as_ref().map(|(request, _)| request) },
            "warnings": one.warnings(),
        })
    };
    json!({
        "findings": proposal.findings, "requests": proposal.requests, "notes": notes(proposal, choice),
        "exclusions": proposal.exclusions.iter().map(exclusion).collect::<Vec<_>>(),
    })
}
