//! The kinds of resources, as paths of the API and operations name them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::topics::MAX_TOPICS;

/// The longest id, in bytes: ids are repeated in every log line.
pub const MAX_ID_BYTES: usize = 128;

/// The longest id of a captured file: a path of 4,096 bytes, all of them percent-encoded.
pub const MAX_PATH_ID_BYTES: usize = 3 * 4096;

/// `weir_apply none` means that no policy applies, so no policy can have this id.
pub const RESERVED_POLICY_ID: &str = "none";

/// A kind of resource. The order is that in which documents may name others: a transaction that
/// puts documents in it, and deletes them in the reverse, never dangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// Contents of files that documents name. Control captures them; nobody writes them.
    Files,
    /// Named lists, for expressions.
    Lists,
    /// Rules in SecLang, for policies.
    RuleSets,
    /// Who sends requests, with their credentials.
    Consumers,
    /// Remote detectors, for policies.
    Inspectors,
    /// Policies.
    Policies,
    /// Certificates with their keys.
    Certificates,
    /// Settings of the whole gateway; there is one document, without an id.
    Settings,
    /// Upstreams.
    Upstreams,
    /// Members of upstreams; their ids are `UPSTREAM/MEMBER`.
    Members,
    /// Sets of topics of messages for clients, for routes.
    Topics,
    /// Sites.
    Sites,
    /// Routes.
    Routes,
}

/// What a kind is called and how its resources are identified.
struct Identity {
    singular: &'static str,
    plural: &'static str,
    ids: Ids,
    parent: Option<ResourceKind>,
    most: Option<usize>,
}

/// The ids of a kind: at most [`MAX_ID_BYTES`] bytes, `A-Z a-z 0-9 . _ -`, of which the first is restricted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// There is one resource, and it has no id.
    None,
    /// A letter or digit first.
    Name,
    /// A letter or `_` first: expressions write it after a `$`.
    Variable,
    /// A path, percent-encoded.
    Path,
}

impl ResourceKind {
    /// All kinds, in their order.
    pub const ALL: [Self; 13] = [
        Self::Files,
        Self::Lists,
        Self::RuleSets,
        Self::Consumers,
        Self::Inspectors,
        Self::Policies,
        Self::Certificates,
        Self::Settings,
        Self::Upstreams,
        Self::Members,
        Self::Topics,
        Self::Sites,
        Self::Routes,
    ];

    /// The kinds that people write, in their order.
    pub fn written() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::Files)
    }

    const fn identity(self) -> Identity {
        const fn row(singular: &'static str, plural: &'static str) -> Identity {
            Identity { singular, plural, ids: Ids::Name, parent: None, most: None }
        }
        match self {
            Self::Files => Identity { ids: Ids::Path, ..row("file", "files") },
            Self::Lists => Identity { ids: Ids::Variable, ..row("list", "lists") },
            Self::RuleSets => row("rule set", "rule_sets"),
            Self::Consumers => row("consumer", "consumers"),
            Self::Inspectors => row("inspector", "inspectors"),
            Self::Policies => row("policy", "policies"),
            Self::Certificates => row("certificate", "certificates"),
            Self::Settings => Identity { ids: Ids::None, ..row("settings", "settings") },
            Self::Upstreams => row("upstream", "upstreams"),
            Self::Members => Identity { parent: Some(Self::Upstreams), ..row("member", "members") },
            Self::Topics => Identity { most: Some(MAX_TOPICS), ..row("topic set", "topics") },
            Self::Sites => row("site", "sites"),
            Self::Routes => row("route", "routes"),
        }
    }

    /// The plural, as in paths and files: `routes`.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        self.identity().plural
    }

    /// The singular, for messages: `route`.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        self.identity().singular
    }

    /// The kind that its resources belong to: their ids are `PARENT/CHILD`, and they are deleted with it.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        self.identity().parent
    }

    /// The most resources of this kind that there can be, if there is a limit.
    #[must_use]
    pub const fn most(self) -> Option<usize> {
        self.identity().most
    }

    /// Whether there is exactly one, which has no id and cannot be deleted.
    #[must_use]
    pub const fn is_singleton(self) -> bool {
        matches!(self.identity().ids, Ids::None)
    }

    /// Whether workers compile documents of this kind; of the settings, a part.
    #[must_use]
    pub const fn is_compiled(self) -> bool {
        match self {
            Self::Files | Self::Lists | Self::RuleSets | Self::Inspectors | Self::Policies | Self::Settings => true,
            Self::Consumers
            | Self::Certificates
            | Self::Upstreams
            | Self::Members
            | Self::Topics
            | Self::Sites
            | Self::Routes => false,
        }
    }

    /// The kind with this plural.
    #[must_use]
    pub fn from_plural(plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.plural() == plural)
    }

    /// What an id of this kind looks like, as a regular expression; at most [`MAX_ID_BYTES`]. Of members it is the part
    /// after the slash.
    #[must_use]
    pub const fn id_pattern(self) -> &'static str {
        match self.identity().ids {
            Ids::Path => "^[A-Za-z0-9_.%/-]+$",
            Ids::Variable => "^[A-Za-z_][A-Za-z0-9_.-]*$",
            Ids::Name | Ids::None => "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        }
    }

    /// Whether `id` may be an id of this kind; of members, the part after the slash.
    #[must_use]
    pub fn takes_id(self, id: &str) -> bool {
        let mut bytes = id.bytes();
        let ids = self.identity().ids;
        let Some(first) = bytes.next() else { return ids == Ids::None };
        let begins = match ids {
            Ids::None => false,
            Ids::Name => first.is_ascii_alphanumeric(),
            Ids::Variable => first.is_ascii_alphabetic() || first == b'_',
            Ids::Path => {
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.%/-".contains(&byte);
                return id.len() <= MAX_PATH_ID_BYTES && id.bytes().all(is_part);
            }
        };
        let reserved = self == Self::Policies && id == RESERVED_POLICY_ID;
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
