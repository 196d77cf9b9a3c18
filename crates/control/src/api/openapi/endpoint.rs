//! The table of endpoints.

use weir_resource::ResourceKind;

use super::kinds_with_paths;
use super::parameter::Parameter::{
    self, After, AfterMs, Before, DryRun, Durable, From, IfChanged, IfMatch, IfNoneMatch, Limit, Message, Page, Since,
    SinceMs, Timeout, Wait,
};
use crate::auth::Role;

/// A method of a path.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// In capitals.
    pub method: &'static str,
    /// With parameters in braces; `{kinds}` is filled in as [`Each`] says.
    pub path: &'static str,
    /// For which kinds of resources it is there.
    pub each: Each,
    /// In a sentence; `{kind}` and `{kinds}` are filled in.
    pub summary: &'static str,
    /// Who may ask; `None` for everybody.
    pub role: Option<Role>,
    /// What it takes in query and head. What is in the path follows from the path.
    pub parameters: &'static [Parameter],
    /// What it takes as its body.
    pub body: Body,
    /// What it answers if all is well.
    pub answers: &'static [(u16, Answer)],
    /// Statuses of problems that it may have, beside those that anything may.
    pub problems: &'static [u16],
}

/// For which kinds an endpoint is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// It has one path.
    One,
    /// It has one path, of this kind.
    Of(ResourceKind),
    /// It has one for each kind that has paths of its own.
    Kind,
}

/// What a request has as its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// A document of the kind.
    Document,
    /// A document with its `id` in it.
    Created,
    /// A rule of a policy.
    Rule,
    /// A merge patch (RFC 7396).
    Patch,
    /// The same of a rule.
    RulePatch,
    /// Changes.
    Transaction,
    /// A message, if wanted.
    Message,
}

/// What an answer has as its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A document of the kind.
    Document,
    /// Documents by id.
    Documents,
    /// A rule of a policy.
    Rule,
    /// A schema of the components, as JSON.
    Schema(&'static str),
    /// Server-sent events.
    Events,
    /// Prometheus' text.
    Metrics,
}

/// Of changes: made; made, and something is there that was not; not yet seen by every worker.
const CHANGED: &[(u16, Answer)] =
    &[(200, Answer::Schema("Change")), (201, Answer::Schema("Change")), (202, Answer::Schema("Change"))];
/// Of documents, and of those that the client has already.
const DOCUMENT: &[(u16, Answer)] = &[(200, Answer::Document), (304, Answer::Document)];
const PART: &[(u16, Answer)] = &[(200, Answer::Rule), (304, Answer::Rule)];
/// Of changes. 404 is for what is not there, 409 also for what a worker refused.
const CHANGES: &[u16] = &[404, 409, 412, 413, 415, 422, 429, 500, 503, 507];
const ROLLBACKS: &[u16] = &[404, 409, 410, 412, 413, 415, 422, 429, 500, 503, 507];
const HOW: &[Parameter] = &[DryRun, Wait, Timeout, Durable, Message];
const HOW_IF: &[Parameter] = &[DryRun, Wait, Timeout, Durable, Message, IfMatch, IfNoneMatch];

const ALL: &str = "/api/v1/{kinds}";
const ONE: &str = "/api/v1/{kinds}/{id}";
const MEMBERS: &str = "/api/v1/upstreams/{id}/members";
const MEMBER: &str = "/api/v1/upstreams/{id}/members/{member}";
const RULE: &str = "/api/v1/policies/{id}/rules/{rule}";
const SETTINGS: &str = "/api/v1/settings";
const TRANSACTIONS: &str = "/api/v1/transactions";
const REVISIONS: &str = "/api/v1/revisions";
const REVISION: &str = "/api/v1/revisions/{revision}";
const DIFF: &str = "/api/v1/revisions/{revision}/diff";
const ROLLBACK: &str = "/api/v1/revisions/{revision}/rollback";

const fn schema(name: &'static str) -> Answer {
    Answer::Schema(name)
}

/// All there are.
pub const ENDPOINTS: &[Endpoint] = &[
    get(ALL, "All {kinds}", &[(200, Answer::Documents)]).takes(&[Page, After]).of_each_kind(),
    post(ALL, "Makes a {kind}; its id is in it", Body::Created).of_each_kind(),
    get(ONE, "A {kind}", DOCUMENT).takes(&[IfChanged]).of_each_kind().may(&[404]),
    put(ONE, "Makes or replaces a {kind}", Body::Document).of_each_kind(),
    patch(ONE, "Changes a {kind}").of_each_kind(),
    delete(ONE, "Deletes a {kind}").of_each_kind(),
    get(MEMBERS, "All members of an upstream", &[(200, Answer::Documents)])
        .takes(&[Page, After])
        .of(ResourceKind::Members)
        .may(&[404]),
    post(MEMBERS, "Makes a member; its id is in it", Body::Created).of(ResourceKind::Members),
    get(MEMBER, "A member", DOCUMENT).takes(&[IfChanged]).of(ResourceKind::Members).may(&[404]),
    put(MEMBER, "Makes or replaces a member", Body::Document).of(ResourceKind::Members),
    patch(MEMBER, "Changes a member").of(ResourceKind::Members),
    delete(MEMBER, "Deletes a member").of(ResourceKind::Members),
    get(RULE, "A rule of a policy", PART).takes(&[IfChanged]).of(ResourceKind::Policies).may(&[404]),
    put(RULE, "Makes or replaces a rule of a policy", Body::Rule).of(ResourceKind::Policies),
    change("PATCH", RULE, "Changes a rule of a policy", Body::RulePatch).of(ResourceKind::Policies),
    delete(RULE, "Deletes a rule of a policy").of(ResourceKind::Policies),
    get(SETTINGS, "The settings", DOCUMENT).takes(&[IfChanged]).of(ResourceKind::Settings),
    put(SETTINGS, "Replaces the settings", Body::Document).of(ResourceKind::Settings).by(Role::Admin),
    patch(SETTINGS, "Changes the settings").of(ResourceKind::Settings).by(Role::Admin),
    post(TRANSACTIONS, "Makes all changes or none; with settings among them, role admin", Body::Transaction),
    get("/api/v1/state", "All resources, as `weir apply` takes them", &[(200, schema("State"))]),
    get(REVISIONS, "Revisions, the newest first", &[(200, schema("Revisions"))]).takes(&[Limit, Before]),
    get(REVISION, "A revision", &[(200, schema("Revision"))]).may(&[404, 410]),
    get(DIFF, "What a revision changed", &[(200, schema("Diff"))]).may(&[404, 410]),
    post(ROLLBACK, "Makes all be as at a revision, as a new one", Body::Message).by(Role::Admin).may(ROLLBACKS),
    get("/api/v1/watch", "Revisions as they happen", &[(200, Answer::Events)]).takes(&[Since]).may(&[409, 429]),
    get("/api/v1/workers", "Workers and what they have applied", &[(200, schema("Workers"))]),
    get("/api/v1/audit", "Changes that were refused, and requests that were not let in", &[(200, schema("Audit"))])
        .takes(&[Limit]),
    get("/api/v1/cost", "What rules and lanes cost", &[(200, schema("Cost"))]).may(&[404, 503]),
    get("/api/v1/cost/history", "What revisions have cost, the oldest first", &[(200, schema("CostHistory"))])
        .takes(&[From, SinceMs, AfterMs, Limit]),
    get("/metrics", "Metrics for Prometheus", &[(200, Answer::Metrics)]),
    get("/healthz", "Whether control lives", &[(200, schema("Health")), (503, schema("Health"))]).by_anybody(),
    get("/openapi.json", "This document", &[(200, schema("OpenApi"))]),
];

const fn get(path: &'static str, summary: &'static str, answers: &'static [(u16, Answer)]) -> Endpoint {
    Endpoint {
        method: "GET",
        path,
        each: Each::One,
        summary,
        role: Some(Role::Read),
        parameters: &[],
        body: Body::None,
        answers,
        problems: &[],
    }
}

const fn change(method: &'static str, path: &'static str, summary: &'static str, body: Body) -> Endpoint {
    let role = Some(Role::Edit);
    Endpoint { method, role, parameters: HOW_IF, body, problems: CHANGES, ..get(path, summary, CHANGED) }
}

const fn put(path: &'static str, summary: &'static str, body: Body) -> Endpoint {
    change("PUT", path, summary, body)
}

const fn patch(path: &'static str, summary: &'static str) -> Endpoint {
    change("PATCH", path, summary, Body::Patch)
}

const fn delete(path: &'static str, summary: &'static str) -> Endpoint {
    change("DELETE", path, summary, Body::None)
}

const fn post(path: &'static str, summary: &'static str, body: Body) -> Endpoint {
    Endpoint { parameters: HOW, ..change("POST", path, summary, body) }
}

impl Endpoint {
    const fn of_each_kind(self) -> Self {
        Self { each: Each::Kind, ..self }
    }

    const fn of(self, kind: ResourceKind) -> Self {
        Self { each: Each::Of(kind), ..self }
    }

    const fn by(self, role: Role) -> Self {
        Self { role: Some(role), ..self }
    }

    const fn by_anybody(self) -> Self {
        Self { role: None, ..self }
    }

    const fn takes(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    const fn may(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }

    /// Its paths, each with the kind of resource that it is about.
    pub(super) fn paths(&self) -> Vec<(Option<ResourceKind>, String)> {
        match self.each {
            Each::One => vec![(None, self.path.to_owned())],
            Each::Of(kind) => vec![(Some(kind), self.path.to_owned())],
            Each::Kind => {
                kinds_with_paths().map(|kind| (Some(kind), self.path.replace("{kinds}", kind.plural()))).collect()
            }
        }
    }
}
