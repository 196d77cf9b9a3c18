//! Look-around of bounded length at an edge of the pattern.
//!
//! - *Look-ahead at the end* (`<\?(?!xml)`): the match has ended before what is looked at, so the pattern may go on
//!   behind a mark that says where. "None of these strings" is itself a pattern without look-around: [`none_of`](super::finite::none_of).
//! - *Look-behind at the beginning* (`(?<!&amp);|['"]`): at a given beginning it holds or it does not. Either way the
//!   rest of the pattern has none: [`Behind`].

use super::finite::strings;
use super::print;
use super::set::Set;
use super::tree::{Direction, Node};

const NEVER: Node = Node::Set(Set::EMPTY);

/// A look-behind where the pattern's branches begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// It holds if one of these precedes; or, if negative, if none does. A string is a set for each byte.
    pub strings: Vec<Vec<Set>>,
    /// See `strings`.
    pub negative: bool,
    /// The pattern where the look-behind does not hold. Where it does, it is [`super::Pattern::rust`].
    pub otherwise: String,
}

impl Behind {
    /// Whether it holds behind these bytes.
    #[must_use]
    pub fn holds(&self, before: &[u8]) -> bool {
        let ends_with = |string: &Vec<Set>| {
            let tail = before.len().checked_sub(string.len()).map(|at| &before[at..]);
            tail.is_some_and(|tail| tail.iter().zip(string).all(|(byte, set)| set.contains(*byte)))
        };
        self.strings.iter().any(ends_with) != self.negative
    }
}

/// For a tree whose only look-around is one look-behind, be it in several branches.
pub(super) fn behind(tree: &Node) -> Option<Behind> {
    let mut found = None;
    let holds = print::rust(&decided(tree, true, &mut found)?);
    let otherwise = print::rust(&decided(tree, false, &mut found)?);
    let is_exact = |linear: &print::Linear| !linear.is_inexact && !linear.differs_after_final_newline;
    match found? {
        Node::Look { negative, node, .. } if is_exact(&holds) && is_exact(&otherwise) => {
            Some(Behind { strings: strings(node)?, negative: *negative, otherwise: otherwise.text })
        }
        _ => None,
    }
}

/// The tree where the look-behind with which branches begin holds, or does not. Any other is left as it is.
fn decided<'n>(node: &'n Node, holds: bool, found: &mut Option<&'n Node>) -> Option<Node> {
    Some(match node {
        Node::Look { direction: Direction::Behind, .. } => {
            if *found.get_or_insert(node) != node {
                return None;
            }
            if holds { Node::Empty } else { NEVER }
        }
        Node::Either(branches) => {
            Node::Either(branches.iter().map(|branch| decided(branch, holds, found)).collect::<Option<_>>()?)
        }
        Node::Concat(nodes) => {
            let (first, rest) = nodes.split_first()?;
            Node::Concat([&[decided(first, holds, found)?], rest].concat())
        }
        node => node.clone(),
    })
}
