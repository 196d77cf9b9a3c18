//! An inspector as a policy describes it: where it is, how it is asked, and what holds when it does not answer.

use std::fmt;
use std::sync::Arc;

use crate::breaker::Limits;

/// How it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Weir's own: questions on one connection, answers in any order.
    Weir {
        /// Which detector of the service.
        detector: String,
        /// For whom.
        tenant: String,
    },
    /// A request for each question, as nginx's `auth_request`, Traefik and Caddy send it: 2xx passes, anything else is
    /// the response.
    ForwardAuth,
    /// Envoy's `ext_authz` over HTTP.
    ExtAuthz,
    /// CrowdSec's AppSec component.
    CrowdSec {
        /// What is done for a remediation that is not known.
        unknown: Remediation,
    },
}

/// What CrowdSec wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remediation {
    /// The request passes.
    Allow,
    /// It is refused.
    Ban,
    /// The client is to prove that it is a person: the request is refused with the tag `captcha`.
    Captcha,
}

impl Protocol {
    /// Whether questions and answers share a connection.
    #[must_use]
    pub const fn is_pipelined(&self) -> bool {
        match self {
            Self::Weir { .. } => true,
            Self::ForwardAuth | Self::ExtAuthz | Self::CrowdSec { .. } => false,
        }
    }
}

/// What holds when there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// The request goes on.
    Open,
    /// It is refused with this status.
    Closed(u16),
}

/// Whether the request waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    Enforce,
    /// It does not: the answer is counted, and logged if the request is still there.
    Observe,
}

/// The header fields that are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentHeaders {
    /// All of them.
    All,
    /// These, in lower case.
    Listed(Vec<String>),
}

/// TLS to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Whether the certificate is verified.
    pub verify: bool,
    /// Certificates of the authorities, PEM; the system's if there are none.
    pub authorities: Option<String>,
    /// The name in the certificate, instead of that in the address.
    pub server_name: Option<String>,
}

/// An inspector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspector {
    /// Its name.
    pub id: String,
    /// How it is asked.
    pub protocol: Protocol,
    /// `host:port`, or `unix:/path`.
    pub endpoints: Vec<String>,
    /// TLS, unless plain.
    pub tls: Option<Tls>,
    /// Path of a request, or what stands before the original one; without a `/` at its end if that follows.
    pub path: String,
    /// The secret that the service asks for; may be empty.
    pub token: Secret,
    /// How long a request waits.
    pub deadline_ms: u32,
    /// Without an answer.
    pub fail: Fail,
    /// Whether the request waits.
    pub mode: Mode,
    /// Header fields that are sent.
    pub headers: SentHeaders,
    /// Most bytes of the body that are sent; 0 if the inspector is asked before there is a body.
    pub body_bytes: usize,
    /// Fields of the request, in lower case, that answers may set or remove. Those of clients are always removed.
    pub sets: Vec<String>,
    /// Requests that are asked about, of 10,000.
    pub sample: u32,
    /// How long an answer is remembered for the same key; 0 if it is not.
    pub remember_ms: u64,
    /// Paths that are never asked about; one that ends with `*` is the beginning of paths.
    pub skips: Vec<String>,
    /// When it is not asked any more.
    pub breaker: Limits,
}

/// A text that is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub Arc<str>);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("hidden")
    }
}

impl Inspector {
    /// Whether it is not asked about this path.
    #[must_use]
    pub fn skips(&self, path: &[u8]) -> bool {
        self.skips.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(begin) => path.starts_with(begin.as_bytes()),
            None => path == pattern.as_bytes(),
        })
    }

    /// Whether it gets a header field.
    #[must_use]
    pub fn sends(&self, name: &[u8]) -> bool {
        match &self.headers {
            SentHeaders::All => true,
            SentHeaders::Listed(names) => names.iter().any(|listed| name.eq_ignore_ascii_case(listed.as_bytes())),
        }
    }

    /// Whether its answers may set a header field of the request.
    #[must_use]
    pub fn sets(&self, name: &[u8]) -> bool {
        self.sets.iter().any(|listed| name.eq_ignore_ascii_case(listed.as_bytes()))
    }
}

/// Whether a name may be taken for another: with `underscores_in_headers on`, any `-` may come as `_`, and some servers
/// take the one for the other.
#[must_use]
pub fn is_like(name: &[u8], known: &[u8]) -> bool {
    let same = |(a, b): (&u8, &u8)| a.eq_ignore_ascii_case(b) || (*a == b'_' && *b == b'-');
    name.len() == known.len() && name.iter().zip(known).all(same)
}
