//! What a rule does when it matches: assignments, effects, the finding, the decision.

use std::sync::Arc;

use weir_http::{Anomalies, Transaction};
use weir_rules::seclang::ir::{AllowScope, BodyProcessor, Collection, Disruption, Engine};

use super::collections::StoredChange;
use super::number;
use super::program::{Assignment, Change, Disrupt, Effect, Link, Name, Rule};
use super::run::{Machine, Next};
use super::state::Refused;
use crate::outcome::MATCHED_BYTES;
use crate::{Decision, Finding, Outcome, Response, Verdict};

/// Findings of rule sets kept for one request: an attack matches dozens of rules at the highest
/// paranoia level.
const MAX_FINDINGS: usize = 256;
/// Bytes of `logdata` kept.
const LOG_DATA_BYTES: usize = 4 * MATCHED_BYTES;
/// Seconds that members of persistent collections live, unless `SecCollectionTimeout` says
/// otherwise.
const COLLECTION_TIMEOUT_S: u64 = 3600;
/// Units of work for each variable that is looked at.
const VARIABLE: u64 = 10;
/// Score of a request that is too expensive: that of a critical rule of CRS.
const REFUSED_SCORE: u32 = 5;
/// Records of persistent collections that one transaction may use.
const MAX_RECORDS: usize = 16;
/// Targets that one transaction may remove.
const MAX_REMOVED_TARGETS: usize = 1024;

impl<'a> Machine<'_, 'a, '_> {
    /// Carries out a link's effects for each value that matches.
    pub(super) fn assign(&mut self, link: &Link) {
        for assignment in &link.assignments {
            match assignment.collection {
                Collection::Tx => self.assign_tx(assignment),
                stored => self.assign_stored(stored, assignment),
            }
        }
    }

    fn assign_tx(&mut self, assignment: &Assignment) {
        let (profile, from) = (self.profile, self.at + 1);
        let (id, name) = match &assignment.name {
            Name::Tx(id) => (Some(*id), &b""[..]),
            Name::Text(text) => {
                let lower = self.arena.alloc_slice_copy(self.expand(text, self.at));
                lower.make_ascii_lowercase();
                (profile.program.names.find(lower), &*lower)
            }
        };
        if id.is_none() {
            // A search through the variables that no rule names; what is set then is set all the same.
            let _ = self.run.state.work.charge(VARIABLE * self.run.state.others.len() as u64);
        }
        let known = || {
            let known = match id {
                Some(id) => self.run.state.tx(profile.template(), id, self.at),
                None => self.run.state.others.iter().find(|other| other.0 == name).and_then(|other| other.1),
            };
            known.map_or(0, number::parse)
        };
        let value = match &assignment.change {
            Change::Set(text) => Some(&*self.arena.alloc_slice_copy(self.expand(text, self.at))),
            Change::Add(text) => {
                let delta = number::parse(self.expand(text, self.at));
                let sum = known().saturating_add(delta);
                if assignment.scores {
                    self.run.state.scored = self.run.state.scored.saturating_add(delta);
                }
                Some(number::format(sum, self.arena))
            }
            Change::Subtract(text) => {
                let delta = number::parse(self.expand(text, self.at));
                Some(number::format(known().saturating_sub(delta), self.arena))
            }
            Change::Unset => None,
        };
        match id {
            Some(id) => self.run.state.set_tx(profile, id, value, from),
            None => self.run.state.set_other(profile, name, value, from),
        }
    }

    fn assign_stored(&mut self, collection: Collection, assignment: &Assignment) {
        let Some(collections) = self.outside.collections else { return };
        let Some((_, key)) = self.run.state.records.iter().find(|(of, _)| *of == collection) else { return };
        let Name::Text(name) = &assignment.name else { return };
        let name = self.expand(name, self.at).to_ascii_lowercase();
        let timeout_s = self.timeout_s();
        let change = match &assignment.change {
            Change::Set(text) => StoredChange::Set { value: self.expand(text, self.at), timeout_s },
            Change::Add(text) => StoredChange::Add { delta: number::parse(self.expand(text, self.at)), timeout_s },
            Change::Subtract(text) => {
                let delta = number::parse(self.expand(text, self.at)).saturating_neg();
                StoredChange::Add { delta, timeout_s }
            }
            Change::Unset => StoredChange::Unset,
        };
        collections.change(collection, key, &name, change, self.outside.now_ms / 1000);
    }

    fn timeout_s(&self) -> u64 {
        self.profile.program.settings.collection_timeout.unwrap_or(COLLECTION_TIMEOUT_S)
    }

    /// Carries out a rule's effects once all of its links have matched.
    pub(super) fn matched(&mut self, rule: &Rule, outcome: &mut Outcome<'a>) -> Next {
        for link in rule.links.iter().rev() {
            link.effects.iter().for_each(|effect| self.effect(effect));
        }
        if let Some(severity) = self.info().severity {
            self.run.state.highest_severity = self.run.state.highest_severity.min(severity);
        }
        let score = u32::try_from(self.run.state.scored.max(0)).unwrap_or(u32::MAX);
        outcome.score = outcome.score.saturating_add(score);
        let detected_only = self.outside.detect || self.run.state.engine != Engine::On;
        let (action, verdict) = match &rule.disruption {
            Disrupt::Pass => ("log", None),
            Disrupt::Redirect(..) => ("redirect", Some(Verdict::Redirect)),
            Disrupt::Other(Disruption::Allow(_)) => ("allow", Some(Verdict::Allow)),
            Disrupt::Other(_) => ("block", Some(Verdict::Block)),
        };
        if rule.log && outcome.findings.len() < MAX_FINDINGS {
            let finding = self.finding(rule, action, detected_only && verdict.is_some(), score);
            outcome.findings.push(finding);
        }
        if let Some(verdict) = verdict {
            let verdict = if detected_only && verdict != Verdict::Allow { Verdict::Detect } else { verdict };
            if verdict > outcome.verdict {
                outcome.verdict = verdict;
                outcome.decided_by = Some(self.index());
            }
            if !detected_only && let Some(next) = self.disrupt(rule) {
                return next;
            }
        }
        match rule.jump {
            Some(to) => {
                self.run.state.jumped(self.profile, self.at, to);
                Next::Rule(to)
            }
            None => Next::Rule(self.at + 1),
        }
    }

    /// Carries out a disruptive action.
    fn disrupt(&mut self, rule: &Rule) -> Option<Next> {
        let respond = |response: Response| Some(Next::Respond(Decision::Respond(Arc::new(response))));
        match &rule.disruption {
            Disrupt::Pass | Disrupt::Other(Disruption::Pass | Disruption::Redirect { .. }) => None,
            Disrupt::Redirect(status, to) => {
                let mut location = self.expand(to, self.at).to_vec();
                // What a client sends must not split the response.
                location.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                let headers = vec![(b"Location".to_vec(), location)];
                respond(Response { status: *status, headers, ..Response::default() })
            }
            Disrupt::Other(Disruption::Deny { status }) => respond(Response { status: *status, ..Response::default() }),
            // nginx's own code for closing the connection without an answer.
            Disrupt::Other(Disruption::Drop) => respond(Response { status: 444, ..Response::default() }),
            Disrupt::Other(Disruption::Allow(scope)) => {
                self.run.state.allowed = Some(*scope).filter(|scope| *scope != AllowScope::Phase);
                Some(Next::End)
            }
        }
    }

    fn effect(&mut self, effect: &Effect) {
        let (profile, from) = (self.profile, self.at + 1);
        match effect {
            Effect::Remove(rules) => self.run.state.remove(profile, &rules.0, from),
            Effect::RemoveTarget(rules, pick) => {
                if self.run.state.removed_targets.len() < MAX_REMOVED_TARGETS {
                    let rules = self.arena.alloc_slice_copy(&rules.0);
                    self.run.state.remove_target(profile, rules, pick, from);
                }
            }
            Effect::Engine(engine) => self.run.state.engine = *engine,
            Effect::RequestBodyAccess(on) => self.run.state.request_body = *on,
            Effect::ResponseBodyAccess(on) => self.run.state.response_body = *on,
            Effect::BodyProcessor(processor) => self.run.view.set_processor(match processor {
                BodyProcessor::UrlEncoded => weir_http::seclang::BodyProcessor::UrlEncoded,
                BodyProcessor::Multipart => weir_http::seclang::BodyProcessor::Multipart,
                BodyProcessor::Xml => weir_http::seclang::BodyProcessor::Xml,
                BodyProcessor::Json => weir_http::seclang::BodyProcessor::Json,
            }),
            Effect::InitCollection(collection, key) => {
                let key = self.arena.alloc_slice_copy(self.expand(key, self.at));
                let records = &mut self.run.state.records;
                records.retain(|(of, _)| of != collection);
                if records.len() < MAX_RECORDS {
                    records.push((*collection, key));
                }
            }
            Effect::Expire(collection, name, seconds) => self.expire(*collection, name, seconds),
            Effect::ForceRequestBody(on) => self.run.view.force_body(*on),
            // No program is started whose environment could be set.
            Effect::SetEnvironment => {}
        }
    }

    fn expire(&mut self, collection: Collection, name: &super::expand::Text, seconds: &super::expand::Text) {
        let Some(collections) = self.outside.collections else { return };
        let Some((_, key)) = self.run.state.records.iter().find(|(of, _)| *of == collection) else { return };
        let name = self.expand(name, self.at).to_ascii_lowercase();
        let after_s = number::parse(self.expand(seconds, self.at)).max(0) as u64;
        collections.change(collection, key, &name, StoredChange::Expire { after_s }, self.outside.now_ms / 1000);
    }

    /// Reports the first value that there was no work left for.
    pub(super) fn report_refused(&mut self, transaction: &Transaction<'a>, outcome: &mut Outcome<'a>) {
        // What was refused between two tests has no value of its own.
        self.run.state.is_refused(None, "REQUEST", b"", b"");
        let Some(Refused { rule, matched }) = self.run.state.refused.take() else { return };
        transaction.flag(Anomalies::TOO_EXPENSIVE);
        if self.run.is_reported || outcome.findings.len() >= MAX_FINDINGS {
            return;
        }
        self.run.is_reported = true;
        let name = self.full_name(matched.variable, &matched.member[..matched.member.len().min(MATCHED_BYTES)]);
        outcome.score = outcome.score.saturating_add(REFUSED_SCORE);
        outcome.findings.push(Finding {
            rule: rule.map_or(self.via(), |rule| self.profile.index(rule)),
            via: rule.map(|_| self.via()),
            action: "log",
            variable: String::from_utf8_lossy(name).into_owned(),
            matched: matched.value[..matched.value.len().min(MATCHED_BYTES)].to_vec(),
            score: REFUSED_SCORE,
            message: Some("too expensive: rules have not seen all values of the request".to_owned()),
            ..Finding::default()
        });
    }

    fn finding(&self, rule: &Rule, action: &'static str, detected_only: bool, score: u32) -> Finding {
        let mut finding =
            Finding { rule: self.index(), via: Some(self.via()), action, detected_only, score, ..Finding::default() };
        if let Some(matched) = self.run.state.matched.last() {
            let name = self.full_name(matched.variable, &matched.member[..matched.member.len().min(MATCHED_BYTES)]);
            finding.variable = String::from_utf8_lossy(name).into_owned();
            let (start, end) = matched.range.unwrap_or((0, matched.value.len() as u32));
            let end = (end as usize).min(start as usize + MATCHED_BYTES).min(matched.value.len());
            finding.matched = matched.value.get(start as usize..end).unwrap_or_default().to_vec();
        }
        if !rule.message.pieces().is_empty() {
            finding.message = Some(String::from_utf8_lossy(self.expand(&rule.message, self.at)).into_owned());
        }
        let log_data = self.expand(&rule.log_data, self.at);
        finding.log_data = log_data[..log_data.len().min(LOG_DATA_BYTES)].to_vec();
        finding
    }
}
