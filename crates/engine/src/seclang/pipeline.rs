//! Chains of transformations, shared as a tree: rules that begin with the same transformations
//! share the result of those.

use bumpalo::Bump;
use weir_transform::Transformation;

use super::scratch::Scratch;

/// Units of work for a transformation, and for each byte that it reads.
pub(crate) const TRANSFORM: u64 = 20;
pub(crate) const TRANSFORM_BYTE: u64 = 4;

/// A chain of transformations: a node of the tree. [`IDENTITY`] has none.
pub(crate) type Node = u16;

/// No transformation at all.
pub(crate) const IDENTITY: Node = 0;

/// The tree of a program. Parents have smaller numbers than their children.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    nodes: Vec<(Node, Transformation)>,
}

impl Pipelines {
    /// The node of a chain.
    pub(crate) fn intern(&mut self, chain: &[Transformation]) -> Node {
        chain.iter().fold(IDENTITY, |parent, transformation| {
            let known = self.nodes.iter().position(|node| *node == (parent, *transformation));
            let position = known.unwrap_or_else(|| {
                self.nodes.push((parent, *transformation));
                self.nodes.len() - 1
            });
            position as Node + 1
        })
    }

    /// Parent and last transformation of a node that is not [`IDENTITY`].
    pub(crate) fn step(&self, node: Node) -> Option<(Node, Transformation)> {
        self.nodes.get(usize::from(node).checked_sub(1)?).copied()
    }

    /// The nodes on the way from the untransformed value to `node`, both included.
    pub(crate) fn stages(&self, node: Node) -> Vec<Node> {
        let mut stages = vec![node];
        let mut at = node;
        while let Some((parent, _)) = self.step(at) {
            stages.push(parent);
            at = parent;
        }
        stages.reverse();
        stages
    }

    /// The value after the whole chain. The depth is that of the longest chain that a rule has,
    /// which the language bounds.
    pub(crate) fn apply<'a>(&self, node: Node, arena: &'a Bump, value: &'a [u8]) -> &'a [u8] {
        match self.step(node) {
            None => value,
            Some((parent, transformation)) => transformation.apply(arena, self.apply(parent, arena, value)),
        }
    }

    /// As [`Self::apply`], and charges each transformation; where no work is left, the value is not transformed.
    pub(crate) fn apply_within<'a>(&self, node: Node, scratch: Scratch<'a>, value: &'a [u8]) -> &'a [u8] {
        let Some((parent, transformation)) = self.step(node) else { return value };
        let value = self.apply_within(parent, scratch, value);
        match scratch.work.charge(TRANSFORM + TRANSFORM_BYTE * value.len() as u64) {
            true => transformation.apply(scratch.arena, value),
            false => value,
        }
    }

    /// Names joined by commas; `none` for no transformation.
    pub(crate) fn name(&self, node: Node) -> String {
        let names: Vec<&str> =
            self.stages(node).iter().filter_map(|at| self.step(*at)).map(|(_, one)| one.info().name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(",") }
    }
}
