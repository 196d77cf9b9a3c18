//! The rows of inspectors: remote detectors that the action `inspect` asks.

use super::{Key, Kind, Need, Resource, form};

/// Most endpoints of one inspector.
const MAX_ENDPOINTS: usize = 16;
/// The longest deadline.
const MAX_DEADLINE_MS: u64 = 60_000;
/// Most bytes of a body that are sent.
const MAX_SENT_BYTES: u64 = 1 << 20;
/// The longest time for which an answer is remembered.
const MAX_REMEMBERED_MS: u64 = 3_600_000;

/// An inspector.
pub static INSPECTOR: Resource = Resource {
    name: "inspector",
    article: "an inspector",
    doc: "A remote detector that the action `inspect` asks about a request.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "endpoints",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::ADDRESS), true), MAX_ENDPOINTS),
            need: Need::Required,
            doc: "Where the service listens. Questions go to the endpoints in turn; one that fails several times in a row is left out for a while. Host names are resolved again every 30 seconds.",
        },
        Key {
            name: "protocol",
            kind: Kind::Choice(&[
                ("weir", "Weir's own protocol: all questions of a worker on one connection"),
                (
                    "forward_auth",
                    "an HTTP request as nginx's `auth_request`, Traefik and Caddy send it: 2xx passes, any other response below 500 is the client's",
                ),
                ("ext_authz", "Envoy's `ext_authz` over HTTP: 200 passes"),
                ("crowdsec", "CrowdSec's AppSec component"),
            ]),
            need: Need::Value("weir"),
            doc: "How it is asked.",
        },
        Key {
            name: "detector",
            kind: Kind::Word(super::Word::Id),
            need: Need::Default("the inspector's own id"),
            doc: "For `protocol: weir`: which detector of the service.",
        },
        Key {
            name: "tenant",
            kind: Kind::Word(super::Word::Id),
            need: Need::Default("none"),
            doc: "For `protocol: weir`: on whose behalf it is asked, where one service answers for several.",
        },
        Key {
            name: "path",
            kind: Kind::Form(&form::TARGET_PATH),
            need: Need::Value("/"),
            doc: "Path of the request; for `ext_authz`, what stands before the original path.",
        },
        Key {
            name: "token",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "The file whose one line is the secret that the service asks for: the token of `weir inspector`, or CrowdSec's API key.",
        },
        Key { name: "tls", kind: Kind::Switch(&INSPECTOR_TLS), need: Need::Value("false"), doc: "TLS to the service." },
        Key {
            name: "deadline",
            kind: Kind::Duration(1, MAX_DEADLINE_MS),
            need: Need::Value("20ms"),
            doc: "How long a request waits for the answer, connecting included.",
        },
        Key {
            name: "fail",
            kind: Kind::Choice(&[("open", "the request goes on"), ("closed", "it is refused with `fail_status`")]),
            need: Need::Default("`closed` for `forward_auth` and `ext_authz`, otherwise `open`"),
            doc: "What holds without an answer: after the deadline, without a connection, after an error of the service, or while the circuit breaker is open.",
        },
        Key {
            name: "fail_status",
            kind: Kind::Integer(400, 599),
            need: Need::Value("503"),
            doc: "Status of the response with `fail: closed`.",
        },
        Key {
            name: "mode",
            kind: Kind::Choice(&[
                ("enforce", "the request waits for the answer"),
                ("observe", "it does not: answers are counted, and logged if the request is still being served"),
            ]),
            need: Need::Value("enforce"),
            doc: "Whether answers count.",
        },
        Key {
            name: "headers",
            kind: Kind::List(&Kind::Form(&form::TOKEN), false),
            need: Need::Default("all"),
            doc: "The header fields that are sent.",
        },
        Key {
            name: "body",
            kind: Kind::Size(0, MAX_SENT_BYTES),
            need: Need::Value("0"),
            doc: "Most bytes of the request body that are sent, with a flag if that is not all of it. With `0` the question is asked before the body is read, and says only that there is one: detectors that have to read it refuse then.",
        },
        Key {
            name: "sets",
            kind: Kind::List(&Kind::HeaderName, false),
            need: Need::Default("none"),
            doc: "Header fields of the request that answers may set or remove. If a policy asks the inspector, those that clients send are removed from all its requests.",
        },
        Key {
            name: "sample",
            kind: Kind::Percent,
            need: Need::Value("100"),
            doc: "Share of requests that are asked about; the others pass.",
        },
        Key {
            name: "skip",
            kind: Kind::List(&Kind::Form(&form::PATH), false),
            need: Need::Default("none"),
            doc: "Paths that are never asked about, such as that of a health check; `/static/*` is everything below `/static/`. Paths are decoded and normalised.",
        },
        Key {
            name: "cache",
            kind: Kind::Resource(&INSPECTOR_CACHE),
            need: Need::Default("every request is asked about"),
            doc: "Remembers answers in each worker.",
        },
        Key {
            name: "breaker",
            kind: Kind::Resource(&INSPECTOR_BREAKER),
            need: Need::Default("its defaults"),
            doc: "The circuit breaker of each worker: an inspector that fails too often is not asked for a while, and then by one request at a time until it answers.",
        },
        Key {
            name: "unknown",
            kind: Kind::Choice(&[
                ("ban", "the request is refused"),
                ("captcha", "it is refused, with the tag `captcha`"),
                ("allow", "it passes, with a line in the attack log"),
            ]),
            need: Need::Value("ban"),
            doc: "For `protocol: crowdsec`: what a remediation means that is neither `ban` nor `captcha`.",
        },
    ],
};

/// TLS to an inspector.
static INSPECTOR_TLS: Resource = Resource {
    name: "inspector_tls",
    article: "`tls`",
    doc: "TLS to an inspector.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "verify",
            kind: Kind::Flag,
            need: Need::Value("true"),
            doc: "Whether the service's certificate is verified.",
        },
        Key {
            name: "authorities",
            kind: Kind::File,
            need: Need::Default("those of the system"),
            doc: "Certificates of the authorities, PEM.",
        },
        Key {
            name: "server_name",
            kind: Kind::Form(&form::HOST),
            need: Need::Default("the host in the endpoint"),
            doc: "The name that is asked for and verified.",
        },
    ],
};

/// Remembered answers.
static INSPECTOR_CACHE: Resource = Resource {
    name: "inspector_cache",
    article: "`cache`",
    doc: "Answers that are remembered. Failures are not, nor are refusals with `Set-Cookie`, which is one client's.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "key",
            kind: Kind::Value,
            need: Need::Required,
            doc: "Requests with the same value get the same answer, such as `http.request.headers[\"authorization\"][0]`; without a value, the inspector is asked. All that the answer depends on has to be in it.",
        },
        Key { name: "for", kind: Kind::Duration(1, MAX_REMEMBERED_MS), need: Need::Value("10s"), doc: "How long." },
    ],
};

/// When an inspector is not asked.
static INSPECTOR_BREAKER: Resource = Resource {
    name: "inspector_breaker",
    article: "`breaker`",
    doc: "When the circuit breaker opens.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "failures",
            kind: Kind::Percent,
            need: Need::Value("50"),
            doc: "Share of failures within 10 seconds from which it opens.",
        },
        Key {
            name: "requests",
            kind: Kind::Integer(1, 1_000_000),
            need: Need::Value("20"),
            doc: "Questions within that time before the share is looked at.",
        },
        Key {
            name: "open",
            kind: Kind::Duration(10, 60_000),
            need: Need::Value("1s"),
            doc: "How long it stays open at first; twice as long after each failed try, up to a minute.",
        },
    ],
};

/// The tables below [`INSPECTOR`].
pub static INSPECTOR_TABLES: [&Resource; 3] = [&INSPECTOR_TLS, &INSPECTOR_CACHE, &INSPECTOR_BREAKER];
