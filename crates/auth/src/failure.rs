//! Why a request does not prove who sent it. The client is told the scheme; the attack log is told this.

use std::borrow::Cow;
use std::fmt;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The request has no credentials of the scheme.
    Missing,
    /// It has them twice, or in two places.
    Duplicated,
    /// They do not follow the scheme's syntax.
    Malformed,
    /// They, or what they refer to, are past a bound.
    TooLarge,
    /// They have what is not accepted here: an algorithm, a version, a component, an issuer, an audience.
    Unsupported,
    /// What has to be signed is not.
    Incomplete,
    /// No consumer has a live credential of that name.
    UnknownKey,
    /// The time they state has passed.
    Expired,
    /// The time they state is yet to come.
    NotYet,
    /// They have been seen before.
    Replayed,
    /// They cannot be told from a replay: the table of nonces is full, or was lost in a cold start.
    ReplayUnknown,
    /// The body is not the one that was signed.
    BodyChanged,
    /// The signature, password or key is wrong.
    Mismatch,
    /// The consumer is known, and may not do this.
    NotAllowed,
    /// It could not be found out in time.
    Unavailable,
}

impl Reason {
    /// As in the attack log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Duplicated => "duplicated",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Unsupported => "unsupported",
            Self::Incomplete => "incomplete",
            Self::UnknownKey => "unknown_key",
            Self::Expired => "expired",
            Self::NotYet => "not_yet_valid",
            Self::Replayed => "replayed",
            Self::ReplayUnknown => "replay_unknown",
            Self::BodyChanged => "body_changed",
            Self::Mismatch => "mismatch",
            Self::NotAllowed => "not_allowed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A failed step with what is to be said about it. It holds nothing secret, and not the signature that would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step.
    pub reason: Reason,
    /// For people: what was found, what was expected.
    pub detail: Cow<'static, str>,
}

impl Failure {
    /// A failure.
    pub fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.reason.as_str(), self.detail)
    }
}
