//! JSON pointers (RFC 6901) to and from places in a document.

use crate::document::{Kind, Node};

/// The pointer to the deepest value that begins at or before byte `at`. In JSON values follow each other
/// as they stand, so each level is a binary search.
pub fn of(root: &Node, at: usize) -> String {
    let mut pointer = String::new();
    let mut node = root;
    // Bounded by the document's own depth.
    loop {
        match &node.kind {
            Kind::Mapping(pairs) => {
                let after = pairs.partition_point(|(key, _)| key.at <= at);
                let Some((key, value)) = after.checked_sub(1).map(|index| &pairs[index]) else { break };
                push(&mut pointer, key.as_scalar().map_or("", |scalar| &scalar.text));
                if value.at > at {
                    break;
                }
                node = value;
            }
            Kind::Sequence(items) => {
                let after = items.partition_point(|item| item.at <= at);
                let Some(index) = after.checked_sub(1) else { break };
                push(&mut pointer, &index.to_string());
                node = &items[index];
            }
            Kind::Scalar(_) => break,
        }
    }
    pointer
}

/// Adds a part to a pointer.
pub fn push(pointer: &mut String, part: &str) {
    pointer.push('/');
    for c in part.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// The parts of a pointer.
pub fn parts(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

/// The node that a pointer leads to, or the deepest on the way.
pub fn find<'n>(root: &'n Node, pointer: &str) -> &'n Node {
    let mut node = root;
    for part in parts(pointer) {
        let next = match &node.kind {
            Kind::Mapping(pairs) => {
                let named = |key: &Node| key.as_scalar().is_some_and(|scalar| scalar.text == part);
                pairs.iter().find(|(key, _)| named(key)).map(|(_, value)| value)
            }
            Kind::Sequence(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            Kind::Scalar(_) => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    node
}
