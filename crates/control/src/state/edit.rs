//! One change of one resource, as it was asked for, and why it may not be made.

use serde_json::Value;

use weir_resource::Fault;

use super::{Key, Target};

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Action {
    /// This is what it is from now on.
    Put(Value),
    /// A merge patch (RFC 7396).
    Patch(Value),
    /// A new one of a collection, with its `id` in it.
    Create(Value),
    /// It goes.
    Delete,
    /// The very document, or none: neither members nor anything else is looked at. Of roll-backs.
    Restore(Option<Box<str>>),
}

/// What must hold of the resource before the change (RFC 9110, 13.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// `If-Match`.
    pub matches: Option<Match>,
    /// `If-None-Match: *`: it must not be there.
    pub absent: bool,
}

/// Which revisions of a resource `If-Match` accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Any, if there is one.
    Any,
    /// These.
    Revisions(Vec<u64>),
}

/// A change of a resource.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Of which.
    pub target: Target,
    /// What is done.
    pub action: Action,
    /// If what holds.
    pub condition: Condition,
}

impl Edit {
    /// A change without conditions.
    #[must_use]
    pub fn new(target: Target, action: Action) -> Self {
        Self { target, action, condition: Condition::default() }
    }
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What it names is not there.
    NotFound(String),
    /// It cannot be done to what it names.
    NotAllowed(String),
    /// It is there already.
    Exists(Key),
    /// `If-Match` or `If-None-Match` did not hold; with the revision that it last changed in, if it is there.
    Precondition(String, Option<u64>),
    /// It would not be valid. All that is wrong, at most [`super::apply::MAX_FAULTS`].
    Invalid(Vec<Fault>),
}
