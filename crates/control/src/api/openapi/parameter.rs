//! Parameters of queries, headers and paths.

use serde_json::{Value, json};
use weir_resource::{ResourceKind, descriptor};

use super::{example, own};

/// A parameter of the query or header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Only check the change.
    DryRun,
    /// What the response waits for.
    Wait,
    /// How long the response waits.
    Timeout,
    /// Whether the response waits for the disk, too.
    Durable,
    /// The message of the revision.
    Message,
    /// Only if this is the newest revision.
    Expect,
    /// Once, however often the request is repeated.
    IdempotencyKey,
    /// Only if the resource is at this revision.
    IfMatch,
    /// Only if the resource does not exist.
    IfNoneMatch,
    /// Only if the client does not have it already.
    IfChanged,
    /// The number of entries.
    Limit,
    /// The number of documents.
    Page,
    /// Only ids after this one.
    After,
    /// Only older revisions.
    Before,
    /// The revision to begin after.
    Since,
    /// The revision to begin with.
    From,
    /// The time to begin at.
    SinceMs,
    /// The record to begin after.
    AfterMs,
    /// Only networks after this one.
    AfterNetwork,
    /// This revision, and not the newest.
    OfRevision,
    /// Only bans by these.
    Origin,
    /// Only bans of networks with this address.
    Address,
}

impl Parameter {
    /// Name, location and description.
    const fn about(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::DryRun => ("dry_run", "query", "Checks the change without applying it; an empty value means true."),
            Self::Wait => {
                ("wait", "query", "Respond when the change is stored (`accepted`) or when every worker has applied it.")
            }
            Self::Timeout => {
                ("timeout", "query", "How long to wait for workers, such as `5s` or `500ms`, before responding 202.")
            }
            Self::Durable => ("durable", "query", "Respond when the change is on disk; an empty value means true."),
            Self::Message => ("message", "query", "A message for the list of revisions."),
            Self::Expect => ("expect", "query", "Only if this is the newest revision; otherwise 412."),
            Self::IdempotencyKey => (
                "Idempotency-Key",
                "header",
                "A new key for each change. A repeated request with the same key changes nothing and is answered with \
                 what the first one did.",
            ),
            Self::IfMatch => ("If-Match", "header", "ETags of the resource, or `*`; otherwise 412."),
            Self::IfNoneMatch => {
                ("If-None-Match", "header", "`*`: only if the resource does not exist; otherwise 412.")
            }
            Self::IfChanged => {
                ("If-None-Match", "header", "ETags that the client has; if the current one is among them, 304.")
            }
            Self::Limit | Self::Page => ("limit", "query", "The most entries to return; `Link` has the next page."),
            Self::After => ("after", "query", "Only ids after this one."),
            Self::Before => ("before", "query", "Only revisions before this one."),
            Self::Since => ("since", "query", "Begin after this revision; without it, with the next one."),
            Self::From => {
                ("since", "query", "Begin with this revision; the record before it comes first, for comparison.")
            }
            Self::SinceMs => ("since_ms", "query", "Begin at this time, in milliseconds since 1970."),
            Self::AfterNetwork => ("after", "query", "Only networks after this one, in the order of the list."),
            Self::OfRevision => ("revision", "query", "This revision, and not the newest."),
            Self::Origin => ("origin", "query", "Only bans that operators or CrowdSec have made."),
            Self::Address => ("address", "query", "Only bans of networks with this address."),
            Self::AfterMs => ("after_ms", "query", "The next page: `next_ms` of the previous one."),
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::DryRun | Self::Durable => json!({"type": "boolean", "default": false}),
            Self::Wait => json!({"type": "string", "enum": ["accepted", "workers"], "default": "workers"}),
            Self::Timeout => json!({"type": "string", "pattern": "^([1-5]?[0-9]s?|[0-9]{1,4}ms)$", "default": "5s"}),
            // Bounded in bytes, of which a character has four at most.
            Self::Message => json!({"type": "string", "maxLength": 1024}),
            Self::IfMatch | Self::IfChanged => json!({"type": "string", "pattern": "^(\\*|\"[0-9]{1,18}\")$"}),
            Self::Page => json!({"type": "integer", "minimum": 1, "maximum": 10_000, "default": 1_000}),
            Self::After => json!({"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"}),
            Self::IfNoneMatch => json!({"type": "string", "enum": ["*"]}),
            Self::AfterNetwork => own::network(),
            Self::Origin => json!({"type": "string", "enum": ["operator", "crowdsec"]}),
            Self::Address => json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
            Self::Limit => json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            // 255 characters, and the quotes of a structured field.
            Self::IdempotencyKey => json!({"type": "string", "pattern": "^[!-~]{1,255}$"}),
            Self::Expect
            | Self::OfRevision
            | Self::Before
            | Self::From
            | Self::Since
            | Self::SinceMs
            | Self::AfterMs => {
                json!({"type": "integer", "minimum": 0, "maximum": i64::MAX})
            }
        }
    }

    pub(super) fn describe(self) -> Value {
        let (name, place, description) = self.about();
        let mut parameter = json!({
            "name": name,
            "in": place,
            "description": description,
            "required": false,
            "schema": self.schema(),
        });
        if matches!(self, Self::DryRun | Self::Durable) {
            parameter["allowEmptyValue"] = json!(true);
        }
        parameter
    }
}

/// A parameter of a path.
pub(super) fn in_path(name: &str, kind: Option<ResourceKind>) -> Value {
    let named = |example: &str, kind: ResourceKind| json!({"type": "string", "pattern": kind.id_pattern(), "maxLength": 128, "examples": [example]});
    let id = |kind: ResourceKind| named(descriptor(kind).example.id, kind);
    let (schema, description) = match (name, kind) {
        ("revision", _) => {
            (json!({"type": "integer", "minimum": 1, "maximum": i64::MAX}), "The revision's number.".to_owned())
        }
        ("network", _) => (own::network(), "The network, as it was banned.".to_owned()),
        ("probe", _) => (json!({"type": "string", "examples": ["4242@shop-1"]}), "The probe's id.".to_owned()),
        ("action", _) => (json!({"type": "string", "enum": super::super::probes::ACTIONS}), "What to do.".to_owned()),
        ("app", _) => (
            json!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$", "examples": ["shop"]}),
            "The application's name.".to_owned(),
        ),
        ("member", _) => (id(ResourceKind::Members), "The member's id.".to_owned()),
        ("rule", _) => (
            named(example::rule()["id"].as_str().unwrap_or_default(), ResourceKind::Policies),
            "The rule's id.".to_owned(),
        ),
        (_, Some(ResourceKind::Members)) => (id(ResourceKind::Upstreams), "The upstream's id.".to_owned()),
        (_, Some(kind)) => (id(kind), format!("The {}'s id.", kind.singular())),
        (_, None) => (json!({"type": "string"}), String::new()),
    };
    json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema})
}
