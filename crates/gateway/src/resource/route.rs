//! Routes: their conditions, and the handling of matching requests.

use serde::{Deserialize, Serialize};

use super::{topics::Messages, upstream::HashKey};

/// A route of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Its id.
    pub id: String,
    /// The site's id.
    pub site: String,
    /// The conditions.
    #[serde(rename = "match")]
    pub matches: RequestMatch,
    /// Higher goes first; at the same priority the more specific path does (exact, template,
    /// longer regex, longer prefix), then the one with more conditions.
    pub priority: i32,
    /// The handling of a matching request.
    pub action: RouteAction,
    /// Changes to the request's header fields.
    pub request_headers: HeaderChanges,
    /// Changes to the response's.
    pub response_headers: HeaderChanges,
    /// The largest request body in bytes; 0 means no limit.
    pub body_limit: u64,
    /// Policies; `None` takes those of the site.
    pub policies: Option<Vec<String>>,
}

/// The conditions of a route, all of which must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestMatch {
    /// The path, decoded and normalised.
    pub path: PathMatch,
    /// Methods in capitals; empty for all. `GET` does not include `HEAD`.
    pub methods: Vec<String>,
    /// Header fields, by lower-case name.
    pub headers: Vec<Condition>,
    /// Query arguments.
    pub query: Vec<Condition>,
    /// Cookies.
    pub cookies: Vec<Condition>,
}

/// A condition on the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathMatch {
    /// Exactly this path.
    Exact(String),
    /// This path and all below it, by whole segments: `/api` includes `/api/x`, but not `/apix`. A slash at its end
    /// changes nothing.
    Prefix(String),
    /// Segments: `{name}` stands for any one that is not empty, a last `{name*}` for all remaining ones:
    /// `/files/{path*}` includes `/files/` and `/files/a/b`, but not `/files`.
    Template(String),
    /// A regular expression that must match the whole path (linear time: no look-around, no back-references).
    Regex(String),
}

/// A condition on a named value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// The condition on the value.
    pub test: Test,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The value is equal to this one.
    Is(String),
    /// The value is equal to one of these.
    OneOf(Vec<String>),
    /// The whole value matches.
    Regex(String),
    /// The value is present (or absent).
    Present(bool),
}

/// The handling of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteAction {
    /// Sends the request to an upstream.
    Forward(Box<Forward>),
    /// Redirects.
    Redirect {
        /// The target; may contain `{name}` of a template, `{path}`, `{query}` and `{host}`.
        to: String,
        /// 301, 302, 303, 307 or 308.
        status: u16,
    },
    /// Answers.
    Respond {
        /// The status, 200 to 599.
        status: u16,
        /// The body.
        body: String,
        /// Its media type.
        content_type: String,
    },
    /// Gives clients messages of topics, and takes theirs.
    Messages(Messages),
}

/// The settings of forwarding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forward {
    /// Upstreams by weight; at least one.
    pub split: Vec<Split>,
    /// Keeps a client on one side of the split.
    pub sticky: Option<Stickiness>,
    /// Changes the path.
    pub rewrite: Option<Rewrite>,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Retries.
    pub retries: Retries,
    /// Sends a copy to another upstream and discards the answer.
    pub mirror: Option<Mirror>,
    /// Whether the connection may be upgraded (WebSocket).
    pub websocket: bool,
    /// Whether responses are buffered.
    pub buffering: bool,
}

/// A side of a split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The upstream's id.
    pub upstream: String,
    /// The share of requests.
    pub weight: u32,
}

/// Keeps a client on one side of a split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stickiness {
    /// The property that identifies a client.
    pub by: HashKey,
}

/// Changes the path before the request is forwarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Replaces the matched prefix (for a template, the part before the rest; for other paths, the whole path).
    Prefix(String),
    /// Replaces the whole path; may contain `{name}` of a template and `{path}`.
    Path(String),
    /// Replaces the first match of an expression in the path.
    Regex {
        /// The expression.
        pattern: String,
        /// The replacement; may contain `$1` and `${name}`.
        to: String,
    },
}

/// Timeouts towards the upstream, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Time to connect.
    pub connect_ms: u64,
    /// Time between two writes.
    pub send_ms: u64,
    /// Time between two reads.
    pub read_ms: u64,
}

/// Retries with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retries {
    /// The total number of attempts; 1 means no retry.
    pub attempts: u32,
    /// The reasons for a retry.
    pub on: Vec<RetryOn>,
    /// The time in ms after which no new attempt starts; 0 means no limit.
    pub timeout_ms: u64,
    /// Whether requests that are not idempotent (POST, LOCK, PATCH) are retried after they have been sent.
    pub non_idempotent: bool,
}

/// The reason for a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryOn {
    /// No connection, or a broken one.
    #[serde(rename = "error")]
    Error,
    /// A timeout.
    #[serde(rename = "timeout")]
    Timeout,
    /// An invalid response.
    #[serde(rename = "invalid_header")]
    InvalidHeader,
    /// Status 500.
    #[serde(rename = "500")]
    Status500,
    /// Status 502.
    #[serde(rename = "502")]
    Status502,
    /// Status 503.
    #[serde(rename = "503")]
    Status503,
    /// Status 504.
    #[serde(rename = "504")]
    Status504,
    /// Status 429.
    #[serde(rename = "429")]
    Status429,
}

/// A copy of requests for another upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mirror {
    /// The upstream's id.
    pub upstream: String,
    /// The number of requests to copy, of 10,000.
    pub per_10000: u32,
    /// Whether copies are marked as shadow traffic.
    pub shadow: bool,
}

/// Changes of header fields: removed first, then set, then added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderChanges {
    /// Fields to remove.
    pub remove: Vec<String>,
    /// Fields to replace or create.
    pub set: Vec<(String, String)>,
    /// Fields to add to others of the same name.
    pub add: Vec<(String, String)>,
}

impl HeaderChanges {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.set.is_empty() && self.add.is_empty()
    }
}
