//! Routes.

mod convert;
mod forward;
mod messages;
mod unique;

use weir_gateway::resource::ResourceKind;
use weir_policy::table::{Key, Kind, Need, Resource, form};

use super::{DAY_MS, Descriptor, Example, policies};
use forward::{MIRROR, RETRIES, REWRITE, SPLIT, STICKY, TIMEOUTS};
use messages::MESSAGES;

pub(super) static DESCRIPTOR: Descriptor = Descriptor {
    table: &ROUTE,
    nested: &[
        &PATH_MATCH,
        &TEST,
        &SPLIT,
        &STICKY,
        &REDIRECT,
        &RESPOND,
        &MESSAGES,
        &REWRITE,
        &HEADER_CHANGES,
        &TIMEOUTS,
        &RETRIES,
        &MIRROR,
    ],
    secret: None,
    example: Example {
        id: "catalogue",
        document: r#"{"site": "shop", "path": {"prefix": "/catalogue"}, "to": "app"}"#,
        patch: r#"{"timeouts": {"read": "10s"}}"#,
    },
    convert: |converter, fields| converter.route(fields),
};

/// Most conditions of one kind, methods, or sides of a split.
const MAX_CONDITIONS: usize = 32;
/// Most values of one condition.
const MAX_VALUES: usize = 256;
/// Most changes of header fields of one kind.
const MAX_CHANGES: usize = 64;
/// Bounds of a priority.
const MAX_PRIORITY: i64 = 1_000_000;
/// Largest limit of a body.
const MAX_BODY: u64 = 1 << 40;

/// A route.
pub(crate) static ROUTE: Resource = Resource {
    name: "route",
    article: "a route",
    doc: "Conditions that select requests of a site, and their handling. All conditions must hold. If several routes match a request, the one with the highest `priority` wins; then, as in nginx, an exact path before a template, before a regular expression (a longer one first), before the longest prefix; then the route with more conditions. Two routes that would still be equal are rejected.",
    short: None,
    one_of: &["to", "split", "redirect", "respond", "messages"],
    keys: &[
        Key { name: "site", kind: Kind::Id(ResourceKind::Sites), need: Need::Required, doc: "The site." },
        Key {
            name: "path",
            kind: Kind::Resource(&PATH_MATCH),
            need: Need::Value("/"),
            doc: "The paths. `path: /api` is short for `path: {prefix: /api}`.",
        },
        Key {
            name: "methods",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&form::METHOD), true), MAX_CONDITIONS),
            need: Need::Default("all"),
            doc: "The methods; `GET` does not include `HEAD`.",
        },
        conditions("headers", &TOKENS, "Conditions on header fields, by name."),
        conditions("query", &ARGUMENTS, "Conditions on query arguments, by name."),
        conditions("cookies", &TOKENS, "Conditions on cookies, by name."),
        Key {
            name: "priority",
            kind: Kind::Integer(-MAX_PRIORITY, MAX_PRIORITY),
            need: Need::Value("0"),
            doc: "The priority; a higher number takes precedence.",
        },
        Key {
            name: "to",
            kind: Kind::Id(ResourceKind::Upstreams),
            need: Need::Default("`split`, `redirect`, `respond` or `messages`"),
            doc: "The upstream that receives the requests.",
        },
        Key {
            name: "split",
            kind: Kind::AtMost(&Kind::List(&Kind::Resource(&SPLIT), true), MAX_CONDITIONS),
            need: Need::Default("`to`, `redirect`, `respond` or `messages`"),
            doc: "Several upstreams that receive shares of the requests.",
        },
        Key {
            name: "redirect",
            kind: Kind::Resource(&REDIRECT),
            need: Need::Default("`to`, `split`, `respond` or `messages`"),
            doc: "Answers with a redirect.",
        },
        Key {
            name: "respond",
            kind: Kind::Resource(&RESPOND),
            need: Need::Default("`to`, `split`, `redirect` or `messages`"),
            doc: "Answers without an upstream.",
        },
        Key {
            name: "messages",
            kind: Kind::Resource(&MESSAGES),
            need: Need::Default("`to`, `split`, `redirect` or `respond`"),
            doc: "Gives clients messages of topics, and takes theirs.",
        },
        Key {
            name: "sticky",
            kind: Kind::Resource(&STICKY),
            need: Need::Default("each request is assigned independently"),
            doc: "Keeps a client on one side of `split`.",
        },
        Key {
            name: "rewrite",
            kind: Kind::Resource(&REWRITE),
            need: Need::Default("none"),
            doc: "Changes the path before the request is forwarded.",
        },
        Key {
            name: "request_headers",
            kind: Kind::Resource(&HEADER_CHANGES),
            need: Need::Default("none"),
            doc: "Changes of the request's header fields before the request is forwarded.",
        },
        Key {
            name: "response_headers",
            kind: Kind::Resource(&HEADER_CHANGES),
            need: Need::Default("none"),
            doc: "Changes of the response's header fields.",
        },
        Key {
            name: "timeouts",
            kind: Kind::Resource(&TIMEOUTS),
            need: Need::Default("as its keys' defaults"),
            doc: "Timeouts towards the upstream.",
        },
        Key {
            name: "body_limit",
            kind: Kind::Size(0, MAX_BODY),
            need: Need::Value("1m"),
            doc: "The largest body of a request; a larger one is answered with 413. 0 means no limit.",
        },
        Key {
            name: "retries",
            kind: Kind::Resource(&RETRIES),
            need: Need::Default("as its keys' defaults"),
            doc: "Retries with another member.",
        },
        Key {
            name: "mirror",
            kind: Kind::Resource(&MIRROR),
            need: Need::Default("none"),
            doc: "Sends a copy of requests to another upstream; the answers are discarded.",
        },
        Key {
            name: "websocket",
            kind: Kind::Flag,
            need: Need::Value("true"),
            doc: "Whether a connection may be upgraded (WebSocket).",
        },
        Key {
            name: "buffering",
            kind: Kind::Flag,
            need: Need::Value("true"),
            doc: "Whether responses are buffered, so that slow clients do not occupy members.",
        },
        policies("those of the site"),
    ],
};

const fn conditions(name: &'static str, kind: &'static Kind, doc: &'static str) -> Key {
    Key { name, kind: Kind::AtMost(kind, MAX_CONDITIONS), need: Need::Default("none"), doc }
}

/// Conditions on header fields and cookies.
static TOKENS: Kind = Kind::Map(&Kind::Form(&form::TOKEN), &Kind::Resource(&TEST));
/// Conditions on arguments.
static ARGUMENTS: Kind = Kind::Map(&Kind::Form(&form::ARGUMENT), &Kind::Resource(&TEST));

/// Which paths.
pub(crate) static PATH_MATCH: Resource = Resource {
    name: "path",
    article: "`path`",
    doc: "A condition on the path, which is decoded and normalised before it is compared case-sensitively.",
    short: Some("prefix"),
    one_of: &["exact", "prefix", "template", "regex"],
    keys: &[
        Key { name: "exact", kind: Kind::Form(&form::PATH), need: Need::Default("none"), doc: "This path exactly." },
        Key {
            name: "prefix",
            kind: Kind::Form(&form::PATH),
            need: Need::Default("none"),
            doc: "This path and all paths below it, by whole segments: `/api` includes `/api/x`, but not `/apix`.",
        },
        Key {
            name: "template",
            kind: Kind::Form(&form::TEMPLATE),
            need: Need::Default("none"),
            doc: "A template such as `/users/{id}`: `{name}` stands for any segment, and `{name*}` at the end for all remaining ones.",
        },
        Key {
            name: "regex",
            kind: Kind::Form(&form::PATTERN),
            need: Need::Default("none"),
            doc: "A regular expression that matches the whole path, in linear time; look-around and back-references are not supported.",
        },
    ],
};

/// What must hold of a value.
pub(crate) static TEST: Resource = Resource {
    name: "test",
    article: "a condition",
    doc: "A condition on a value. A text alone is short for `{is: TEXT}`.",
    short: Some("is"),
    one_of: &["is", "one_of", "regex", "present"],
    keys: &[
        Key { name: "is", kind: Kind::HeaderValue, need: Need::Default("none"), doc: "The value is this text." },
        Key {
            name: "one_of",
            kind: Kind::AtMost(&Kind::List(&Kind::HeaderValue, true), MAX_VALUES),
            need: Need::Default("none"),
            doc: "The value is equal to one of these texts.",
        },
        Key {
            name: "regex",
            kind: Kind::Form(&form::PATTERN),
            need: Need::Default("none"),
            doc: "A regular expression that matches the whole value.",
        },
        Key { name: "present", kind: Kind::Flag, need: Need::Default("none"), doc: "Present (true) or absent." },
    ],
};

/// A redirect.
pub(crate) static REDIRECT: Resource = Resource {
    name: "redirect_to",
    article: "`redirect`",
    doc: "Answers with a redirect. `redirect: TARGET` is short for `redirect: {to: TARGET}`.",
    short: Some("to"),
    one_of: &[],
    keys: &[
        Key {
            name: "to",
            kind: Kind::Form(&form::TARGET),
            need: Need::Required,
            doc: "The target: `{host}`, `{path}` and `{query}` stand for those of the request, `{name}` for a segment of the path's template.",
        },
        Key {
            name: "status",
            kind: Kind::OneOf(&[301, 302, 303, 307, 308]),
            need: Need::Value("302"),
            doc: "Status code.",
        },
    ],
};

/// An answer.
pub(crate) static RESPOND: Resource = Resource {
    name: "respond",
    article: "`respond`",
    doc: "Answers without an upstream. `respond: 204` is short for `respond: {status: 204}`.",
    short: Some("status"),
    one_of: &[],
    keys: &[
        Key { name: "status", kind: Kind::Integer(200, 599), need: Need::Value("200"), doc: "Status code." },
        Key { name: "body", kind: Kind::Text, need: Need::Value(""), doc: "Body of the answer." },
        Key {
            name: "content_type",
            kind: Kind::HeaderValue,
            need: Need::Value("text/plain; charset=utf-8"),
            doc: "`Content-Type` of the body.",
        },
    ],
};

/// Changes of header fields.
pub(crate) static HEADER_CHANGES: Resource = Resource {
    name: "header_changes",
    article: "header changes",
    doc: "Changes of header fields: fields are first removed, then set, then added.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "remove",
            kind: Kind::AtMost(&Kind::List(&Kind::HeaderName, false), MAX_CHANGES),
            need: Need::Default("none"),
            doc: "The names of fields to remove.",
        },
        Key {
            name: "set",
            kind: Kind::AtMost(&Kind::Map(&Kind::HeaderName, &Kind::HeaderValue), MAX_CHANGES),
            need: Need::Default("none"),
            doc: "Fields to set, whether they exist or not.",
        },
        Key {
            name: "add",
            kind: Kind::AtMost(&Kind::Map(&Kind::HeaderName, &Kind::HeaderValue), MAX_CHANGES),
            need: Need::Default("none"),
            doc: "Fields to add to those with the same name.",
        },
    ],
};
