//! The call tree of a profile: what flame graphs draw, differences compare and `top` counts.
//!
//! Nodes hold the number of a function and not its text: a tree of a hundred thousand stacks has
//! millions of nodes but thousands of functions. Nothing here recurses, so that a stack of any
//! depth costs memory and never the thread's own stack.

mod lines;

use std::collections::HashMap;

use crate::{Frame, FrameId, Origin, Profile, label};

/// What becomes a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// From leaves to roots: below a function come its callers.
    pub reverse: bool,
    /// Different lines of a function are different functions.
    pub lines: bool,
}

/// A function as the tree tells it from others: by name, origin and module, and by line if asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where its code comes from.
    pub origin: Origin,
    /// Path of the binary, `[kernel]`, or a Lua chunk's name; empty: unknown.
    pub module: String,
    /// Source file where it was first seen; empty: unknown.
    pub file: String,
    /// Source line; 0 unless [`Options::lines`] was set and the line is known.
    pub line: u32,
}

impl Function {
    fn of(frame: &Frame, options: Options) -> Self {
        Self {
            name: frame.name.clone(),
            origin: frame.origin,
            module: frame.module.clone(),
            file: frame.file.clone(),
            line: if options.lines { frame.line } else { 0 },
        }
    }

    /// What people see: its name, with the line if the tree tells lines apart; an unknown function
    /// of a known binary is called after the binary, `[libc.so.6]`.
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

/// A function, reached by one path of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Which function.
    pub function: FunctionId,
    /// Who called it (in a reversed tree: whom it called); `None`: the root.
    pub parent: Option<NodeId>,
    /// What it calls, sorted by name, then by origin, module and line.
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

/// What a function weighs, over all paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Weight of the samples that end in it.
    pub self_weight: u64,
    /// Weight of the samples that pass through it.
    pub total: u64,
    /// Number of the samples that pass through it.
    pub count: u64,
}

/// Where a profile's parts are in its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The function of each frame.
    pub functions: Vec<FunctionId>,
    /// The node that each sample ends in.
    pub leaves: Vec<NodeId>,
}

/// Walks nodes from the root; `place`: a node's function and children. `see` is told of each whether it is the outermost
/// call of its function, as only that one counts for what a function that calls itself weighs in all.
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
    /// Nodes; the first is the root, which stands for everything.
    pub nodes: Vec<Node>,
    /// Functions; the first is the root's, named `all`.
    pub functions: Vec<Function>,
}

impl Tree {
    /// The root.
    pub const ROOT: NodeId = NodeId(0);

    /// The tree of a profile.
    #[must_use]
    pub fn of(profile: &Profile, options: Options) -> Self {
        Self::with_origins(profile, options).0
    }

    /// The tree of a profile, and where the profile's frames and samples are in it.
    #[must_use]
    pub fn with_origins(profile: &Profile, options: Options) -> (Self, Origins) {
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
        (tree, Origins { functions: functions_of, leaves })
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

    /// Weight of everything.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes[0].total
    }

    /// The longest distance from the root.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or_default()
    }

    /// Nodes in the order of a walk: parents before children, children by name.
    pub fn walk(&self) -> impl Iterator<Item = NodeId> + '_ {
        let mut open = vec![Self::ROOT];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(self.node(next).children.iter().rev());
            Some(next)
        })
    }

    /// What each function weighs, in the order of [`Tree::functions`]: a function that calls itself
    /// counts once.
    #[must_use]
    pub fn weights(&self) -> Vec<Weight> {
        let mut weights = vec![Weight::default(); self.functions.len()];
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

    /// Totals, from the leaves up: a child comes after its parent.
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

    /// Functions are sorted, so that their numbers are their order.
    fn sort(&mut self) {
        for at in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            children.sort_unstable_by_key(|child| self.node(*child).function);
            self.nodes[at].children = children;
        }
    }
}

/// What makes a function: borrowed, because profiles have far more frames than functions.
fn key(frame: &Frame, options: Options) -> (&str, Origin, &str, u32) {
    (&frame.name, frame.origin, &frame.module, if options.lines { frame.line } else { 0 })
}

/// The functions of a profile in order, the root's first, and the function of each frame. Frames
/// that differ only in the file or the line are one function, of the file that came first.
fn functions(profile: &Profile, options: Options) -> (Vec<Function>, Vec<FunctionId>) {
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
