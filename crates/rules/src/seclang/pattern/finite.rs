//! Finite sets of strings, and what matches where none of them does.

use super::set::Set;
use super::tree::{Assertion, Node};

/// Strings that a look-around may have, and how long each may be. CRS 920120 has eight, of up to six bytes.
const MAX_STRINGS: usize = 64;
const MAX_LENGTH: usize = 32;

const NEVER: Node = Node::Set(Set::EMPTY);

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
