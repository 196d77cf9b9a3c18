//! Questions to inspectors: asked for by rules, sent by the caller, applied when the answers are there.
//!
//! A rule that matches only notes its question, and the evaluation goes on: another rule may ask another inspector, or
//! refuse the request, for which nobody has to be asked. At the end of the phase, or before a rule that reads what answers
//! may set, the caller sends all of them at once ([`crate::Decision::Inspect`]) and evaluates the phase again when they
//! have been answered. So the waiting time is that of the slowest, not the sum.

use std::sync::Arc;

use weir_http::{Transaction, uri};
use weir_inspect::inspector::{Fail, Mode, Protocol, is_like};
use weir_inspect::{Advice, Answer, Failure, Inspector, Question};

use crate::action::MAX_FINDINGS;
use crate::evaluate::MAX_TAGS;
use crate::{Decision, Finding, HeaderChange, Outcome, Response, RuleIndex, Side, Verdict};

/// Rules that a question names.
const MAX_NAMED: usize = 32;
/// Longest tag, as in policies.
const MAX_TAG_BYTES: usize = 128;
/// Bytes of a reason that are logged.
const MAX_REASON_BYTES: usize = 512;

/// How far a question has got.
#[derive(Debug, Default)]
enum Progress {
    /// A rule wants it asked.
    #[default]
    Due,
    /// The caller has asked.
    Asked,
    /// There is an answer, which has not been applied.
    Answered(Result<Arc<Answer>, Failure>),
    /// All is done.
    Done,
}

/// One question about a request.
#[derive(Debug)]
pub struct Inspection {
    /// Who is asked.
    pub inspector: Arc<Inspector>,
    /// Value of the key under which the answer is remembered; empty if it is not.
    pub key: Vec<u8>,
    rule: RuleIndex,
    detect: bool,
    progress: Progress,
}

impl Inspection {
    /// Whether the request waits for the answer.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.inspector.mode == Mode::Enforce && !self.detect
    }

    /// Whether the answer is known to keep the request from its origin.
    fn refuses(&self) -> bool {
        let Progress::Answered(answer) = &self.progress else { return false };
        self.holds()
            && match answer {
                Ok(answer) => match answer.advice {
                    Advice::Refuse => true,
                    Advice::Pass | Advice::Detect => false,
                    Advice::Unable => self.inspector.fail != Fail::Open,
                },
                Err(_) => self.inspector.fail != Fail::Open,
            }
    }
}

/// The questions of one request.
#[derive(Debug, Default)]
pub struct Inspections {
    all: Vec<Inspection>,
    /// Fields of the request that were the client's to forge, and have been removed.
    stripped: Vec<String>,
    /// Those without whose answer the request went on.
    failed: Vec<Arc<Inspector>>,
}

impl Inspections {
    /// Notes a question, unless it has been asked already. There are at most two for each inspector of the policies.
    pub(crate) fn want(&mut self, inspector: &Arc<Inspector>, rule: RuleIndex, detect: bool, key: Vec<u8>) {
        let is_same = |one: &Inspection| one.inspector.id == inspector.id && (detect || !one.detect);
        if !self.all.iter().any(is_same) {
            let inspector = Arc::clone(inspector);
            self.all.push(Inspection { inspector, key, rule, detect, progress: Progress::Due });
        }
    }

    /// The inspectors without whose answer the request went on, because they fail open.
    #[must_use]
    pub fn failed(&self) -> &[Arc<Inspector>] {
        &self.failed
    }

    /// Whether a question is to be sent.
    #[must_use]
    pub fn are_due(&self) -> bool {
        self.all.iter().any(|one| matches!(one.progress, Progress::Due))
    }

    /// Whether an answer is missing for which the request waits.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.all.iter().any(|one| one.holds() && matches!(one.progress, Progress::Due | Progress::Asked))
    }

    /// Takes the next question that is to be sent: its number, and the question. It counts as asked.
    pub fn next_due(&mut self) -> Option<(usize, &Inspection)> {
        let number = self.all.iter().position(|one| matches!(one.progress, Progress::Due))?;
        self.all[number].progress = Progress::Asked;
        Some((number, &self.all[number]))
    }

    /// Notes what has become of a question. True if the evaluation can go on: nothing is waited for any more, or the
    /// request is refused whatever the others say.
    pub fn answered(&mut self, number: usize, answer: Result<Arc<Answer>, Failure>) -> bool {
        let Some(one) = self.all.get_mut(number).filter(|one| matches!(one.progress, Progress::Asked)) else {
            return false;
        };
        one.progress = Progress::Answered(answer);
        one.refuses() || !self.hold()
    }

    /// Drops the questions that have not been asked: the request is answered without them.
    pub(crate) fn spare(&mut self) {
        let due = self.all.iter_mut().filter(|one| matches!(one.progress, Progress::Due));
        due.for_each(|one| one.progress = Progress::Done);
    }

    /// A question that is not to be asked after all: nothing is known, and nothing is wrong.
    pub fn passed_over(&mut self, number: usize) {
        self.all[number].progress = Progress::Done;
    }
}

/// Notes the removal of fields that clients must not set themselves, once for each name.
pub(crate) fn strip(names: &[String], transaction: &Transaction<'_>, outcome: &mut Outcome<'_>) {
    for name in names {
        if outcome.inspections.stripped.contains(name) {
            continue;
        }
        outcome.inspections.stripped.push(name.clone());
        let forged = transaction.head.headers.iter().filter(|header| is_like(header.name, name.as_bytes()));
        outcome.header_changes.extend(forged.map(|header| HeaderChange {
            side: Side::Request,
            name: header.name.to_vec(),
            value: None,
        }));
    }
}

impl Outcome<'_> {
    /// Applies the answers that have come, in the order in which rules asked.
    pub fn apply_answers(&mut self) -> Decision {
        if self.inspections.all.is_empty() {
            return Decision::Continue;
        }
        // Of what has been answered, a refusal comes first: what follows is not carried out.
        for number in 0..self.inspections.all.len() {
            let one = &mut self.inspections.all[number];
            if !matches!(one.progress, Progress::Answered(_)) {
                continue;
            }
            let Progress::Answered(answer) = std::mem::replace(&mut one.progress, Progress::Done) else { continue };
            let of = (Arc::clone(&one.inspector), one.rule, !one.holds());
            let response = match answer {
                Ok(answer) if answer.advice == Advice::Unable => self.unanswered(of, Failure::Unable),
                Ok(answer) => self.apply(of, &answer),
                Err(failure) => self.unanswered(of, failure),
            };
            if let Some(response) = response {
                self.inspections.all.clear();
                return Decision::Respond(response);
            }
        }
        Decision::Continue
    }

    fn apply(&mut self, of: (Arc<Inspector>, RuleIndex, bool), answer: &Answer) -> Option<Arc<Response>> {
        let (inspector, rule, detect) = of;
        self.score = self.score.saturating_add(answer.score);
        for tag in &answer.tags {
            if self.tags.len() < MAX_TAGS && tag.len() <= MAX_TAG_BYTES && !self.tags.contains(tag) {
                self.tags.push(tag.clone());
            }
        }
        let is_refused = match answer.advice {
            Advice::Refuse => true,
            Advice::Detect => {
                self.report(&inspector, rule, true, &answer.reason);
                self.judge(Verdict::Detect, rule);
                false
            }
            Advice::Pass | Advice::Unable => false,
        };
        if is_refused {
            self.report(&inspector, rule, detect, &answer.reason);
            self.judge(if detect { Verdict::Detect } else { Verdict::Block }, rule);
            return (!detect).then(|| response(answer));
        }
        if !detect {
            let set = joined(answer).into_iter().map(|(name, value)| (name, Some(value)));
            let removed = answer.remove_headers.iter().map(|name| (&name[..], None));
            let changes = removed.chain(set).filter(|(name, _)| inspector.sets(name));
            self.header_changes.extend(changes.map(|(name, value)| HeaderChange {
                side: Side::Request,
                name: name.to_vec(),
                // What ends a line is another field.
                value: value.filter(|value| !value.iter().any(|byte| b"\r\n\0".contains(byte))),
            }));
        }
        None
    }

    fn unanswered(&mut self, of: (Arc<Inspector>, RuleIndex, bool), failure: Failure) -> Option<Arc<Response>> {
        let (inspector, rule, detect) = of;
        let Fail::Closed(status) = inspector.fail else {
            if !detect {
                self.inspections.failed.push(inspector);
            }
            return None;
        };
        self.report(&inspector, rule, detect, &failure.to_string());
        self.judge(if detect { Verdict::Detect } else { Verdict::Fail }, rule);
        (!detect).then(|| Arc::new(Response { status, ..Response::default() }))
    }

    fn judge(&mut self, verdict: Verdict, rule: RuleIndex) {
        if verdict > self.verdict {
            (self.verdict, self.decided_by) = (verdict, Some(rule));
        }
    }

    fn report(&mut self, inspector: &Inspector, rule: RuleIndex, detected_only: bool, reason: &str) {
        if self.findings.len() < MAX_FINDINGS {
            let reason = &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)];
            let reason = if reason.is_empty() { inspector.id.clone() } else { format!("{}: {reason}", inspector.id) };
            self.findings.push(Finding { rule, action: "inspect", detected_only, reason, ..Finding::default() });
        }
    }

    /// What an inspector is told.
    #[must_use]
    pub fn question<'q>(
        &'q self,
        inspector: &'q Inspector,
        transaction: &'q Transaction<'_>,
        request_id: &'q [u8],
        named: impl Fn(RuleIndex) -> String,
    ) -> Question<'q> {
        let head = &transaction.head;
        let (detector, tenant) = match &inspector.protocol {
            Protocol::Weir { detector, tenant } => (detector.as_str(), tenant.as_str()),
            Protocol::ForwardAuth | Protocol::ExtAuthz | Protocol::CrowdSec { .. } => ("", ""),
        };
        let body = if inspector.body_bytes > 0 { transaction.body() } else { &[] };
        let mut tls = Vec::new();
        if let Some(session) = &head.tls {
            tls.extend([("version", session.version), ("cipher", session.cipher), ("sni", session.server_name)]);
            tls.retain(|(_, value)| !value.is_empty());
        }
        // With room for all, since a filter does not tell how many it lets through.
        let mut headers = Vec::with_capacity(head.headers.len());
        let sent = head.headers.iter().filter(|header| inspector.sends(header.name));
        headers.extend(sent.map(|header| (header.name, header.value)));
        Question {
            detector,
            tenant,
            request_id,
            client: head.client,
            method: head.method,
            scheme: if head.tls.is_some() { b"https" } else { b"http" },
            host: head.host,
            authority: authority(head),
            target: head.target,
            path: head.path,
            protocol: head.version.as_bytes(),
            headers,
            body: &body[..body.len().min(inspector.body_bytes)],
            body_bytes: self.body_bytes.max(transaction.body().len() as u64),
            findings: self.findings.iter().take(MAX_NAMED).map(|finding| named(finding.rule)).collect(),
            score: self.score,
            tags: &self.tags,
            tls,
            consumer: self.identity.as_ref().map_or("", |identity| identity.consumer.id.as_str()),
            deadline_ms: inspector.deadline_ms,
        }
    }
}

/// The host with its port as the client sent it; without one if the request line has another host than the field `Host`.
fn authority<'a>(head: &weir_http::Head<'a>) -> &'a [u8] {
    let sent = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(b"host")).map(|header| header.value);
    sent.filter(|sent| uri::host_name(sent).eq_ignore_ascii_case(uri::host_name(head.host))).unwrap_or(head.host)
}

/// The fields of the request that an answer sets, several of a name as one (RFC 9110, section 5.3).
fn joined(answer: &Answer) -> Vec<(&[u8], Vec<u8>)> {
    let mut all: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for (name, value) in &answer.set_headers {
        match all.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, values)) => {
                values.extend_from_slice(if name.eq_ignore_ascii_case(b"cookie") { b"; " } else { b", " });
                values.extend_from_slice(value);
            }
            None => all.push((name, value.clone())),
        }
    }
    all
}

/// The client's answer, as an inspector wants it.
fn response(answer: &Answer) -> Arc<Response> {
    let status = if (200..=599).contains(&answer.status) { answer.status } else { 403 };
    let is_type = |name: &[u8]| name.eq_ignore_ascii_case(b"content-type");
    let content_type = answer.response_headers.iter().find(|(name, _)| is_type(name)).map(|(_, value)| value.clone());
    let fits = |value: &[u8]| !value.iter().any(|byte| b"\r\n\0".contains(byte));
    let headers =
        answer.response_headers.iter().filter(|(name, value)| !is_type(name) && !name.is_empty() && fits(value));
    Arc::new(Response {
        status,
        headers: headers.cloned().collect(),
        content_type: content_type.unwrap_or_default(),
        body: answer.body.clone(),
    })
}
