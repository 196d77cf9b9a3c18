//! The attack log: one JSON object per request with findings, which explains itself.

use weir_engine::{Finding, Verdict};
use weir_http::Unreadable;
use weir_log::attack::{ATTACK_FIELDS, AttackField, FINDING_FIELDS, FindingField};
use weir_log::json::{self, Object};

use super::access::RequestFacts;
use crate::transaction::Inspection;

/// Whether a request belongs in it: something was found, rules could not read it completely, or a fault stopped it.
pub fn is_wanted(inspection: &Inspection) -> bool {
    let outcome = &inspection.outcome;
    !outcome.findings.is_empty() || outcome.verdict == Verdict::Fail || unreadable(inspection).is_some()
}

/// What rules could not read.
fn unreadable(inspection: &Inspection) -> Option<Unreadable> {
    inspection.transaction.unreadable().filter(|_| inspection.stage.is_evaluated())
}

/// Writes one line.
pub fn write(out: &mut Vec<u8>, facts: &RequestFacts<'_>) {
    let inspection = facts.inspection;
    let outcome = &inspection.outcome;
    let head = &inspection.transaction.head;
    let mut line = Object::new(out);
    for info in ATTACK_FIELDS {
        let unreadable = match info.field {
            AttackField::Unreadable => match unreadable(inspection) {
                Some(found) => found.to_string(),
                None => continue,
            },
            AttackField::Consumer if outcome.identity.is_none() => continue,
            _ => String::new(),
        };
        let out = line.member(info.fragment);
        match info.field {
            AttackField::Unreadable => json::string(out, unreadable.as_bytes()),
            AttackField::Consumer => {
                json::string(out, outcome.identity.as_ref().map_or(b"", |identity| identity.consumer.id.as_bytes()));
            }
            AttackField::RequestId => json::plain(out, inspection.request_id()),
            AttackField::Time => facts.time(out),
            AttackField::Client => json::address(out, head.client),
            AttackField::Host => json::string(out, head.host),
            AttackField::Method => json::string(out, head.method),
            AttackField::Uri => json::string(out, head.target),
            AttackField::Status => json::number(out, facts.status()),
            AttackField::Action => json::plain(out, action(inspection).as_bytes()),
            AttackField::Policy => {
                let first = outcome.findings.first().and_then(|finding| inspection.rule(finding.rule));
                json::string(out, facts.policy(facts.rule().or(first)));
            }
            AttackField::Revision => json::string(out, inspection.source.revision().as_bytes()),
            AttackField::RuleIds => {
                json::array(out, &outcome.findings, |out, finding| json::string(out, rule_id(inspection, finding)));
            }
            AttackField::Findings => {
                json::array(out, &outcome.findings, |out, finding| explain(out, inspection, finding));
            }
            AttackField::Score => json::number(out, outcome.score.into()),
            AttackField::Tags => json::array(out, &outcome.tags, |out, tag| json::string(out, tag.as_bytes())),
        }
    }
    line.end();
}

/// The value of `action`: the verdict, or the first finding's action if the request passed.
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

/// Writes a finding. `via` and the fields after it belong to rules of rule sets.
fn explain(out: &mut Vec<u8>, inspection: &Inspection, finding: &Finding) {
    let rule = inspection.rule(finding.rule);
    let via = finding.via.map(|via| inspection.rule(via));
    let in_set = rule.filter(|_| via.is_some());
    let mut object = Object::new(out);
    for info in FINDING_FIELDS {
        let mut string = |text: Option<&[u8]>| {
            if let Some(text) = text {
                json::string(object.member(info.fragment), text);
            }
        };
        match info.field {
            FindingField::Rule => string(Some(rule_id(inspection, finding))),
            FindingField::Message => {
                let of_rule = || rule.map(|rule| rule.message.as_str());
                string(Some(finding.message.as_deref().or_else(of_rule).unwrap_or_default().as_bytes()));
            }
            FindingField::Variable => string(Some(finding.variable.as_bytes())),
            FindingField::Matched => string(Some(&finding.matched)),
            FindingField::Score if finding.score > 0 => {
                json::number(object.member(info.fragment), finding.score.into());
            }
            FindingField::Score => {}
            FindingField::Via => string(via.map(|via| via.map_or(&b""[..], |via| via.id.as_bytes()))),
            FindingField::Policy => string(via.map(|via| via.map_or(&b""[..], |via| via.policy.as_bytes()))),
            FindingField::LogData => string(via.map(|_| &finding.log_data[..]).filter(|data| !data.is_empty())),
            FindingField::Reason => string(Some(finding.reason.as_bytes()).filter(|reason| !reason.is_empty())),
            FindingField::Key => string(Some(&finding.key[..]).filter(|key| !key.is_empty())),
            FindingField::Severity => string(in_set.and_then(|rule| Some(rule.severity?.as_bytes()))),
            FindingField::Tags => {
                if let Some(rule) = in_set.filter(|rule| !rule.tags.is_empty()) {
                    let out = object.member(info.fragment);
                    json::array(out, &rule.tags, |out, tag| json::string(out, tag.as_bytes()));
                }
            }
        }
    }
    object.end();
}
