//! The processor of a request body and its choice by `Content-Type`.

use crate::BodyKind;

/// A request body processor: `REQBODY_PROCESSOR`, `ctl:requestBodyProcessor=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyProcessor {
    /// `application/x-www-form-urlencoded`
    UrlEncoded,
    /// `multipart/form-data`
    Multipart,
    /// XML; libxml2 in ModSecurity.
    Xml,
    /// JSON; yajl in ModSecurity.
    Json,
}

impl BodyProcessor {
    /// The value of `REQBODY_PROCESSOR`.
    #[must_use]
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::UrlEncoded => b"URLENCODED",
            Self::Multipart => b"MULTIPART",
            Self::Xml => b"XML",
            Self::Json => b"JSON",
        }
    }

    /// The processor for a body.
    pub(super) const fn of_kind(kind: BodyKind) -> Option<Self> {
        match kind {
            BodyKind::Form => Some(Self::UrlEncoded),
            BodyKind::Multipart => Some(Self::Multipart),
            BodyKind::Xml => Some(Self::Xml),
            BodyKind::Json => Some(Self::Json),
            BodyKind::Other => None,
        }
    }

    /// Whether ModSecurity chooses it without a rule.
    pub(super) const fn is_native(self) -> bool {
        matches!(self, Self::UrlEncoded | Self::Multipart)
    }
}
