//! A requested change of one resource, and the reasons to refuse it.

use std::collections::BTreeSet;

use serde_json::Value;

use weir_resource::Fault;

use super::{FileOf, Key, Target};

/// The operation on a resource.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replace the document.
    Put(Value),
    /// Apply a merge patch (RFC 7396).
    Patch(Value),
    /// Create a resource of a collection; the document contains its `id`.
    Create(Value),
    /// Delete the resource.
    Delete,
    /// Restore exactly this document, or its absence, without regard to members. Used by rollbacks.
    Restore(Option<Box<str>>),
}

/// The precondition of a change (RFC 9110, section 13.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// `If-Match`.
    pub matches: Option<Match>,
    /// `If-None-Match: *`: the resource must not exist.
    pub absent: bool,
}

/// Which revisions of a resource `If-Match` accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Any revision, if the resource exists.
    Any,
    /// One of these revisions.
    Revisions(Vec<u64>),
}

/// A change of a resource.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The resource or part.
    pub target: Target,
    /// The operation.
    pub action: Action,
    /// The precondition.
    pub condition: Condition,
}

impl Edit {
    /// A change without conditions.
    #[must_use]
    pub fn new(target: Target, action: Action) -> Self {
        Self { target, action, condition: Condition::default() }
    }
}

/// The reason why a change was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The resource does not exist.
    NotFound(String),
    /// The resource does not support the operation.
    NotAllowed(String),
    /// The resource exists already.
    Exists(Key),
    /// `If-Match` or `If-None-Match` failed; with the revision of the resource, if it exists.
    Precondition(String, Option<u64>),
    /// The new state would be invalid. All faults, at most [`super::apply::MAX_FAULTS`].
    Invalid(Vec<Fault>),
    /// These files of certificates must be read first. The publisher does so and tries again.
    Unread(BTreeSet<FileOf>),
}
