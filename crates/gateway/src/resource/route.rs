//! Routes: which requests they match, and what is done with them.

use serde::{Deserialize, Serialize};

use super::upstream::HashKey;

/// A route of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Its id.
    pub id: String,
    /// The site's id.
    pub site: String,
    /// Which requests.
    #[serde(rename = "match")]
    pub matches: RequestMatch,
    /// Higher goes first; at the same priority the more specific path does (exact, template,
    /// longer prefix, regex), then the one with more conditions.
    pub priority: i32,
    /// What is done.
    pub action: RouteAction,
    /// Changes to the request's header fields.
    pub request_headers: HeaderChanges,
    /// Changes to the response's.
    pub response_headers: HeaderChanges,
    /// Largest request body in bytes; 0 for no limit.
    pub body_limit: u64,
    /// Policies; `None` takes those of the site.
    pub policies: Option<Vec<String>>,
}

/// Which requests a route matches: all of it must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestMatch {
    /// The path, decoded and normalised.
    pub path: PathMatch,
    /// Methods in capitals; empty for all. `GET` does not stand for `HEAD`.
    pub methods: Vec<String>,
    /// Header fields, by lower-case name.
    pub headers: Vec<Condition>,
    /// Arguments of the query.
    pub query: Vec<Condition>,
    /// Cookies.
    pub cookies: Vec<Condition>,
}

/// How a path is matched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathMatch {
    /// This path.
    Exact(String),
    /// This path and all below it: whole segments, so that `/api` has `/api/x` but not `/apix`. A slash at its end
    /// changes nothing.
    Prefix(String),
    /// Segments, of which `{name}` stands for any one that is not empty, and a last `{name*}` for all the rest:
    /// `/files/{path*}` has `/files/` and `/files/a/b`, but not `/files`.
    Template(String),
    /// A regular expression that must match the whole path (linear time: no look-around, no back-references).
    Regex(String),
}

/// A condition on something named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// What must hold.
    pub test: Test,
}

/// What must hold of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// It is this.
    Is(String),
    /// It is one of these.
    OneOf(Vec<String>),
    /// The whole of it matches.
    Regex(String),
    /// It is there (or is not).
    Present(bool),
}

/// What a route does.
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
}

/// How a request is forwarded.
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
    /// What is tried again.
    pub retries: Retries,
    /// Sends a copy elsewhere, whose answer nobody reads.
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
    /// Its share.
    pub weight: u32,
}

/// Keeps a client on one side of a split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stickiness {
    /// What tells clients apart.
    pub by: HashKey,
}

/// Changes the path before the request is forwarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Replaces what a prefix matched (of a template, what comes before the rest; of other paths, all).
    Prefix(String),
    /// Replaces all of it; may contain `{name}` of a template and `{path}`.
    Path(String),
    /// Replaces the first thing that an expression finds in the path.
    Regex {
        /// The expression.
        pattern: String,
        /// What comes in its place; may contain `$1` and `${name}`.
        to: String,
    },
}

/// Timeouts towards the upstream, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// To connect.
    pub connect_ms: u64,
    /// Between two writes.
    pub send_ms: u64,
    /// Between two reads.
    pub read_ms: u64,
}

/// What is tried again with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retries {
    /// Tries in all; 1 for no retry.
    pub attempts: u32,
    /// When.
    pub on: Vec<RetryOn>,
    /// No new try after so many ms; 0 for no limit.
    pub timeout_ms: u64,
    /// Whether requests that are not idempotent (POST, LOCK, PATCH) are tried again once they were sent.
    pub non_idempotent: bool,
}

/// When a request is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryOn {
    /// No connection, or it broke.
    #[serde(rename = "error")]
    Error,
    /// Too slow.
    #[serde(rename = "timeout")]
    Timeout,
    /// What cannot be understood.
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
    /// Of how many requests in 10,000.
    pub per_10000: u32,
}

/// Changes of header fields: removed first, then set, then added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderChanges {
    /// Removed, whatever their value.
    pub remove: Vec<String>,
    /// Replaced or made.
    pub set: Vec<(String, String)>,
    /// Made beside others of the name.
    pub add: Vec<(String, String)>,
}
