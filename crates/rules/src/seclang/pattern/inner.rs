//! A pattern without backtracking that matches only values that the given pattern matches.
//!
//! CRS 920600 writes `=\s*+[^;]+` for each parameter of the header `Accept`: possessive for good reason, since spaces
//! are also in the second set, and the rule sees every request. After a possessive run the next byte is outside its
//! set, so that `=\s*[^;\s][^;]*` is equivalent. Parts that can be rewritten this way are; a branch that cannot is
//! dropped. A match of the result makes backtracking unnecessary.

use super::set::Set;
use super::tree::{Assertion, Node, RepeatMode};

/// Rewriting copies the rest of the pattern; a pattern that would grow beyond this has no inner form.
const MAX_NODES: usize = 4096;

const NEVER: Node = Node::Set(Set::EMPTY);

/// The inner form; its groups have no meaning.
pub(super) fn inner(node: &Node) -> Option<Node> {
    let node = match node {
        Node::Assert(Assertion::LastLineEnd) => Node::Assert(Assertion::TextEnd),
        Node::Empty | Node::Set(_) | Node::Assert(_) => node.clone(),
        Node::Capture(node) => inner(node)?,
        Node::Either(nodes) => Node::Either(nodes.iter().map(inner).collect::<Option<_>>()?),
        Node::Concat(nodes) => concat(nodes)?,
        Node::Repeat { mode: RepeatMode::Possessive, .. } => NEVER,
        Node::Repeat { node, min, max, mode } => {
            Node::Repeat { node: Box::new(inner(node)?), min: *min, max: *max, mode: *mode }
        }
        Node::Atomic(_) | Node::Look { .. } | Node::Reference { .. } | Node::Keep => NEVER,
    };
    (size(&node) <= MAX_NODES).then_some(node)
}

fn concat(nodes: &[Node]) -> Option<Node> {
    let mut rest = Node::Empty;
    for node in nodes.iter().rev() {
        rest = match node {
            Node::Repeat { node, min, max, mode: RepeatMode::Possessive } => match **node {
                Node::Set(set) => {
                    let run = Node::Repeat { node: node.clone(), min: *min, max: *max, mode: RepeatMode::Greedy };
                    // A run with a maximum may end before a byte of its set.
                    let behind = if max.is_none() { beginning_without(&rest, set) } else { NEVER };
                    join(run, behind)
                }
                _ => NEVER,
            },
            node => join(inner(node)?, rest),
        };
        if size(&rest) > MAX_NODES {
            return None;
        }
    }
    Some(rest)
}

fn join(first: Node, second: Node) -> Node {
    match (first, second) {
        (first, Node::Empty) => first,
        (first, Node::Concat(mut nodes)) => {
            nodes.insert(0, first);
            Node::Concat(nodes)
        }
        (first, second) => Node::Concat(vec![first, second]),
    }
}

/// The part of `node` that begins by taking a byte outside `set`.
fn beginning_without(node: &Node, set: Set) -> Node {
    match node {
        Node::Set(members) => Node::Set(members.minus(set)),
        Node::Either(nodes) => Node::Either(nodes.iter().map(|node| beginning_without(node, set)).collect()),
        Node::Repeat { node, min, max, mode } if *max != Some(0) && !node.is_nullable() => {
            let (min, max) = (min.saturating_sub(1), max.map(|max| max - 1));
            let others = Node::Repeat { node: node.clone(), min, max, mode: *mode };
            join(beginning_without(node, set), if max == Some(0) { Node::Empty } else { others })
        }
        Node::Concat(nodes) => match nodes.split_first() {
            Some((first, rest)) => {
                let rest = Node::Concat(rest.to_vec());
                match first {
                    Node::Empty | Node::Assert(_) => join(first.clone(), beginning_without(&rest, set)),
                    _ if !first.is_nullable() => join(beginning_without(first, set), rest),
                    _ => Node::Either(vec![
                        join(beginning_without(first, set), rest.clone()),
                        beginning_without(&rest, set),
                    ]),
                }
            }
            None => NEVER,
        },
        _ => NEVER,
    }
}

fn size(node: &Node) -> usize {
    match node {
        Node::Capture(node) | Node::Atomic(node) | Node::Repeat { node, .. } | Node::Look { node, .. } => {
            1 + size(node)
        }
        Node::Concat(nodes) | Node::Either(nodes) => 1 + nodes.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
