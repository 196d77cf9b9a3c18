//! Rows of how a route forwards requests.

use super::{DAY_MS, ResourceKind};
use weir_policy::table::{Key, Kind, Need, Resource, form};

/// Most tries of one request.
const MAX_ATTEMPTS: i64 = 16;
/// Highest weight of a side of a split.
const MAX_WEIGHT: i64 = 1_000_000;
/// Most conditions of a retry.
const MAX_REASONS: usize = 32;

/// A side of a split.
pub(crate) static SPLIT: Resource = Resource {
    name: "split",
    article: "a side of a split",
    doc: "An upstream and its share of the requests.",
    short: None,
    one_of: &[],
    keys: &[
        Key { name: "upstream", kind: Kind::Id(ResourceKind::Upstreams), need: Need::Required, doc: "The upstream." },
        Key {
            name: "weight",
            kind: Kind::Integer(0, MAX_WEIGHT),
            need: Need::Value("1"),
            doc: "The share, relative to the sum of all weights.",
        },
    ],
};

/// Stickiness.
pub(crate) static STICKY: Resource = Resource {
    name: "sticky",
    article: "`sticky`",
    doc: "Keeps a client on one side of a split. `sticky: KEY` is short for `sticky: {by: KEY}`.",
    short: Some("by"),
    one_of: &[],
    keys: &[Key {
        name: "by",
        kind: Kind::Form(&form::HASH_KEY),
        need: Need::Required,
        doc: "The property that identifies a client: `ip`, `header:NAME`, `cookie:NAME` or `query:NAME`.",
    }],
};

/// A change of the path.
pub(crate) static REWRITE: Resource = Resource {
    name: "rewrite",
    article: "`rewrite`",
    doc: "Changes the path before the request is forwarded.",
    short: None,
    one_of: &["prefix", "path", "regex"],
    keys: &[
        Key {
            name: "prefix",
            kind: Kind::Form(&form::PATH),
            need: Need::Default("none"),
            doc: "Replaces the prefix that `path` matched.",
        },
        Key {
            name: "path",
            kind: Kind::Form(&form::PATH),
            need: Need::Default("none"),
            doc: "Replaces the whole path: `{path}` stands for the original path, `{name}` for a segment of the path's template.",
        },
        Key {
            name: "regex",
            kind: Kind::Form(&form::PATTERN),
            need: Need::Default("none"),
            doc: "Replaces the text that this regular expression matches by `to`.",
        },
        Key {
            name: "to",
            kind: Kind::Form(&form::TARGET),
            need: Need::Default("none"),
            doc: "With `regex`: the replacement; `$1` and `${name}` stand for its groups.",
        },
    ],
};

/// Timeouts.
pub(crate) static TIMEOUTS: Resource = Resource {
    name: "timeouts",
    article: "`timeouts`",
    doc: "Timeouts towards the upstream.",
    short: None,
    one_of: &[],
    keys: &[
        Key { name: "connect", kind: Kind::Duration(1, DAY_MS), need: Need::Value("5s"), doc: "Time to connect." },
        Key { name: "send", kind: Kind::Duration(1, DAY_MS), need: Need::Value("60s"), doc: "Between two writes." },
        Key { name: "read", kind: Kind::Duration(1, DAY_MS), need: Need::Value("60s"), doc: "Between two reads." },
    ],
};

/// Retries.
pub(crate) static RETRIES: Resource = Resource {
    name: "retries",
    article: "`retries`",
    doc: "Retries with another member, before anything has been sent to the client.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "attempts",
            kind: Kind::Integer(1, MAX_ATTEMPTS),
            need: Need::Value("2"),
            doc: "The total number of attempts; 1 means no retry.",
        },
        Key {
            name: "on",
            kind: Kind::AtMost(&Kind::List(&Kind::Choice(RETRY_ON), true), MAX_REASONS),
            need: Need::Default("error, timeout"),
            doc: "The reasons for a retry: `error` (no connection, or a broken one), `timeout`, `invalid_header`, or a status: `500`, `502`, `503`, `504`, `429`.",
        },
        Key {
            name: "timeout",
            kind: Kind::Duration(0, DAY_MS),
            need: Need::Value("0"),
            doc: "The time after which no new attempt starts; 0 means no limit.",
        },
        Key {
            name: "non_idempotent",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether requests that are not idempotent (POST, LOCK, PATCH) are retried after they have been sent.",
        },
    ],
};

const RETRY_ON: &[(&str, &str)] = &[
    ("error", "no connection, or it broke"),
    ("timeout", "too slow"),
    ("invalid_header", "what cannot be understood"),
    ("500", "status 500"),
    ("502", "status 502"),
    ("503", "status 503"),
    ("504", "status 504"),
    ("429", "status 429"),
];

/// A mirror.
pub(crate) static MIRROR: Resource = Resource {
    name: "mirror",
    article: "`mirror`",
    doc: "Sends a copy of requests to another upstream. `mirror: UPSTREAM` is short for `mirror: {upstream: UPSTREAM}`.",
    short: Some("upstream"),
    one_of: &[],
    keys: &[
        Key { name: "upstream", kind: Kind::Id(ResourceKind::Upstreams), need: Need::Required, doc: "The upstream." },
        Key { name: "percent", kind: Kind::Percent, need: Need::Value("100"), doc: "The share of the requests." },
        Key {
            name: "shadow",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether copies are marked as shadow (load-test) traffic, by `weir.shadow=1` in the header field `baggage`, so that the Java probe keeps them from real data.",
        },
    ],
};
