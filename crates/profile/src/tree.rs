//! The call tree of a profile, the basis of flame graphs, differences and `top`.
//!
//! Nodes store the number of a function and not its text: a tree of a hundred thousand stacks has
//! millions of nodes but thousands of functions. Nothing here recurses, so that deep stacks cost
//! memory but cannot exhaust the thread's own stack.

mod lines;

use std::collections::HashMap;

use crate::{Frame, FrameId, Origin, Profile, label};

/// Options for building a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// From leaves to roots: the children of a function are its callers.
    pub reverse: bool,
    /// Whether different lines of a function are separate functions.
    pub lines: bool,
}

/// A function of the tree, identified by name, origin and module, and optionally by line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The origin of its code.
    pub origin: Origin,
    /// Path of the binary, `[kernel]`, or a Lua chunk's name; empty if unknown.
    pub module: String,
    /// Source file of its first occurrence; empty if unknown.
    pub file: String,
    /// Source line; 0 unless [`TreeOptions::lines`] was set and the line is known.
    pub line: u32,
}

impl Function {
    fn of(frame: &Frame, options: TreeOptions) -> Self {
        Self {
            name: frame.name.clone(),
            origin: frame.origin,
            module: frame.module.clone(),
            file: frame.file.clone(),
            line: if options.lines { frame.line } else { 0 },
        }
    }

    /// The display name, with the line if the tree distinguishes lines; an unknown function of a
    /// known binary is named after the binary, `[libc.so.6]`.
    #[must_use]
    pub fn title(&self) -> String {
        let unknown = self.origin == Origin::Marker && self.name == label::UNKNOWN && !self.module.is_empty();
        let name = if unknown { format!("[{}]", self.short_module()) } else { self.name.clone() };
        if self.line > 0 { format!("{name}:{}", self.line) } else { name }
    }

    /// The last part of its module's path: `libc.so.6`.
    #[must_use]
    pub fn short_module(&self) -> &str {
        label::file_name(&self.module)
    }
}

/// Index into [`Tree::functions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct FunctionId(pub u32);

/// Index into [`Tree::nodes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A function, reached by one call path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its function.
    pub function: FunctionId,
    /// Its caller (in a reversed tree: its callee); `None` for the root.
    pub parent: Option<NodeId>,
    /// Its callees, sorted by name, then by origin, module and line.
    pub children: Vec<NodeId>,
    /// Weight of the samples that end here.
    pub self_weight: u64,
    /// Weight of the samples that pass through here.
    pub total: u64,
    /// Number of the samples that pass through here.
    pub count: u64,
    /// Distance from the root, which is 0.
    pub depth: u32,
}

/// The weights of a function, over all paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionWeight {
    /// Weight of the samples that end in it.
    pub self_weight: u64,
    /// Weight of the samples that pass through it.
    pub total: u64,
    /// Number of the samples that pass through it.
    pub count: u64,
}

/// The positions of a profile's frames and samples in its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeIndex {
    /// The function of each frame.
    pub functions: Vec<FunctionId>,
    /// The node in which each sample ends.
    pub leaves: Vec<NodeId>,
}

/// Walks nodes from the root; `place` returns a node's function and children. `see` is called for
/// each node with a flag that is true for the outermost call of its function, because only that
/// call counts towards the total of a recursive function.
pub(crate) fn walk_functions<'a>(
    functions: usize,
    place: impl Fn(NodeId) -> (FunctionId, &'a [NodeId]),
    mut see: impl FnMut(NodeId, bool),
) {
    let mut running = vec![0_u32; functions];
    let mut open = vec![(Tree::ROOT, false)];
    while let Some((id, done)) = open.pop() {
        let (function, children) = place(id);
        let running = &mut running[function.0 as usize];
        if done {
            *running -= 1;
            continue;
        }
        see(id, *running == 0);
        *running += 1;
        open.push((id, true));
        open.extend(children.iter().map(|child| (*child, false)));
    }
}

/// A call tree. A node's number is greater than its parent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Nodes; the first is the root, which contains everything.
    pub nodes: Vec<Node>,
    /// Functions; the first is the root's, named `all`.
    pub functions: Vec<Function>,
}

impl Tree {
    /// The root.
    pub const ROOT: NodeId = NodeId(0);

    /// The tree of a profile.
    #[must_use]
    pub fn of(profile: &Profile, options: TreeOptions) -> Self {
        Self::with_origins(profile, options).0
    }

    /// The tree of a profile, with the positions of the profile's frames and samples in it.
    #[must_use]
    pub fn with_origins(profile: &Profile, options: TreeOptions) -> (Self, TreeIndex) {
        let (functions, functions_of) = functions(profile, options);
        let mut leaves = Vec::with_capacity(profile.samples.len());
        let mut tree = Self { nodes: vec![Node::default()], functions };
        let mut known = HashMap::new();
        for sample in &profile.samples {
            let function = |frame: &FrameId| functions_of[frame.0 as usize];
            let stack = profile.stack(sample.stack);
            let leaf = if options.reverse {
                tree.path(&mut known, stack.iter().rev().map(function))
            } else {
                tree.path(&mut known, stack.iter().map(function))
            };
            leaves.push(leaf);
            let node = &mut tree.nodes[leaf.0 as usize];
            node.self_weight = node.self_weight.saturating_add(sample.weight);
            node.count = node.count.saturating_add(sample.count);
        }
        tree.sum_up();
        tree.sort();
        (tree, TreeIndex { functions: functions_of, leaves })
    }

    /// A node.
    ///
    /// # Panics
    /// If the id is of another tree.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A node's function.
    ///
    /// # Panics
    /// If the id is of another tree.
    #[must_use]
    pub fn function(&self, id: NodeId) -> &Function {
        &self.functions[self.node(id).function.0 as usize]
    }

    /// Total weight.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes[0].total
    }

    /// Depth of the deepest node.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or_default()
    }

    /// Nodes in depth-first order: parents before children, children by name.
    pub fn walk(&self) -> impl Iterator<Item = NodeId> + '_ {
        let mut open = vec![Self::ROOT];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(self.node(next).children.iter().rev());
            Some(next)
        })
    }

    /// The weights of each function, in the order of [`Tree::functions`]; recursion counts once.
    #[must_use]
    pub fn weights(&self) -> Vec<FunctionWeight> {
        let mut weights = vec![FunctionWeight::default(); self.functions.len()];
        let place = |id| (self.node(id).function, &self.node(id).children[..]);
        walk_functions(self.functions.len(), place, |id, outermost| {
            let node = self.node(id);
            let weight = &mut weights[node.function.0 as usize];
            weight.self_weight = weight.self_weight.saturating_add(node.self_weight);
            if outermost {
                weight.total = weight.total.saturating_add(node.total);
                weight.count = weight.count.saturating_add(node.count);
            }
        });
        weights
    }

    fn path(
        &mut self,
        known: &mut HashMap<(NodeId, FunctionId), NodeId>,
        functions: impl Iterator<Item = FunctionId>,
    ) -> NodeId {
        let mut at = Self::ROOT;
        for function in functions {
            at = *known.entry((at, function)).or_insert_with(|| {
                let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes: each takes memory"));
                let depth = self.nodes[at.0 as usize].depth + 1;
                self.nodes[at.0 as usize].children.push(id);
                self.nodes.push(Node { function, parent: Some(at), depth, ..Node::default() });
                id
            });
        }
        at
    }

    /// Computes totals from the leaves up: a child comes after its parent.
    fn sum_up(&mut self) {
        for at in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[at];
            node.total = node.total.saturating_add(node.self_weight);
            let (total, count) = (node.total, node.count);
            if let Some(parent) = node.parent {
                let parent = &mut self.nodes[parent.0 as usize];
                parent.total = parent.total.saturating_add(total);
                parent.count = parent.count.saturating_add(count);
            }
        }
    }

    /// Sorts functions, so that their numbers reflect their order.
    fn sort(&mut self) {
        for at in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            children.sort_unstable_by_key(|child| self.node(*child).function);
            self.nodes[at].children = children;
        }
    }
}

/// The identity of a function: borrowed, because profiles have far more frames than functions.
fn key(frame: &Frame, options: TreeOptions) -> (&str, Origin, &str, u32) {
    (&frame.name, frame.origin, &frame.module, if options.lines { frame.line } else { 0 })
}

/// The functions of a profile in order, the root's first, and the function of each frame. Frames
/// that differ only in file or line are one function, with the file of the first.
fn functions(profile: &Profile, options: TreeOptions) -> (Vec<Function>, Vec<FunctionId>) {
    let mut first = HashMap::new();
    for frame in &profile.frames {
        first.entry(key(frame, options)).or_insert(frame);
    }
    let mut sorted: Vec<_> = first.keys().copied().collect();
    sorted.sort_unstable();
    let numbers: HashMap<_, FunctionId> = sorted.iter().copied().zip((1..).map(FunctionId)).collect();
    let ids = profile.frames.iter().map(|frame| numbers[&key(frame, options)]).collect();
    let root = Function { name: "all".into(), origin: Origin::Marker, ..Function::default() };
    let others = sorted.iter().map(|key| Function::of(first[key], options));
    (std::iter::once(root).chain(others).collect(), ids)
}

#[cfg(test)]
mod tests;
