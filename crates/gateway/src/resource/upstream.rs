//! Upstreams and their members.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A group of servers that answer the same requests. Its members are separate resources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Upstream {
    /// Its id.
    pub id: String,
    /// The selection of a member.
    pub balance: Balance,
    /// The protocol for requests to members.
    pub protocol: Protocol,
    /// The pool of idle connections, on by default.
    pub keepalive: Option<KeepAlive>,
    /// Takes members out according to the results of requests.
    pub passive: Option<PassiveHealth>,
    /// Health checks by control.
    pub active: Option<ActiveHealth>,
    /// TLS settings for members, for `https` and `grpcs`.
    pub tls: UpstreamTls,
    /// The `Host` header.
    pub host: HostHeader,
    /// The time in which a new or recovered member reaches its full weight, in ms; 0 means immediately.
    pub slow_start_ms: u64,
    /// The interval at which control resolves names of members again, in ms.
    pub resolve_every_ms: u64,
    /// Upstream to use while no member is available.
    pub fallback: Option<String>,
}

/// The selection of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// In turn, by weight.
    RoundRobin,
    /// The fewest requests in flight relative to the weight.
    LeastConnections,
    /// The shortest expected wait: moving average of latency times requests in flight (peak EWMA).
    Ewma,
    /// The same member for the same key.
    Hash(HashKey),
}

/// The key of consistent hashing and stickiness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HashKey {
    /// The client's address.
    Ip,
    /// Path and query.
    Uri,
    /// A header, by its lower-case name.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// A query argument.
    Query(String),
}

/// The protocol for requests to members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
    /// gRPC (HTTP/2 without TLS).
    Grpc,
    /// gRPC over TLS.
    Grpcs,
}

/// The pool of idle connections, per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepAlive {
    /// The largest number of idle connections to one member.
    pub connections: u32,
    /// The number of requests over one connection before it is closed.
    pub requests: u32,
    /// The longest idle time, in ms.
    pub idle_ms: u64,
}

/// Passive health checks: a number of failures within a window takes a member out for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassiveHealth {
    /// The number of failures (errors, timeouts, answers that are retried) that take a member out.
    pub failures: u32,
    /// The window, in ms.
    pub window_ms: u64,
    /// The time for which a member is taken out, in ms.
    pub eject_ms: u64,
}

/// Active health checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveHealth {
    /// The check.
    pub kind: CheckKind,
    /// Time between two checks of a member, in ms.
    pub interval_ms: u64,
    /// The longest time of an answer, in ms.
    pub timeout_ms: u64,
    /// The number of consecutive successful checks that bring a member back.
    pub healthy: u32,
    /// The number of consecutive failed checks that take a member out.
    pub unhealthy: u32,
}

/// The kind of a health check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// A connection attempt.
    Tcp,
    /// A `GET` request.
    Http {
        /// Path and query.
        path: String,
        /// The `Host` header; without it, the member's address.
        host: Option<String>,
        /// The successful status codes: from, to, both included.
        expect: (u16, u16),
    },
}

/// TLS settings for members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamTls {
    /// Whether the member's certificate is verified, on by default.
    pub verify: bool,
    /// The name for SNI and verification; by default the name in the member's address.
    pub server_name: Option<String>,
    /// The trusted authorities in PEM; by default those of the system.
    pub authorities: Option<String>,
    /// Id of the certificate that Weir presents.
    pub certificate: Option<String>,
}

/// The `Host` header sent to members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostHeader {
    /// That of the client.
    Preserve,
    /// The name in the member's address.
    Member,
    /// A given name.
    Is(String),
}

/// A server of an upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its id, unique in its upstream.
    pub id: String,
    /// As written: `192.0.2.1:80`, `[2001:db8::1]:80`, `app.internal:80`, `unix:/run/app.sock`.
    pub address: String,
    /// The address, unless it is a name to resolve or a path.
    pub socket: Option<SocketAddr>,
    /// The share of requests: 1 to 1000; with 0 the member gets no new requests.
    pub weight: u32,
    /// Whether the member is used only while no other one is available.
    pub backup: bool,
    /// Whether the member gets no new requests; requests in flight finish.
    pub drain: bool,
}
