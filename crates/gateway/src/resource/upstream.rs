//! Upstreams and their members.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A group of servers that answer the same requests. Its members are operations of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Upstream {
    /// Its id.
    pub id: String,
    /// How a member is chosen.
    pub balance: Balance,
    /// What is spoken to its members.
    pub protocol: Protocol,
    /// Idle connections that are kept; on unless switched off.
    pub keepalive: Option<KeepAlive>,
    /// Taking members out by what requests meet.
    pub passive: Option<PassiveHealth>,
    /// Asking members whether they are well; done by control.
    pub active: Option<ActiveHealth>,
    /// TLS to members, of `https` and `grpcs`.
    pub tls: UpstreamTls,
    /// What the `Host` header says.
    pub host: HostHeader,
    /// How long a member that is new or has come back takes to its full weight, in ms; 0 for at once.
    pub slow_start_ms: u64,
    /// How often names of members are resolved again, in ms; done by control.
    pub resolve_every_ms: u64,
    /// Upstream to use while no member is available.
    pub fallback: Option<String>,
}

/// How a member is chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// In turn, by weight.
    RoundRobin,
    /// The fewest requests in flight for its weight.
    LeastConnections,
    /// The shortest expected wait: moving average of latency times requests in flight (peak EWMA).
    Ewma,
    /// The same key, the same member.
    Hash(HashKey),
}

/// What a consistent hash, or stickiness, goes by.
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
    /// An argument of the query.
    Query(String),
}

/// What is spoken to members.
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
    /// Idle connections kept to one member.
    pub connections: u32,
    /// Requests over one connection before it is closed.
    pub requests: u32,
    /// Longest idle time, in ms.
    pub idle_ms: u64,
}

/// Passive health: so many failures within a window take a member out for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassiveHealth {
    /// Failures (errors, timeouts, answers that retries are made on) that take it out.
    pub failures: u32,
    /// Within so many ms.
    pub window_ms: u64,
    /// For so many ms.
    pub eject_ms: u64,
}

/// Active health checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveHealth {
    /// What is asked.
    pub kind: CheckKind,
    /// Time between two checks of a member, in ms.
    pub interval_ms: u64,
    /// How long an answer may take, in ms.
    pub timeout_ms: u64,
    /// Good answers in a row that bring a member back.
    pub healthy: u32,
    /// Bad ones in a row that take it out.
    pub unhealthy: u32,
}

/// What a health check asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Whether a connection can be made.
    Tcp,
    /// What `GET` of a path answers.
    Http {
        /// Path and query.
        path: String,
        /// The `Host` header; without it, the member's address.
        host: Option<String>,
        /// Good statuses: from, to, both included.
        expect: (u16, u16),
    },
}

/// TLS to members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamTls {
    /// Whether the member's certificate is verified; on unless switched off.
    pub verify: bool,
    /// Name for SNI and verification; without it, the name in the member's address.
    pub server_name: Option<String>,
    /// PEM of the authorities that are trusted; without it, the system's.
    pub authorities: Option<String>,
    /// Id of the certificate that we show.
    pub certificate: Option<String>,
}

/// What the `Host` header says to members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostHeader {
    /// What the client said.
    Preserve,
    /// The name in the member's address.
    Member,
    /// This.
    Is(String),
}

/// A server of an upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its id, unique in its upstream.
    pub id: String,
    /// As written: `192.0.2.1:80`, `[2001:db8::1]:80`, `app.internal:80`, `unix:/run/app.sock`.
    pub address: String,
    /// The address if it is none that has to be resolved or a path.
    pub socket: Option<SocketAddr>,
    /// Its share: 1 to 1000; 0 takes no new requests.
    pub weight: u32,
    /// Only used while no other member is available.
    pub backup: bool,
    /// Takes no new requests; those in flight finish.
    pub drain: bool,
}
