//! What control tells workers: one operation, as it stands in a frame of the journal (JSON).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::resource::{ContentHash, Resource, ResourceKind};

/// One change of the gateway's state. Control has checked it; references are whole at the end of a revision, not
/// necessarily between its operations.
///
/// In JSON an operation is an object with its name as the only key: the parser then reads the resource straight into
/// its type, where a key `op` beside the others would make it keep all of them until it has seen that one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every operation is a put")]
pub enum Op {
    /// A resource is there, or replaced.
    Put(Resource),
    /// A resource is gone: an upstream with its members. Settings are as if nothing was set.
    Delete {
        /// Its kind.
        kind: ResourceKind,
        /// Its id, as [`Resource::id`] gives it.
        id: String,
    },
    /// Names the content of a file by its hash. Reserved: files that policies name will travel so. Workers that do
    /// not know more of it take note of nothing, and go on.
    Object {
        /// The hash.
        hash: ContentHash,
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
