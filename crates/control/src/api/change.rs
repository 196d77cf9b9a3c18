//! Requests for changes: their common parameters and responses.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header, request};
use axum::response::IntoResponse;
use serde_json::json;

use super::Problem;
use super::context::Context;
use super::query::Arguments;
use crate::auth::{Peer, Role};
use crate::metrics::Outcome;
use crate::publish::{Answer, Operation, Refresh, Submission, WorkerResult};

/// Query parameters of every change.
const ARGUMENTS: [&str; 5] = ["dry_run", "durable", "message", "timeout", "wait"];
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
}

impl ChangeRequest {
    /// Parses the head of a request whose change needs at least a role. The change itself is passed to
    /// [`ChangeRequest::make`].
    pub fn of(context: &Context, head: &request::Parts, needed: Role) -> Result<Self, Problem> {
        let peer = head.extensions.get::<Peer>();
        check(peer.map(|peer| peer.role), needed)?;
        let arguments = Arguments::parse(head.uri.query(), &ARGUMENTS)?;
        let submission = Submission {
            operation: Operation::Edits(Vec::new()),
            actor: peer.map_or_else(|| Arc::from("?"), |peer| peer.actor.clone()),
            message: arguments.get("message").map(str::to_owned),
            wait: arguments.wait()?,
            timeout: arguments.timeout(&context.shared.limits)?,
            dry_run: arguments.switch("dry_run")?,
            refresh: Refresh::Written,
        };
        let durable = arguments.switch("durable")?;
        let what = format!("{} {}", head.method, head.uri.path());
        let role = peer.map(|peer| peer.role);
        Ok(Self { submission, durable, since: Instant::now(), what, role })
    }

    /// Sets the message of the body, if there is one.
    pub fn message(&mut self, message: Option<String>) {
        self.submission.message = message.or(self.submission.message.take());
    }

    /// Sets the resources whose files are captured anew.
    pub fn refresh(&mut self, refresh: Refresh) {
        self.submission.refresh = refresh;
    }

    /// Sets a message if there is none.
    pub fn message_if_none(&mut self, message: impl FnOnce() -> String) {
        self.submission.message.get_or_insert_with(message);
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
            context.shared.audit(&actor, &self.what, problem.status().as_u16(), &problem.line());
            problem.into_response()
        })
    }
}

/// Whether a role is enough for a change.
fn check(role: Option<Role>, needed: Role) -> Result<(), Problem> {
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
        Answer::Refused(_) | Answer::NoRevision { .. } => Outcome::Conflict,
        Answer::Undone { .. } => Outcome::RolledBack,
        Answer::Busy => Outcome::Busy,
        Answer::Full(_) | Answer::Failed(_) => Outcome::Failed,
    }
}

fn respond(answer: Answer, dry_run: bool) -> Result<Response<Body>, Problem> {
    match answer {
        Answer::Done { revision, changed, created, workers, pending, warnings } => {
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
        Answer::Undone { revision, undone_by, reasons, pending } => {
            let reasons: Vec<_> = (reasons.iter())
                .map(|(id, reason)| json!({"generation": id.generation, "worker": id.worker, "reason": reason}))
                .collect();
            let first = reasons.first().and_then(|reason| reason["reason"].as_str()).unwrap_or_default();
            let detail = format!("a worker refused revision {revision}, and revision {undone_by} undid it: {first}");
            let problem = Problem::new(StatusCode::CONFLICT, detail);
            let problem = problem.with("revision", revision).with("undone_by", undone_by).with("refused_by", reasons);
            Err(if pending { problem.with("pending", true) } else { problem })
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
