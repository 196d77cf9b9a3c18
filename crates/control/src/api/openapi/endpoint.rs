//! The table of endpoints.

use weir_resource::ResourceKind;

use super::kinds_with_paths;
use super::parameter::Parameter::{
    self, Address, After, AfterMs, AfterNetwork, Before, DryRun, Durable, Expect, From, IdempotencyKey, IfChanged,
    IfMatch, IfNoneMatch, Limit, Message, OfRevision, Origin, Page, Since, SinceMs, Timeout, Wait,
};
use crate::auth::Role;

/// A method of a path.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// In upper case.
    pub method: &'static str,
    /// With parameters in braces; `{kinds}` is filled in as [`KindScope`] says.
    pub path: &'static str,
    /// The kinds of resources that it exists for.
    pub each: KindScope,
    /// A sentence; `{kind}` and `{kinds}` are filled in.
    pub summary: &'static str,
    /// The required role; `None` if no authentication is needed.
    pub role: Option<Role>,
    /// Parameters of query and header. Those of the path follow from the path.
    pub parameters: &'static [Parameter],
    /// The body of the request.
    pub body: Body,
    /// Responses of success.
    pub answers: &'static [(u16, Answer)],
    /// Statuses of problems beside those of every endpoint.
    pub problems: &'static [u16],
}

/// The kinds that an endpoint exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindScope {
    /// It has a single path.
    One,
    /// It has a single path, for resources of this kind.
    Of(ResourceKind),
    /// It has one path for each kind with paths of its own.
    Kind,
}

/// The body of a request.
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
    /// A merge patch of a rule.
    RulePatch,
    /// Changes.
    Transaction,
    /// An optional message.
    Message,
    /// A backup.
    Backup,
    /// A ban.
    Ban,
    /// A registration of a probe.
    Probe,
    /// What to do with a probe.
    ProbeAction,
    /// A shadow configuration.
    Shadow,
}

/// The body of a response.
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
    /// A backup.
    Backup,
}

/// Responses to changes: applied; applied, with a new resource; not yet acknowledged by every worker.
const CHANGED: &[(u16, Answer)] =
    &[(200, Answer::Schema("Change")), (201, Answer::Schema("Change")), (202, Answer::Schema("Change"))];
/// Responses with a document, or without if the client has it already.
const DOCUMENT: &[(u16, Answer)] = &[(200, Answer::Document), (304, Answer::Document)];
const PART: &[(u16, Answer)] = &[(200, Answer::Rule), (304, Answer::Rule)];
/// Problems of changes. 404 means that the resource does not exist, 409 also that a worker refused the change.
const CHANGES: &[u16] = &[404, 409, 412, 413, 415, 422, 429, 500, 503, 507];
const ROLLBACKS: &[u16] = &[404, 409, 410, 412, 413, 415, 422, 429, 500, 503, 507];
const OPTIONS: &[Parameter] = &[DryRun, Wait, Timeout, Durable, Message, Expect, IdempotencyKey];
const CONDITIONAL: &[Parameter] =
    &[DryRun, Wait, Timeout, Durable, Message, Expect, IdempotencyKey, IfMatch, IfNoneMatch];

const ALL: &str = "/api/v1/{kinds}";
const ONE: &str = "/api/v1/{kinds}/{id}";
const MEMBERS: &str = "/api/v1/upstreams/{id}/members";
const MEMBER: &str = "/api/v1/upstreams/{id}/members/{member}";
const RULE: &str = "/api/v1/policies/{id}/rules/{rule}";
const BANS: &str = "/api/v1/bans";
const PROBES: &str = "/api/v1/probes";
const SHADOW: &str = "/api/v1/shadow/{app}";
const SETTINGS: &str = "/api/v1/settings";
const TRANSACTIONS: &str = "/api/v1/transactions";
const REVISIONS: &str = "/api/v1/revisions";
const REVISION: &str = "/api/v1/revisions/{revision}";
const DIFF: &str = "/api/v1/revisions/{revision}/diff";
const ROLLBACK: &str = "/api/v1/revisions/{revision}/rollback";

const fn schema(name: &'static str) -> Answer {
    Answer::Schema(name)
}

/// All endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    get(ALL, "All {kinds}", &[(200, Answer::Documents)]).takes(&[Page, After]).of_each_kind(),
    post(ALL, "Creates a {kind}; the body contains its id", Body::Created).of_each_kind(),
    get(ONE, "A {kind}", DOCUMENT).takes(&[IfChanged]).of_each_kind().may(&[404]),
    put(ONE, "Creates or replaces a {kind}", Body::Document).of_each_kind(),
    patch(ONE, "Changes a {kind}").of_each_kind(),
    delete(ONE, "Deletes a {kind}").of_each_kind(),
    get(MEMBERS, "All members of an upstream", &[(200, Answer::Documents)])
        .takes(&[Page, After])
        .of(ResourceKind::Members)
        .may(&[404]),
    post(MEMBERS, "Creates a member; the body contains its id", Body::Created).of(ResourceKind::Members),
    get(MEMBER, "A member", DOCUMENT).takes(&[IfChanged]).of(ResourceKind::Members).may(&[404]),
    put(MEMBER, "Creates or replaces a member", Body::Document).of(ResourceKind::Members),
    patch(MEMBER, "Changes a member").of(ResourceKind::Members),
    delete(MEMBER, "Deletes a member").of(ResourceKind::Members),
    get(RULE, "A rule of a policy", PART).takes(&[IfChanged]).of(ResourceKind::Policies).may(&[404]),
    put(RULE, "Creates or replaces a rule of a policy", Body::Rule).of(ResourceKind::Policies),
    change("PATCH", RULE, "Changes a rule of a policy", Body::RulePatch).of(ResourceKind::Policies),
    delete(RULE, "Deletes a rule of a policy").of(ResourceKind::Policies),
    get(SETTINGS, "The settings", DOCUMENT).takes(&[IfChanged]).of(ResourceKind::Settings),
    put(SETTINGS, "Replaces the settings", Body::Document).of(ResourceKind::Settings).by(Role::Admin),
    patch(SETTINGS, "Changes the settings").of(ResourceKind::Settings).by(Role::Admin),
    post(TRANSACTIONS, "Makes all changes or none; changes of the settings need the role admin", Body::Transaction),
    get("/api/v1/state", "All resources, as `weir apply` takes them", &[(200, schema("State"))]),
    get(REVISIONS, "Revisions, the newest first", &[(200, schema("Revisions"))]).takes(&[Limit, Before]),
    get(REVISION, "A revision", &[(200, schema("Revision"))]).may(&[404, 410]),
    get(DIFF, "The changes of a revision", &[(200, schema("Diff"))]).may(&[404, 410]),
    post(ROLLBACK, "Restores the state of a revision, as a new revision", Body::Message).by(Role::Admin).may(ROLLBACKS),
    get("/api/v1/watch", "Revisions as they happen", &[(200, Answer::Events)]).takes(&[Since]).may(&[409, 429]),
    get("/api/v1/files", "Captured files that resources name", &[(200, schema("Files"))])
        .takes(&[Page, After])
        .of(ResourceKind::Files),
    get("/api/v1/workers", "Workers and the revisions that they have applied", &[(200, schema("Workers"))]),
    get("/api/v1/audit", "Refused changes and rejected requests", &[(200, schema("Audit"))]).takes(&[Limit]),
    get(
        "/api/v1/backup",
        "Everything that a state directory has, with private keys, as a tar archive",
        &[(200, Answer::Backup)],
    )
    .by(Role::Admin)
    .may(&[507]),
    post("/api/v1/restore", "Restores the configuration of a backup, as a new revision", Body::Backup)
        .by(Role::Admin)
        .may(ROLLBACKS),
    get(BANS, "Bans that hold, by network", &[(200, schema("Bans"))]).takes(&[Limit, AfterNetwork, Origin, Address]),
    post(BANS, "Bans an address or a network for some time, in place of an earlier ban", Body::Ban).about_bans(),
    delete("/api/v1/bans/{network}", "Ends a ban that was made with this API").about_bans(),
    get(PROBES, "Probes in JVMs that have registered", &[(200, schema("Probes"))]),
    post(PROBES, "Registers a probe; probes do so every ten seconds", Body::Probe)
        .about_probes(&[(200, schema("ProbeRegistered"))])
        .by(Role::Probe),
    get("/api/v1/probes/{probe}", "A probe, as it describes itself", &[(200, schema("Probe"))]).may(&[404, 503]),
    get("/api/v1/probes/{probe}/cost", "Costs of a probe's join points", &[(200, schema("ProbeCost"))])
        .may(&[404, 503]),
    post("/api/v1/probes/{probe}/{action}", "Switches a probe, or one of its plugins", Body::ProbeAction)
        .about_probes(&[(200, schema("Probe"))]),
    get(SHADOW, "The shadow configuration of an application", &[(200, schema("Shadow"))])
        .takes(&[OfRevision])
        .by(Role::Admin)
        .may(&[404]),
    put(SHADOW, "Sets the shadow configuration of an application, as its next revision", Body::Shadow)
        .about_probes(&[(200, schema("ShadowChange"))])
        .takes(&[IfMatch])
        .by(Role::Admin),
    get("/api/v1/cost", "Costs of rules and lanes", &[(200, schema("Cost"))]).may(&[404, 503]),
    get("/api/v1/cost/history", "Costs of revisions, the oldest first", &[(200, schema("CostHistory"))])
        .takes(&[From, SinceMs, AfterMs, Limit]),
    get("/metrics", "Metrics for Prometheus", &[(200, Answer::Metrics)]),
    get("/healthz", "The health of control", &[(200, schema("Health")), (503, schema("Health"))]).by_anybody(),
    get("/openapi.json", "This document", &[(200, schema("OpenApi"))]),
];

const fn get(path: &'static str, summary: &'static str, answers: &'static [(u16, Answer)]) -> Endpoint {
    Endpoint {
        method: "GET",
        path,
        each: KindScope::One,
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
    Endpoint { method, role, parameters: CONDITIONAL, body, problems: CHANGES, ..get(path, summary, CHANGED) }
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
    Endpoint { parameters: OPTIONS, ..change("POST", path, summary, body) }
}

impl Endpoint {
    const fn of_each_kind(self) -> Self {
        Self { each: KindScope::Kind, ..self }
    }

    const fn of(self, kind: ResourceKind) -> Self {
        Self { each: KindScope::Of(kind), ..self }
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

    /// Bans are in force when they are answered, in all workers: there is nothing to wait for.
    const fn about_bans(self) -> Self {
        let problems = &[404, 413, 415, 422, 500, 503, 507];
        Self { parameters: &[], answers: &[(200, Answer::Schema("Ban"))], problems, ..self }
    }

    /// A probe answers, or it does not: there is no worker to wait for.
    const fn about_probes(self, answers: &'static [(u16, Answer)]) -> Self {
        Self { parameters: &[], answers, problems: &[404, 409, 412, 413, 415, 422, 500, 503, 507], ..self }
    }

    const fn may(self, problems: &'static [u16]) -> Self {
        Self { problems, ..self }
    }

    /// Its paths, each with the kind of resource that it is about.
    pub(super) fn paths(&self) -> Vec<(Option<ResourceKind>, String)> {
        match self.each {
            KindScope::One => vec![(None, self.path.to_owned())],
            KindScope::Of(kind) => vec![(Some(kind), self.path.to_owned())],
            KindScope::Kind => {
                kinds_with_paths().map(|kind| (Some(kind), self.path.replace("{kinds}", kind.plural()))).collect()
            }
        }
    }
}
