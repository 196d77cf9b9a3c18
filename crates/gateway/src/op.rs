//! What control tells workers: one operation, as it stands in a frame of the journal (JSON).

use std::{net::SocketAddr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::resource::{Certificate, Member, Route, Settings, Site, Upstream};

/// One change of the gateway's state. Control has checked it; references are whole at the end of a revision, not
/// necessarily between its operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A site is there, or replaced.
    PutSite {
        /// The site.
        site: Site,
    },
    /// A site is gone.
    DeleteSite {
        /// Its id.
        id: String,
    },
    /// A route is there, or replaced.
    PutRoute {
        /// The route.
        route: Route,
    },
    /// A route is gone.
    DeleteRoute {
        /// Its id.
        id: String,
    },
    /// An upstream is there, or replaced; its members stay.
    PutUpstream {
        /// The upstream.
        upstream: Upstream,
    },
    /// An upstream is gone, and its members.
    DeleteUpstream {
        /// Its id.
        id: String,
    },
    /// A member of an upstream is there, or replaced.
    PutMember {
        /// The upstream's id.
        upstream: String,
        /// The member.
        member: Member,
    },
    /// A member is gone.
    DeleteMember {
        /// The upstream's id.
        upstream: String,
        /// Its id.
        id: String,
    },
    /// A certificate is there, or replaced.
    PutCertificate {
        /// The certificate.
        certificate: Certificate,
    },
    /// A certificate is gone.
    DeleteCertificate {
        /// Its id.
        id: String,
    },
    /// The settings.
    PutSettings {
        /// All of them.
        settings: Settings,
    },
    /// Lists, policies and rule sets, whole, as one policy file in JSON (`weir_policy::Snapshot::parse`); an empty
    /// text means that there are none. Building it is work for a thread beside the event loop.
    PutPolicies {
        /// The JSON. Shared, since it may be megabytes.
        #[serde(with = "shared_text")]
        text: Arc<str>,
    },
    /// What the health checker found out. Not part of a revision.
    Health {
        /// The upstream's id.
        upstream: String,
        /// The member's id.
        member: String,
        /// Whether it is.
        healthy: bool,
    },
    /// What a member's name resolves to. Not part of a revision.
    Addresses {
        /// The upstream's id.
        upstream: String,
        /// The member's id.
        member: String,
        /// Its addresses now; empty takes it out.
        addresses: Vec<SocketAddr>,
    },
}

/// A text that is shared (serde's own way to do it is a feature that nothing else here needs).
mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Into::into)
    }
}
