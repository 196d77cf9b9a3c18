//! Patterns that compare two words: `\b(\w+)\b`, something between, and then `\b\1\b` or `(?!\b\1\b)\w+`.
//!
//! CRS 942130 looks for `1 = 1` and `1 <> 2` this way. Group 1 is always a whole word, since `\b` stands on both sides,
//! and so is what equals it. What is between two words has no reference: it is printed as a pattern of its own, up to
//! the first byte of the second word, once for the branches that end in an equal word and once for the others.

use super::escape::word;
use super::print;
use super::set::Set;
use super::tree::{Assertion, Direction, Node, RepeatMode};

/// A comparison of two words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Bytes of which any number may precede the first word and belong to the match. None is part of a word.
    pub leading: Set,
    /// From the end of the first word up to and including a byte of the second: where the two must be equal.
    pub equal: String,
    /// The same where they must differ, or the byte is within a word.
    pub different: String,
    /// Whether words are equal that differ in case.
    pub caseless: bool,
}

/// The comparison that the tree consists of. The matcher also requires that for each first word there is at most one
/// second word.
pub(super) fn words(tree: &Node) -> Option<Words> {
    let Node::Concat(nodes) = tree else { return None };
    let (leading, nodes) = match nodes.split_first()? {
        (Node::Repeat { node, min: 0, max: None, mode: RepeatMode::Greedy | RepeatMode::Lazy }, rest) => match **node {
            Node::Set(set) if set.is_disjoint(word()) => (set, rest),
            _ => return None,
        },
        _ => (Set::EMPTY, &nodes[..]),
    };
    let boundary = Node::Assert(Assertion::WordBoundary);
    let [before, Node::Capture(first), after, between @ ..] = nodes else { return None };
    if *before != boundary || *after != boundary || !is_run(first) {
        return None;
    }
    let between = Node::Concat(between.to_vec());
    let mut caseless = None;
    let equal = print::rust(&until(&between, true, &mut caseless)?);
    let different = print::rust(&until(&between, false, &mut caseless)?);
    let is_exact = |linear: &print::Linear| !linear.is_inexact && !linear.differs_after_final_newline;
    let is_linear = is_exact(&equal) && is_exact(&different) && has_bounded_words(&between);
    is_linear.then_some(Words { leading, equal: equal.text, different: different.text, caseless: caseless? })
}

/// `\w+`.
fn is_run(node: &Node) -> bool {
    matches!(node, Node::Repeat { node, min: 1, max: None, mode: RepeatMode::Greedy } if **node == Node::Set(word()))
}

/// Whether the nodes are `\b\1\b`.
fn is_comparison(nodes: &[Node], caseless: &mut Option<bool>) -> bool {
    match nodes {
        [
            Node::Assert(Assertion::WordBoundary),
            Node::Reference { group: 1, caseless: this },
            Node::Assert(Assertion::WordBoundary),
        ] => this == caseless.get_or_insert(*this),
        _ => false,
    }
}

/// The node with each comparison of the given kind, in which all branches must end, replaced by one byte of the word,
/// and the others by nothing that matches.
fn until(node: &Node, equal: bool, caseless: &mut Option<bool>) -> Option<Node> {
    let byte = |wanted: bool| Node::Set(if wanted { word() } else { Set::EMPTY });
    match node {
        Node::Either(branches) => {
            branches.iter().map(|branch| until(branch, equal, caseless)).collect::<Option<_>>().map(Node::Either)
        }
        Node::Concat(nodes) => {
            let (kept, last) = match &nodes[..] {
                [kept @ .., _, _, _] if is_comparison(&nodes[kept.len()..], caseless) => (kept, byte(equal)),
                [kept @ .., Node::Look { direction: Direction::Ahead, negative: true, node }, run]
                    if is_run(run) && matches!(&**node, Node::Concat(nodes) if is_comparison(nodes, caseless)) =>
                {
                    (kept, byte(!equal))
                }
                [kept @ .., last] => (kept, until(last, equal, caseless)?),
                [] => return None,
            };
            Some(Node::Concat([kept, &[last]].concat()))
        }
        _ => None,
    }
}

/// Whether whatever is unbounded is within a word or between words. Then a match spans few words, and to try it at
/// each word passes over each byte few times.
fn has_bounded_words(node: &Node) -> bool {
    match node {
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().all(has_bounded_words),
        Node::Repeat { node, max: None, .. } => {
            matches!(**node, Node::Set(set) if set.is_disjoint(word()) || set.is_within(word()))
        }
        Node::Repeat { node, .. } => has_bounded_words(node),
        Node::Capture(_) => false, // It would be a second group.
        _ => true,
    }
}
