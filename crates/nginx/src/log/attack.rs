//! The attack log: one JSON object per request with findings, which explains itself.

use weir_engine::{Finding, RuleIndex, Verdict};
use weir_log::json;
use weir_policy::RuleLabel;

use super::access::{self, Facts};
use crate::transaction::Inspection;

/// Whether a request belongs in it: something was found, or the fail mode stopped it.
pub fn is_wanted(inspection: &Inspection) -> bool {
    !inspection.outcome.findings.is_empty() || inspection.outcome.verdict == Verdict::Fail
}

/// Writes one line.
pub fn write(out: &mut Vec<u8>, facts: &Facts<'_>) {
    let inspection = facts.inspection;
    let outcome = &inspection.outcome;
    let head = &inspection.transaction.head;
    let first = outcome.findings.first().and_then(|finding| inspection.rule(finding.rule));
    let decided = facts.rule().or(first);

    out.extend_from_slice(b"{\"request_id\":");
    json::plain(out, inspection.request_id());
    out.extend_from_slice(b",\"time\":");
    facts.time(out);
    out.extend_from_slice(b",\"client\":");
    json::address(out, head.client);
    for (name, value) in [(&b",\"host\":"[..], head.host), (b",\"method\":", head.method), (b",\"uri\":", head.target)]
    {
        out.extend_from_slice(name);
        json::string(out, value);
    }
    out.extend_from_slice(b",\"status\":");
    json::number(out, facts.status());
    out.extend_from_slice(b",\"action\":");
    json::plain(out, action(inspection).as_bytes());
    out.extend_from_slice(b",\"policy\":");
    json::string(out, facts.policy(decided));
    out.extend_from_slice(b",\"revision\":");
    json::string(out, inspection.revision().as_bytes());
    list(out, b",\"rule_ids\":", &outcome.findings, |out, finding| json::string(out, rule_id(inspection, finding)));
    list(out, b",\"findings\":", &outcome.findings, |out, finding| explain(out, inspection, finding));
    out.extend_from_slice(b",\"score\":");
    json::number(out, outcome.score.into());
    out.extend_from_slice(b",\"tags\":");
    access::tags(out, facts);
    out.push(b'}');
}

/// What was done: the verdict, or the first finding's action if the request passed.
fn action(inspection: &Inspection) -> &'static str {
    let outcome = &inspection.outcome;
    match outcome.verdict {
        Verdict::Pass => outcome.findings.first().map_or("log", |finding| finding.action),
        verdict => verdict.as_str(),
    }
}

fn rule_id<'a>(inspection: &'a Inspection, finding: &Finding) -> &'a [u8] {
    inspection.rule(finding.rule).map_or(b"", |rule| rule.id.as_bytes())
}

fn explain(out: &mut Vec<u8>, inspection: &Inspection, finding: &Finding) {
    let rule = inspection.rule(finding.rule);
    let message = finding.message.as_deref().or(rule.map(|rule| rule.message.as_str())).unwrap_or_default();
    out.extend_from_slice(b"{\"rule\":");
    json::string(out, rule_id(inspection, finding));
    out.extend_from_slice(b",\"message\":");
    json::string(out, message.as_bytes());
    out.extend_from_slice(b",\"variable\":");
    json::string(out, finding.variable.as_bytes());
    out.extend_from_slice(b",\"matched\":");
    json::string(out, &finding.matched);
    if finding.score > 0 {
        out.extend_from_slice(b",\"score\":");
        json::number(out, finding.score.into());
    }
    if let Some(via) = finding.via {
        of_rule_set(out, inspection, finding, via, rule);
    }
    out.push(b'}');
}

/// What only findings of rule sets have.
fn of_rule_set(
    out: &mut Vec<u8>,
    inspection: &Inspection,
    finding: &Finding,
    via: RuleIndex,
    rule: Option<&RuleLabel>,
) {
    let via = inspection.rule(via);
    for (name, value) in [
        (&b",\"via\":"[..], via.map_or("", |rule| rule.id.as_str())),
        (b",\"policy\":", via.map_or("", |rule| rule.policy.as_str())),
    ] {
        out.extend_from_slice(name);
        json::string(out, value.as_bytes());
    }
    if !finding.log_data.is_empty() {
        out.extend_from_slice(b",\"log_data\":");
        json::string(out, &finding.log_data);
    }
    let Some(rule) = rule else { return };
    if let Some(severity) = rule.severity {
        out.extend_from_slice(b",\"severity\":");
        json::plain(out, severity.as_bytes());
    }
    if !rule.tags.is_empty() {
        list(out, b",\"tags\":", &rule.tags, |out, tag| json::string(out, tag.as_bytes()));
    }
}

fn list<T>(out: &mut Vec<u8>, name: &[u8], items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.extend_from_slice(name);
    out.push(b'[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}
