//! The resources as workers receive them: checked, with all defaults filled in.
//!
//! People write a shorter form (`crates/resource/src/kind/`), which the checker turns into these types. Ids are
//! 1 to 128 bytes of `A-Z a-z 0-9 . _ -`. Times are milliseconds, sizes bytes.

mod certificate;
mod consumer;
mod document;
mod file;
mod kind;
mod route;
mod settings;
mod site;
mod topics;
mod upstream;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use certificate::Certificate;
pub use consumer::{Consumer, Credential, CredentialKey, HiddenText};
pub use document::{ContentHash, Document};
pub use file::{CapturedFile, Sha256Hash};
pub use kind::{MAX_ID_BYTES, RESERVED_POLICY_ID, ResourceKind};
pub use route::{
    Condition, Forward, HeaderChanges, Mirror, PathMatch, RequestMatch, Retries, RetryOn, Rewrite, Route, RouteAction,
    Split, Stickiness, Test, Timeouts,
};
pub use settings::Settings;
pub use site::{ClientTls, Site, SiteTls, TlsVersion};
pub use topics::{History, MAX_FILTER_BYTES, MAX_FILTER_LEVELS, MAX_TOPICS, Messages, Rate, Topics};
pub use upstream::{
    ActiveHealth, Balance, CheckKind, HashKey, HostHeader, KeepAlive, Member, PassiveHealth, Protocol, Upstream,
    UpstreamTls,
};

/// A resource of any kind, as an operation puts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The content of a file that others name, as of the revision.
    File(Document),
    /// A named list for expressions; compiled with the policies.
    List(Document),
    /// Rules in SecLang; compiled with the policies.
    RuleSet(Document),
    /// A remote detector; compiled with the policies.
    Inspector(Document),
    /// A policy.
    Policy(Document),
    /// A consumer with its credentials.
    Consumer(Consumer),
    /// A certificate with its key.
    Certificate(Certificate),
    /// The settings.
    Settings(Settings),
    /// An upstream; its members are resources of their own and stay when it is replaced.
    Upstream(Upstream),
    /// A member of an upstream.
    Member {
        /// The upstream's id.
        upstream: String,
        /// The member.
        member: Member,
    },
    /// A set of topics.
    Topics(Topics),
    /// A site.
    Site(Site),
    /// A route.
    Route(Route),
}

impl Resource {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        match self {
            Self::File(_) => ResourceKind::Files,
            Self::List(_) => ResourceKind::Lists,
            Self::RuleSet(_) => ResourceKind::RuleSets,
            Self::Inspector(_) => ResourceKind::Inspectors,
            Self::Policy(_) => ResourceKind::Policies,
            Self::Consumer(_) => ResourceKind::Consumers,
            Self::Certificate(_) => ResourceKind::Certificates,
            Self::Settings(_) => ResourceKind::Settings,
            Self::Upstream(_) => ResourceKind::Upstreams,
            Self::Member { .. } => ResourceKind::Members,
            Self::Topics(_) => ResourceKind::Topics,
            Self::Site(_) => ResourceKind::Sites,
            Self::Route(_) => ResourceKind::Routes,
        }
    }

    /// Its id, unique within its kind: of a member `UPSTREAM/MEMBER`, of the settings empty.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        match self {
            Self::File(document)
            | Self::List(document)
            | Self::RuleSet(document)
            | Self::Inspector(document)
            | Self::Policy(document) => Cow::Borrowed(&document.id),
            Self::Consumer(consumer) => Cow::Borrowed(&consumer.id),
            Self::Certificate(certificate) => Cow::Borrowed(&certificate.id),
            Self::Settings(_) => Cow::Borrowed(""),
            Self::Upstream(upstream) => Cow::Borrowed(&upstream.id),
            Self::Member { upstream, member } => Cow::Owned(format!("{upstream}/{}", member.id)),
            Self::Topics(topics) => Cow::Borrowed(&topics.id),
            Self::Site(site) => Cow::Borrowed(&site.id),
            Self::Route(route) => Cow::Borrowed(&route.id),
        }
    }

    /// The document that is compiled, if it is one or contributes one.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::File(document)
            | Self::List(document)
            | Self::RuleSet(document)
            | Self::Inspector(document)
            | Self::Policy(document) => Some(document),
            Self::Settings(settings) => settings.compiled.as_ref(),
            Self::Consumer(_)
            | Self::Certificate(_)
            | Self::Upstream(_)
            | Self::Member { .. }
            | Self::Topics(_)
            | Self::Site(_)
            | Self::Route(_) => None,
        }
    }

    /// The policies that it names, if its kind can name some and it does.
    #[must_use]
    pub fn policies(&self) -> Option<&[String]> {
        match self {
            Self::Settings(settings) => Some(&settings.policies),
            Self::Site(site) => site.policies.as_deref(),
            Self::Route(route) => route.policies.as_deref(),
            Self::File(_)
            | Self::List(_)
            | Self::RuleSet(_)
            | Self::Inspector(_)
            | Self::Policy(_)
            | Self::Consumer(_)
            | Self::Certificate(_)
            | Self::Upstream(_)
            | Self::Member { .. }
            | Self::Topics(_) => None,
        }
    }
}
