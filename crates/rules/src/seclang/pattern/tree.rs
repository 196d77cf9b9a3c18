//! A parsed pattern: flags are resolved, bytes and classes are both sets.

use super::set::Set;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Empty,
    /// One byte of the set; nothing matches if it is empty (`[^\s\S]`).
    Set(Set),
    Assert(Assertion),
    /// A capture group, numbered by its order in the tree.
    Capture(Box<Node>),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        mode: RepeatMode,
    },
    Atomic(Box<Node>),
    Look {
        direction: Direction,
        negative: bool,
        node: Box<Node>,
    },
    Reference {
        group: u32,
        caseless: bool,
    },
    /// `\K`: the match begins here.
    Keep,
}

/// Zero-width assertions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    /// At the beginning, and after a newline that is not the last byte.
    LineStart,
    /// At the end, and before a newline.
    LineEnd,
    /// At the end, and before a newline that is the last byte.
    LastLineEnd,
    WordBoundary,
    NotWordBoundary,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RepeatMode {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Direction {
    Ahead,
    Behind,
}

impl Node {
    /// Whether it can match the empty string, provided that its assertions hold.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Self::Set(_) => false,
            Self::Empty | Self::Assert(_) | Self::Look { .. } | Self::Reference { .. } | Self::Keep => true,
            Self::Capture(node) | Self::Atomic(node) => node.is_nullable(),
            Self::Concat(nodes) => nodes.iter().all(Self::is_nullable),
            Self::Either(nodes) => nodes.iter().any(Self::is_nullable),
            Self::Repeat { node, min, .. } => *min == 0 || node.is_nullable(),
        }
    }

    /// Whether it matches at every position.
    pub(super) fn is_infallible(&self) -> bool {
        match self {
            Self::Empty | Self::Keep => true,
            Self::Set(_) | Self::Assert(_) | Self::Look { .. } | Self::Reference { .. } => false,
            Self::Capture(node) | Self::Atomic(node) => node.is_infallible(),
            Self::Concat(nodes) => nodes.iter().all(Self::is_infallible),
            Self::Either(nodes) => nodes.iter().any(Self::is_infallible),
            Self::Repeat { node, min, .. } => *min == 0 || node.is_infallible(),
        }
    }

    /// A superset of the bytes that it can begin with.
    pub(super) fn first(&self) -> Set {
        match self {
            Self::Set(set) => *set,
            Self::Empty | Self::Assert(_) | Self::Look { .. } | Self::Keep => Set::EMPTY,
            Self::Reference { .. } => Set::ALL,
            Self::Capture(node) | Self::Atomic(node) => node.first(),
            Self::Concat(nodes) => {
                let reached = nodes.iter().position(|node| !node.is_nullable()).map_or(nodes.len(), |at| at + 1);
                nodes[..reached].iter().fold(Set::EMPTY, |set, node| set.union(node.first()))
            }
            Self::Either(nodes) => nodes.iter().fold(Set::EMPTY, |set, node| set.union(node.first())),
            Self::Repeat { max: Some(0), .. } => Set::EMPTY,
            Self::Repeat { node, .. } => node.first(),
        }
    }
}
