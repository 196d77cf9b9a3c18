//! Possessive quantifiers and atomic groups that can be matched without backtracking.
//!
//! Atomic means that only the first way to match is tried with the rest of the pattern. The plain
//! form matches the same text at the same position if the other ways could not succeed. Two cases
//! are proved, and they cover common usage:
//!
//! 1. *The rest cannot fail* (nothing, `x*`): the first way already succeeds.
//! 2. *The other ways leave a byte that the rest cannot take.* The body is a greedy repetition of
//!    one set, so the other ways are shorter prefixes of the same run and leave a byte of the set;
//!    the rest must take a byte, and cannot begin with any of the set (`\s++x`).
//!
//! A body with a single way to match (sets in a row) needs no atomicity.

use super::set::Set;
use super::tree::{Node, RepeatMode};

/// Properties of the rest of the pattern after a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follow {
    /// Bytes that the rest can begin with.
    pub(super) first: Set,
    /// Whether the rest can match without taking a byte.
    pub(super) nullable: bool,
    /// Whether the rest matches everywhere.
    pub(super) infallible: bool,
    /// Whether there is no rest.
    pub(super) is_end: bool,
}

impl Follow {
    /// The end of the pattern.
    pub(super) const END: Self = Self { first: Set::EMPTY, nullable: true, infallible: true, is_end: true };

    /// The properties seen from before `node`.
    pub(super) fn before(self, node: &Node) -> Self {
        let nullable = node.is_nullable();
        let first = if nullable { node.first().union(self.first) } else { node.first() };
        let infallible = node.is_infallible() && self.infallible;
        Self { first, nullable: nullable && self.nullable, infallible, is_end: false }
    }

    /// The properties seen from within the body of a repetition, which may be followed by itself.
    pub(super) fn within_repeat(self, body: &Node, min: u32, max: Option<u32>) -> Self {
        if max.is_some_and(|max| max <= 1) {
            return self;
        }
        let infallible = self.infallible && min <= 1;
        Self { first: self.first.union(body.first()), nullable: self.nullable, infallible, is_end: false }
    }
}

/// Whether a possessive repetition of `node` may be greedy before `follow`.
pub(super) fn may_be_greedy(node: &Node, follow: Follow) -> bool {
    match node {
        _ if follow.infallible => true,
        Node::Set(set) => !follow.nullable && set.is_disjoint(follow.first),
        _ => false,
    }
}

/// Whether an atomic group around `node` may be plain before `follow`.
pub(super) fn may_be_plain(node: &Node, follow: Follow) -> bool {
    match node {
        _ if follow.infallible || has_one_way(node) => true,
        Node::Repeat { node, mode: RepeatMode::Greedy, .. } => may_be_greedy(node, follow),
        _ => false,
    }
}

/// Whether it can match in only one way at a given position.
pub(super) fn has_one_way(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Set(_) | Node::Assert(_) => true,
        Node::Concat(nodes) => nodes.iter().all(has_one_way),
        Node::Capture(node) => has_one_way(node),
        Node::Repeat { node, min, max, .. } => *max == Some(*min) && has_one_way(node),
        _ => false,
    }
}
