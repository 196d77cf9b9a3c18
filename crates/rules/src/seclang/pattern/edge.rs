//! Look-around of bounded length at an edge of the pattern.
//!
//! - *Look-ahead at the end* (`<\?(?!xml)`): the match has ended before what is looked at, so the pattern may go on
//!   behind a mark that says where. "None of these strings" is itself a pattern without look-around: [`none_of`].
//! - *Look-behind at the beginning* (`(?<!&amp);|['"]`): at a given beginning it holds or it does not. Either way the
//!   rest of the pattern has none: [`Behind`].

use super::print;
use super::set::Set;
use super::tree::{Assertion, Direction, Node};

/// Strings that a look-around may have, and how long each may be. CRS 920120 has eight, of up to six bytes.
const MAX_STRINGS: usize = 64;
const MAX_LENGTH: usize = 32;

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

/// All strings that the node matches, if they are few.
pub(super) fn strings(node: &Node) -> Option<Vec<Vec<Set>>> {
    let joined = |nodes: &mut dyn Iterator<Item = &Node>| {
        let mut all = vec![Vec::new()];
        for node in nodes {
            let tails = strings(node)?;
            all = all.iter().flat_map(|head| tails.iter().map(move |tail| [&head[..], tail].concat())).collect();
            if all.len() > MAX_STRINGS || all.iter().any(|string| string.len() > MAX_LENGTH) {
                return None;
            }
        }
        Some(all)
    };
    match node {
        Node::Empty => Some(vec![Vec::new()]),
        Node::Set(set) => Some(vec![vec![*set]]),
        Node::Concat(nodes) => joined(&mut nodes.iter()),
        Node::Repeat { node, min, max, .. } if *max == Some(*min) => {
            joined(&mut std::iter::repeat_n(&**node, *min as usize))
        }
        Node::Either(branches) => {
            let all: Vec<_> = branches.iter().map(strings).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_STRINGS).then_some(all)
        }
        _ => None,
    }
}

/// Matches exactly where none of the strings does, up to the byte that tells; `None` if it would become large.
pub(super) fn none_of(strings: &[Vec<Set>]) -> Option<Node> {
    let mut left = 4 * MAX_STRINGS;
    differing(&strings.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut left)
}

fn differing(strings: &[&[Set]], left: &mut usize) -> Option<Node> {
    *left = left.checked_sub(1)?;
    if strings.iter().any(|string| string.is_empty()) {
        return Some(NEVER);
    }
    // Bytes that begin the same strings form a class.
    let mut classes = vec![(Set::ALL, Vec::new())];
    for string in strings {
        let (set, tail) = (string[0], &string[1..]);
        let split = classes.into_iter().flat_map(|(class, tails): (Set, Vec<&[Set]>)| {
            let with = [&tails[..], &[tail]].concat();
            [(class.minus(set.not()), with), (class.minus(set), tails)]
        });
        classes = split.filter(|(class, _)| *class != Set::EMPTY).collect();
    }
    let mut branches = vec![Node::Assert(Assertion::TextEnd)];
    for (class, tails) in classes {
        let byte = Node::Set(class);
        branches.push(if tails.is_empty() { byte } else { Node::Concat(vec![byte, differing(&tails, left)?]) });
    }
    Some(Node::Either(branches))
}
