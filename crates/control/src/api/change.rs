//! Requests for changes: their common parameters and responses.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header, request};
use axum::response::IntoResponse;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weir_gateway::resource::Sha256Hash;

use super::context::Context;
use super::query::{Arguments, idempotency_key};
use super::{Problem, body};
use crate::auth::{Peer, Role};
use crate::metrics::Outcome;
use crate::publish::{Answer, Operation, Refresh, Submission, WorkerResult};
use crate::store::ChangeKey;

/// Query parameters of every change.
const ARGUMENTS: [&str; 6] = ["dry_run", "durable", "expect", "message", "timeout", "wait"];
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 4_096;

/// A change that is being requested.
#[derive(Debug)]
pub(super) struct ChangeRequest {
    submission: Submission,
    durable: bool,
    since: Instant,
    what: String,
    role: Option<Role>,
    fingerprint: Fingerprint,
    /// The largest body.
    limit: usize,
}

/// The hash of what decides what a request changes, for its idempotency key.
#[derive(Clone, Debug)]
struct Fingerprint {
    head: Sha256,
    whole: Sha256,
}

impl Fingerprint {
    /// Of method, path, the arguments and conditions that matter.
    fn of(head: &request::Parts, arguments: &Arguments) -> Self {
        let mut hash = Sha256::new();
        let mut add = |name: &str, value: &[u8]| {
            hash.update(format!("{name} {} ", value.len()));
            hash.update(value);
        };
        add(head.method.as_str(), head.uri.path().as_bytes());
        for name in ["expect", "message"] {
            arguments.get(name).into_iter().for_each(|value| add(name, value.as_bytes()));
        }
        for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
            head.headers.get_all(&name).iter().for_each(|value| add(name.as_str(), value.as_bytes()));
        }
        Self { head: hash.clone(), whole: hash }
    }
}

impl ChangeRequest {
    /// Parses the head of a request whose change needs at least a role. The change itself is passed to
    /// [`ChangeRequest::make`].
    pub fn of(context: &Context, head: &request::Parts, needed: Role) -> Result<Self, Problem> {
        let peer = head.extensions.get::<Peer>();
        check(peer.map(|peer| peer.role), needed)?;
        let arguments = Arguments::parse(head.uri.query(), &ARGUMENTS)?;
        let actor: Arc<str> = peer.map_or_else(|| Arc::from("?"), |peer| peer.actor.clone());
        let key = idempotency_key(&head.headers)?;
        let submission = Submission {
            operation: Operation::Edits(Vec::new()),
            message: arguments.get("message").map(str::to_owned),
            wait: arguments.wait()?,
            timeout: arguments.timeout(&context.shared.limits)?,
            dry_run: arguments.switch("dry_run")?,
            refresh: Refresh::Written,
            expect: arguments.number("expect")?,
            // The fingerprint is complete when the body has been read.
            key: key.map(|key| ChangeKey { actor: actor.to_string(), key, fingerprint: Sha256Hash([0; 32]) }),
            scope: peer.and_then(|peer| peer.scope.clone()),
            actor,
        };
        let fingerprint = Fingerprint::of(head, &arguments);
        let durable = arguments.switch("durable")?;
        let what = format!("{} {}", head.method, head.uri.path());
        let role = peer.map(|peer| peer.role);
        let limit = context.shared.limits.body;
        Ok(Self { submission, durable, since: Instant::now(), what, role, fingerprint, limit })
    }

    /// Reads the body, if there is one.
    pub async fn body(&mut self, headers: &HeaderMap, body: Body) -> Result<Option<Value>, Problem> {
        let bytes = body::collect(body, self.limit).await?;
        if self.submission.key.is_some() {
            self.fingerprint.whole.update(&bytes);
        }
        body::json(headers, &bytes)
    }

    /// Reads the body, which there must be.
    pub async fn required_body(&mut self, headers: &HeaderMap, body: Body) -> Result<Value, Problem> {
        let body = self.body(headers, body).await?;
        body.ok_or_else(|| Problem::malformed("there is no body; one in JSON was expected"))
    }

    /// Identifies the request by this text instead of by its body.
    pub fn stand_for(&mut self, intent: &str) {
        self.fingerprint.whole = self.fingerprint.head.clone();
        self.fingerprint.whole.update(intent);
    }

    /// Sets the message of the body, if there is one.
    pub fn message(&mut self, message: Option<String>) {
        self.submission.message = message.or(self.submission.message.take());
    }

    /// Sets the resources whose files are captured anew.
    pub fn refresh(&mut self, refresh: Refresh) {
        self.submission.refresh = refresh;
    }

    /// Puts something before the message, or makes it the message.
    pub fn prefix_message(&mut self, prefix: String) {
        self.submission.message = Some(match self.submission.message.take() {
            Some(message) => format!("{prefix}: {message}"),
            None => prefix,
        });
    }

    /// Makes the change and responds.
    pub async fn make(mut self, context: &Context, operation: Operation) -> Response<Body> {
        if self.submission.message.as_ref().is_some_and(|message| message.len() > MAX_MESSAGE) {
            return Problem::malformed(format!("a message has at most {MAX_MESSAGE} bytes")).into_response();
        }
        if let Err(problem) = check(self.role, operation.role()) {
            return problem.into_response();
        }
        self.submission.operation = operation;
        if let Some(key) = &mut self.submission.key {
            key.fingerprint = Sha256Hash(self.fingerprint.whole.finalize().into());
        }
        let dry_run = self.submission.dry_run;
        let actor = self.submission.actor.clone();
        let answer = context.queue.submit(self.submission).await;
        let outcome = outcome(&answer, dry_run);
        let response = if self.durable && !dry_run && matches!(answer, Answer::Done { .. }) {
            match context.shared.flusher.now().await {
                Ok(Ok(())) => respond(answer, dry_run),
                Ok(Err(error)) => Err(Problem::failed(format!("it was applied, but is not on disk: {error}"))),
                Err(_) => Err(Problem::failed("it was applied, but control is stopping before it was flushed")),
            }
        } else {
            respond(answer, dry_run)
        };
        context.shared.metrics.change(outcome, self.since.elapsed());
        response.unwrap_or_else(|problem| {
            // A 403 is in the audit as a rejected request.
            if problem.status() != StatusCode::FORBIDDEN {
                context.shared.audit(&actor, &self.what, problem.status().as_u16(), &problem.line());
            }
            problem.into_response()
        })
    }
}

/// Whether a role is enough for a change.
pub(super) fn check(role: Option<Role>, needed: Role) -> Result<(), Problem> {
    if role >= Some(needed) {
        return Ok(());
    }
    Err(Problem::forbidden(needed))
}

fn outcome(answer: &Answer, dry_run: bool) -> Outcome {
    match answer {
        _ if dry_run => Outcome::DryRun,
        Answer::Done { pending: false, .. } => Outcome::Applied,
        Answer::Done { .. } => Outcome::Pending,
        Answer::Refused(crate::state::Refusal::Invalid(_)) => Outcome::Invalid,
        Answer::Forbidden(_) | Answer::KeyReused(_) => Outcome::Invalid,
        Answer::Refused(_) | Answer::NoRevision { .. } | Answer::Moved { .. } => Outcome::Conflict,
        Answer::Undone { .. } => Outcome::RolledBack,
        Answer::Busy | Answer::InProgress => Outcome::Busy,
        Answer::Full(_) | Answer::Failed(_) => Outcome::Failed,
    }
}

fn respond(answer: Answer, dry_run: bool) -> Result<Response<Body>, Problem> {
    match answer {
        Answer::Done { revision, changed, created, workers, pending, warnings, replayed } => {
            let mut text = format!("{{\"revision\":{revision},\"workers\":[");
            results(&mut text, &workers);
            text.push_str("],\"changed\":[");
            for (n, path) in changed.iter().enumerate() {
                let _ = write!(text, "{}\"{path}\"", if n == 0 { "" } else { "," });
            }
            text.push(']');
            if !warnings.is_empty() {
                text.push_str(",\"warnings\":");
                text.push_str(&warnings.iter().map(super::problem::error).collect::<serde_json::Value>().to_string());
            }
            text.push_str(if replayed { ",\"replayed\":true" } else { "" });
            text.push_str(if dry_run { ",\"dry_run\":true}" } else { "}" });
            let mut response = Response::new(Body::from(text));
            *response.status_mut() = match (pending, &created) {
                (true, _) => StatusCode::ACCEPTED,
                (false, Some(_)) if !dry_run => StatusCode::CREATED,
                _ => StatusCode::OK,
            };
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let location = created.filter(|_| !dry_run).map(|key| format!("{}{key}", super::PREFIX));
            if let Some(location) = location.and_then(|path| HeaderValue::from_str(&path).ok()) {
                headers.insert(header::LOCATION, location);
            }
            headers.insert(header::ETAG, etag(revision));
            Ok(response)
        }
        Answer::Refused(refusal) => Err(Problem::of(refusal)),
        Answer::Forbidden(detail) => {
            Err(Problem::new(StatusCode::FORBIDDEN, detail).hint("`weir token list` shows the limits of each client"))
        }
        Answer::Moved { expected, newest } => {
            let detail = format!("revision {newest} is the newest, and not {expected}; nothing was changed");
            let problem = Problem::new(StatusCode::PRECONDITION_FAILED, detail).with("newest", newest);
            Err(problem.hint(&format!("look at what has changed since revision {expected}, then expect {newest}")))
        }
        Answer::KeyReused(made) => {
            let detail = match made {
                Some(revision) => format!("the idempotency key stands for another request, of revision {revision}"),
                None => "the idempotency key stands for another request, which is being processed".to_owned(),
            };
            let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail + "; nothing was changed");
            let problem = made.into_iter().fold(problem, |problem, revision| problem.with("revision", revision));
            Err(problem.hint("repeat a request exactly as it was, or send a new key"))
        }
        Answer::InProgress => {
            let detail = "a request with the same idempotency key is being processed";
            Err(Problem::new(StatusCode::CONFLICT, detail).with("in_progress", true).hint("repeat it in a second"))
        }
        Answer::Undone { revision, undone_by, reasons, pending, replayed } => {
            let reasons: Vec<_> = (reasons.iter())
                .map(|(id, reason)| json!({"generation": id.generation, "worker": id.worker, "reason": reason}))
                .collect();
            let first = reasons.first().and_then(|reason| reason["reason"].as_str()).unwrap_or_default();
            let detail = format!("a worker refused revision {revision}, and revision {undone_by} undid it: {first}");
            let problem = Problem::new(StatusCode::CONFLICT, detail);
            let problem = problem.with("revision", revision).with("undone_by", undone_by).with("refused_by", reasons);
            let marks = [("pending", pending), ("replayed", replayed)];
            Err(marks.iter().filter(|(_, is_set)| *is_set).fold(problem, |problem, (name, _)| problem.with(name, true)))
        }
        Answer::NoRevision { revision, oldest, newest } if revision > newest => {
            let detail = format!("there is no revision {revision}; the newest is {newest}");
            Err(Problem::new(StatusCode::NOT_FOUND, detail).with("oldest", oldest))
        }
        Answer::NoRevision { revision, oldest, newest } => {
            let detail = format!("revision {revision} is not kept; one can go back to {oldest} to {newest}");
            Err(Problem::new(StatusCode::GONE, detail).with("oldest", oldest))
        }
        Answer::Full(detail) => Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, detail)
            .hint("nothing was changed; make space, and try again")),
        Answer::Failed(detail) => Err(Problem::failed(detail).hint("nothing was changed")),
        Answer::Busy => {
            let detail = "too many changes wait for an answer";
            Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).hint("put changes into one transaction"))
        }
    }
}

fn results(text: &mut String, workers: &[WorkerResult]) {
    for (n, worker) in workers.iter().enumerate() {
        let WorkerResult { id, pid, us } = worker;
        let separator = if n == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{separator}{{\"worker\":{},\"pid\":{pid},\"generation\":{},\"result\":\"{}\"",
            id.worker,
            id.generation,
            if us.is_some() { "applied" } else { "pending" }
        );
        let _ = us.map(|us| write!(text, ",\"us\":{us}"));
        text.push('}');
    }
}

/// A revision as an entity tag.
pub(super) fn etag(revision: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{revision}\"")).expect("digits and quotes may stand in a header")
}
