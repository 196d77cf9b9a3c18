//! Upstreams and their members.

mod convert;

use weir_gateway::resource::ResourceKind;
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::{DAY_MS, Descriptor, Example};

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &UPSTREAM,
    nested: &[&KEEPALIVE, &HEALTH, &PASSIVE, &ACTIVE, &HTTP_CHECK, &UPSTREAM_TLS],
    secret: None,
    example: Example {
        id: "app",
        document: r#"{"balance": "ewma", "members": {"a": "127.0.0.1:8081"}}"#,
        patch: r#"{"balance": "round_robin", "members": {"a": {"drain": true}}}"#,
    },
    convert: |converter, fields| converter.upstream(fields),
};

pub(super) static MEMBERS: Descriptor = Descriptor {
    table: &MEMBER,
    nested: &[],
    secret: None,
    example: Example { id: "a", document: r#"{"address": "127.0.0.1:8082", "weight": 2}"#, patch: r#"{"weight": 0}"# },
    convert: |converter, fields| converter.member(fields),
};

/// Most members of one upstream.
const MAX_MEMBERS: usize = 65_536;
/// Highest weight.
const MAX_WEIGHT: i64 = 1000;
/// Most idle connections to one member.
const MAX_IDLE: i64 = 65_536;
/// Most failures, or answers in a row, that health counts.
const MAX_COUNT: i64 = 1000;

/// An upstream.
pub(crate) static UPSTREAM: Resource = Resource {
    name: "upstream",
    article: "an upstream",
    doc: "A group of servers that answer the same requests.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "members",
            kind: Kind::AtMost(&Kind::Map(&Kind::Id(ResourceKind::Members), &Kind::Resource(&MEMBER)), MAX_MEMBERS),
            need: Need::Default("none"),
            doc: "The members, by id.",
        },
        Key {
            name: "balance",
            kind: Kind::Choice(&[
                ("round_robin", "in turn, according to weight"),
                ("least_connections", "the fewest requests in flight relative to the weight"),
                ("ewma", "the shortest expected wait: latency, as a moving average, times requests in flight"),
                ("hash", "the same member for the same `hash_key`, as long as the members stay the same"),
            ]),
            need: Need::Value("round_robin"),
            doc: "How a member is selected.",
        },
        Key {
            name: "hash_key",
            kind: Kind::Form(&form::HASH_KEY),
            need: Need::Default("none"),
            doc: "The key of `balance: hash`: `ip` (the client's address), `uri` (path and query), `header:NAME`, `cookie:NAME`, `query:NAME`.",
        },
        Key {
            name: "protocol",
            kind: Kind::Choice(&[
                ("http", "HTTP/1.1"),
                ("https", "HTTP/1.1 over TLS"),
                ("grpc", "gRPC: HTTP/2 without TLS"),
                ("grpcs", "gRPC over TLS"),
            ]),
            need: Need::Value("http"),
            doc: "The protocol for requests to members.",
        },
        Key {
            name: "keepalive",
            kind: Kind::Switch(&KEEPALIVE),
            need: Need::Value("true"),
            doc: "Idle connections that are kept for later requests.",
        },
        Key {
            name: "health",
            kind: Kind::Resource(&HEALTH),
            need: Need::Default("`passive`"),
            doc: "How unavailable members are detected.",
        },
        Key {
            name: "tls",
            kind: Kind::Resource(&UPSTREAM_TLS),
            need: Need::Default("as its keys' defaults"),
            doc: "TLS settings for members, for `https` and `grpcs`.",
        },
        Key {
            name: "host",
            kind: Kind::Form(&form::HOST),
            need: Need::Value("preserve"),
            doc: "The `Host` header: `preserve` keeps that of the client, `member` uses the name in the member's address; otherwise a host name.",
        },
        Key {
            name: "slow_start",
            kind: Kind::Duration(0, DAY_MS),
            need: Need::Value("0s"),
            doc: "The time in which a new or recovered member reaches its full weight.",
        },
        Key {
            name: "resolve",
            kind: Kind::Duration(1000, DAY_MS),
            need: Need::Value("10s"),
            doc: "The interval at which host names of members are resolved again.",
        },
        Key {
            name: "fallback",
            kind: Kind::Id(ResourceKind::Upstreams),
            need: Need::Default("none: 503"),
            doc: "The upstream to use while no member is available.",
        },
    ],
};

/// The pool of idle connections.
pub(crate) static KEEPALIVE: Resource = Resource {
    name: "keepalive",
    article: "`keepalive`",
    doc: "The pool of idle connections of each worker.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "connections",
            kind: Kind::Integer(1, MAX_IDLE),
            need: Need::Value("64"),
            doc: "The largest number of idle connections to one member.",
        },
        Key {
            name: "requests",
            kind: Kind::Integer(1, u32::MAX as i64),
            need: Need::Value("1000"),
            doc: "The number of requests over one connection before it is closed.",
        },
        Key {
            name: "idle",
            kind: Kind::Duration(1, DAY_MS),
            need: Need::Value("60s"),
            doc: "The longest idle time, which should be shorter than that of the members.",
        },
    ],
};

/// Health.
pub(crate) static HEALTH: Resource = Resource {
    name: "health",
    article: "`health`",
    doc: "How unavailable members are detected.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "passive",
            kind: Kind::Switch(&PASSIVE),
            need: Need::Value("true"),
            doc: "Takes members out according to the results of requests.",
        },
        Key {
            name: "active",
            kind: Kind::Switch(&ACTIVE),
            need: Need::Value("false"),
            doc: "Checks members with requests of its own.",
        },
    ],
};

/// Passive health.
pub(crate) static PASSIVE: Resource = Resource {
    name: "passive",
    article: "`passive`",
    doc: "Takes a member out for a while after a number of failures within a window. `retries` defines what a failure is.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "failures",
            kind: Kind::Integer(1, MAX_COUNT),
            need: Need::Value("3"),
            doc: "The number of failures that take a member out.",
        },
        Key { name: "window", kind: Kind::Duration(1, DAY_MS), need: Need::Value("10s"), doc: "The time window." },
        Key { name: "eject", kind: Kind::Duration(1, DAY_MS), need: Need::Value("10s"), doc: "Ejection time." },
    ],
};

/// Active health checks.
pub(crate) static ACTIVE: Resource = Resource {
    name: "active",
    article: "`active`",
    doc: "Health checks by the control daemon, which notifies all workers of the results.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "http",
            kind: Kind::Resource(&HTTP_CHECK),
            need: Need::Default("only a connection is made"),
            doc: "A request that a healthy member answers successfully. `http: PATH` is short for `http: {path: PATH}`.",
        },
        Key {
            name: "interval",
            kind: Kind::Duration(100, DAY_MS),
            need: Need::Value("2s"),
            doc: "The time between two checks of a member.",
        },
        Key {
            name: "timeout",
            kind: Kind::Duration(1, DAY_MS),
            need: Need::Value("1s"),
            doc: "The longest time of an answer.",
        },
        Key {
            name: "healthy",
            kind: Kind::Integer(1, MAX_COUNT),
            need: Need::Value("2"),
            doc: "The number of consecutive successful checks that bring a member back.",
        },
        Key {
            name: "unhealthy",
            kind: Kind::Integer(1, MAX_COUNT),
            need: Need::Value("3"),
            doc: "The number of consecutive failed checks that take a member out.",
        },
    ],
};

/// An HTTP health check.
pub(crate) static HTTP_CHECK: Resource = Resource {
    name: "http_check",
    article: "`http`",
    doc: "An HTTP health check.",
    short: Some("path"),
    one_of: &[],
    keys: &[
        Key {
            name: "path",
            kind: Kind::Form(&form::TARGET_PATH),
            need: Need::Required,
            doc: "The path of the `GET` request, optionally with a query.",
        },
        Key {
            name: "host",
            kind: Kind::Form(&form::HOST),
            need: Need::Default("the name in the member's address"),
            doc: "The `Host` header.",
        },
        Key {
            name: "expect",
            kind: Kind::Statuses,
            need: Need::Value("200-399"),
            doc: "The status codes of successful answers.",
        },
    ],
};

/// TLS settings for members.
pub(crate) static UPSTREAM_TLS: Resource = Resource {
    name: "upstream_tls",
    article: "`tls`",
    doc: "TLS settings for members.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "verify",
            kind: Kind::Flag,
            need: Need::Value("true"),
            doc: "Whether the member's certificate is verified.",
        },
        Key {
            name: "server_name",
            kind: Kind::Form(&form::HOST),
            need: Need::Default("the name in the member's address"),
            doc: "The host name for SNI and verification.",
        },
        Key {
            name: "authorities",
            kind: Kind::Form(&form::PEM),
            need: Need::Default("the system's"),
            doc: "The certificates of the trusted authorities, in PEM.",
        },
        Key {
            name: "certificate",
            kind: Kind::Id(ResourceKind::Certificates),
            need: Need::Default("none"),
            doc: "The certificate that Weir presents to members.",
        },
    ],
};

/// A member.
pub(crate) static MEMBER: Resource = Resource {
    name: "member",
    article: "a member",
    doc: "A server of an upstream. An address alone is short for `{address: ADDRESS}`.",
    short: Some("address"),
    one_of: &[],
    keys: &[
        Key {
            name: "address",
            kind: Kind::Form(&form::ADDRESS),
            need: Need::Required,
            doc: "An address or a host name with a port, or `unix:` and the path of a socket. Host names are resolved repeatedly (`resolve`).",
        },
        Key {
            name: "weight",
            kind: Kind::Integer(0, MAX_WEIGHT),
            need: Need::Value("1"),
            doc: "The share of requests; with 0 the member gets no new requests.",
        },
        Key {
            name: "backup",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether the member is used only while no other one is available.",
        },
        Key {
            name: "drain",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether the member gets no new requests; requests in flight finish.",
        },
    ],
};
