//! The kinds of resources, as paths of the API and operations name them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest id, in bytes: ids are repeated in every log line.
pub const MAX_ID_BYTES: usize = 128;

/// `weir_apply none` means that no policy applies, so no policy can have this id.
pub const RESERVED_POLICY_ID: &str = "none";

/// A kind of resource. The order is that in which documents may name others: a transaction that
/// puts documents in it, and deletes them in the reverse, never dangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// Named lists, for expressions.
    Lists,
    /// Rules in SecLang, for policies.
    RuleSets,
    /// Policies.
    Policies,
    /// Certificates with their keys.
    Certificates,
    /// What holds for the whole gateway; there is one, and it has no id.
    Settings,
    /// Upstreams.
    Upstreams,
    /// Members of upstreams; their ids are `UPSTREAM/MEMBER`.
    Members,
    /// Sites.
    Sites,
    /// Routes.
    Routes,
}

impl ResourceKind {
    /// All of them, in their order.
    pub const ALL: [Self; 9] = [
        Self::Lists,
        Self::RuleSets,
        Self::Policies,
        Self::Certificates,
        Self::Settings,
        Self::Upstreams,
        Self::Members,
        Self::Sites,
        Self::Routes,
    ];

    /// As in paths and files: `routes`.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Sites => "sites",
            Self::Routes => "routes",
            Self::Upstreams => "upstreams",
            Self::Members => "members",
            Self::Certificates => "certificates",
            Self::Lists => "lists",
            Self::Policies => "policies",
            Self::RuleSets => "rule_sets",
        }
    }

    /// One of them, for messages: `route`.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Sites => "site",
            Self::Routes => "route",
            Self::Upstreams => "upstream",
            Self::Members => "member",
            Self::Certificates => "certificate",
            Self::Lists => "list",
            Self::Policies => "policy",
            Self::RuleSets => "rule set",
        }
    }

    /// The kind of that plural.
    #[must_use]
    pub fn from_plural(plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.plural() == plural)
    }

    /// What an id of this kind looks like, as a regular expression; at most 128 bytes. Of members it is
    /// the part behind the slash; settings have none.
    #[must_use]
    pub const fn id_pattern(self) -> &'static str {
        match self {
            // Expressions write it behind a `$`.
            Self::Lists => "^[A-Za-z_][A-Za-z0-9_.-]*$",
            _ => "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        }
    }

    /// Whether `id` may be an id of this kind; of members, the part behind the slash.
    #[must_use]
    pub fn takes_id(self, id: &str) -> bool {
        let mut bytes = id.bytes();
        let Some(first) = bytes.next() else { return matches!(self, Self::Settings) };
        let begins = match self {
            Self::Settings => false,
            Self::Lists => first.is_ascii_alphabetic() || first == b'_',
            _ => first.is_ascii_alphanumeric(),
        };
        let reserved = matches!(self, Self::Policies) && id == RESERVED_POLICY_ID;
        begins
            && !reserved
            && id.len() <= MAX_ID_BYTES
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.plural())
    }
}
