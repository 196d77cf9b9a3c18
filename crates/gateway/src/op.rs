//! An operation from control to workers, as it stands in a frame of the journal (JSON).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::resource::{Resource, ResourceKind};

/// One change of the gateway's state. Control has checked it; references are whole at the end of a revision, not
/// necessarily between its operations.
///
/// In JSON an operation is an object with its name as the only key: the parser then reads the resource directly into
/// its type, where a key `op` beside the others would make it keep all of them until it has seen that one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every operation is a put")]
pub enum Op {
    /// Creates or replaces a resource.
    Put(Resource),
    /// Deletes a resource; an upstream with its members. Settings become empty.
    Delete {
        /// Its kind.
        kind: ResourceKind,
        /// Its id, as [`Resource::id`] gives it.
        id: String,
    },
    /// The result of a health check. Not part of a revision.
    Health {
        /// The upstream's id.
        upstream: String,
        /// The member's id.
        member: String,
        /// Whether the member is healthy.
        healthy: bool,
    },
    /// The resolved addresses of a member. Not part of a revision.
    Addresses {
        /// The upstream's id.
        upstream: String,
        /// The member's id.
        member: String,
        /// Its current addresses; without any, the member is unavailable.
        addresses: Vec<SocketAddr>,
    },
}
