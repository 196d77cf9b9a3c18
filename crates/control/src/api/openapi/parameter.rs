//! Parameters of queries, heads and paths.

use serde_json::{Value, json};
use weir_resource::{ResourceKind, descriptor};

use super::example;

/// What a request may say in its query or head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Check, but change nothing.
    DryRun,
    /// For what the answer waits.
    Wait,
    /// How long it waits.
    Timeout,
    /// Whether it waits for the disk too.
    Durable,
    /// Why, for people.
    Message,
    /// Only if the resource is at this revision.
    IfMatch,
    /// Only if the resource is not there.
    IfNoneMatch,
    /// Only if it is not what the client has.
    IfChanged,
    /// How many.
    Limit,
    /// How many documents.
    Page,
    /// Only those behind this id.
    After,
    /// Only older ones.
    Before,
    /// From where on.
    Since,
    /// From which revision on.
    From,
    /// From when on.
    SinceMs,
    /// After which record.
    AfterMs,
}

impl Parameter {
    /// Its name, where it stands, what it takes and what it means.
    const fn about(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::DryRun => ("dry_run", "query", "Checks everything and changes nothing; an empty value is true."),
            Self::Wait => ("wait", "query", "Answers when it is stored (`accepted`) or when every worker has it."),
            Self::Timeout => ("timeout", "query", "How long to wait for workers, such as `5s` or `500ms`; then 202."),
            Self::Durable => ("durable", "query", "Waits until it is on disk; an empty value is true."),
            Self::Message => ("message", "query", "Why, for the list of revisions."),
            Self::IfMatch => ("If-Match", "header", "ETags of the resource, or `*`; else 412."),
            Self::IfNoneMatch => ("If-None-Match", "header", "`*`: only if it is not there; else 412."),
            Self::IfChanged => ("If-None-Match", "header", "ETags of what is known; if it is one of them, 304."),
            Self::Limit | Self::Page => ("limit", "query", "How many at most; `Link` tells where the next ones are."),
            Self::After => ("after", "query", "Only what is behind this id."),
            Self::Before => ("before", "query", "Only revisions before this one."),
            Self::Since => ("since", "query", "Begins after this revision; without it, with the next one."),
            Self::From => ("since", "query", "Begins with this revision; the one before it comes first, to compare."),
            Self::SinceMs => ("since_ms", "query", "Begins at this time, in milliseconds since 1970."),
            Self::AfterMs => ("after_ms", "query", "The next page: `next_ms` of the one before."),
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
            Self::Limit => json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
            Self::Before | Self::From | Self::Since | Self::SinceMs | Self::AfterMs => {
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
