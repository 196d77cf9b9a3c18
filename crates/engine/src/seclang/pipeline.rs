//! Chains of transformations, shared as a tree: rules that begin with the same transformations
//! share the result of those.

use bumpalo::Bump;
use weir_transform::{ByteSet, Transformation};

use super::scratch::Scratch;

/// Units of work for a transformation of so many bytes.
pub(crate) fn transform_units(transformation: Transformation, bytes: usize) -> u64 {
    use Transformation as T;
    let byte = match transformation {
        T::Lowercase | T::CmdLine | T::CompressWhitespace | T::RemoveWhitespace | T::RemoveNulls | T::Base64Decode => 1,
        T::Md5 | T::Sha1 | T::NormalisePath | T::NormalisePathWin => 6,
        _ => 3,
    };
    40 + byte * bytes as u64
}

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

    /// As [`Self::apply`], and charges each transformation that may change the value; where no work is left, it is not
    /// transformed.
    pub(crate) fn apply_within<'a>(&self, node: Node, scratch: Scratch<'a>, value: &'a [u8]) -> &'a [u8] {
        match self.step(node) {
            None => value,
            // Nothing depends on which bytes occur but this one.
            Some((IDENTITY, transformation)) => {
                let is_affordable = scratch.work.charge(transform_units(transformation, value.len()));
                if is_affordable { transformation.apply(scratch.arena, value) } else { value }
            }
            Some(_) => self.applied(node, scratch, value).0,
        }
    }

    /// The value after the chain, and the bytes that occur in it.
    fn applied<'a>(&self, node: Node, scratch: Scratch<'a>, value: &'a [u8]) -> (&'a [u8], ByteSet) {
        let Some((parent, transformation)) = self.step(node) else {
            let is_affordable = scratch.work.charge(value.len() as u64);
            return (value, if is_affordable { ByteSet::of(value) } else { ByteSet::EMPTY });
        };
        let (value, occurring) = self.applied(parent, scratch, value);
        transformed(transformation, scratch, value, occurring)
    }

    /// The value at the last of some stages of which each is made from the one before; `each` is called with all of them.
    pub(crate) fn apply_stages<'a>(
        &self,
        stages: &[Node],
        scratch: Scratch<'a>,
        value: &'a [u8],
        mut each: impl FnMut(&'a [u8]),
    ) {
        let mut at = self.applied(IDENTITY, scratch, value);
        for stage in stages {
            if let Some((_, transformation)) = self.step(*stage) {
                at = transformed(transformation, scratch, at.0, at.1);
            }
            each(at.0);
        }
    }

    /// Names joined by commas; `none` for no transformation.
    pub(crate) fn name(&self, node: Node) -> String {
        let names: Vec<&str> =
            self.stages(node).iter().filter_map(|at| self.step(*at)).map(|(_, one)| one.info().name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(",") }
    }
}

fn transformed<'a>(
    transformation: Transformation,
    scratch: Scratch<'a>,
    value: &'a [u8],
    occurring: ByteSet,
) -> (&'a [u8], ByteSet) {
    let is_worth_it = transformation.may_change(&occurring);
    if !is_worth_it || !scratch.work.charge(transform_units(transformation, value.len())) {
        return (value, occurring);
    }
    let made = transformation.apply(scratch.arena, value);
    (made, if std::ptr::eq(made, value) { occurring } else { ByteSet::of(made) })
}
