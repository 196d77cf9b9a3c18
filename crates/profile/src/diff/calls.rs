//! The two call trees over one set of functions, and the merged tree.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::tree::{FunctionId, NodeId, walk_functions};
use crate::{Frame, Origin, Profile};

use super::forward::Merge;
use super::{Function, Node, Side, WeightPair, names};

/// The functions of both profiles, in order, and the function of each frame.
pub(super) struct Functions {
    list: Vec<Function>,
    frames: [Vec<FunctionId>; 2],
}

/// The identity of a function, regardless of inlining, which depends on the build.
type FunctionKey = (String, Origin);

fn key(frame: &Frame) -> FunctionKey {
    match frame.origin {
        // Unknown functions are distinguished by their binaries.
        Origin::Marker => (crate::label::label(frame), Origin::Marker),
        Origin::Inlined => (names::plain(&frame.name).to_owned(), Origin::Native),
        origin => (names::plain(&frame.name).to_owned(), origin),
    }
}

impl Functions {
    pub(super) fn of(old: &Profile, new: &Profile) -> Self {
        let mut known: BTreeMap<FunctionKey, Function> = BTreeMap::new();
        for frame in old.frames.iter().chain(&new.frames) {
            let key = key(frame);
            let function = known.entry(key).or_insert_with_key(|(name, _)| Function {
                name: name.clone(),
                origin: frame.origin,
                module: frame.module.clone(),
                ..Function::default()
            });
            // The minimum makes the result independent of the order of the sides.
            function.origin = function.origin.min(frame.origin);
            if function.module.is_empty() || (!frame.module.is_empty() && frame.module < function.module) {
                function.module.clone_from(&frame.module);
            }
        }
        let number_of: HashMap<&FunctionKey, FunctionId> =
            known.keys().enumerate().map(|(at, key)| (key, FunctionId(number(at + 1)))).collect();
        let of = |profile: &Profile| profile.frames.iter().map(|frame| number_of[&key(frame)]).collect();
        let frames = [of(old), of(new)];
        let root = Function { name: "all".into(), origin: Origin::Marker, ..Function::default() };
        Self { list: std::iter::once(root).chain(known.into_values()).collect(), frames }
    }

    pub(super) fn of_old(&self) -> &[FunctionId] {
        &self.frames[0]
    }

    pub(super) fn of_new(&self) -> &[FunctionId] {
        &self.frames[1]
    }

    pub(super) fn list(&self) -> &[Function] {
        &self.list
    }

    pub(super) fn into_list(self) -> Vec<Function> {
        self.list
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 entries: each takes memory")
}

/// A function reached by one call path, on one side.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) function: FunctionId,
    /// Index of the caller, smaller than its own; 0 for the root.
    pub(super) parent: usize,
    pub(super) self_weight: u64,
    pub(super) total: u64,
}

/// The call tree of one side. The root comes first.
pub(super) struct Calls {
    pub(super) nodes: Vec<Call>,
}

impl Calls {
    pub(super) fn of(profile: &Profile, function_of: &[FunctionId]) -> Self {
        let mut nodes = vec![Call { function: FunctionId(0), parent: 0, self_weight: 0, total: 0 }];
        let mut known: HashMap<(usize, FunctionId), usize> = HashMap::new();
        for sample in &profile.samples {
            let mut at = 0;
            let mut caller = None;
            for id in profile.stack(sample.stack) {
                let function = function_of[id.0 as usize];
                let name = profile.frame(*id).name.as_str();
                // A clone or a part directly below its function is that function.
                let part = caller.is_some_and(|above| above != name) && nodes[at].function == function;
                caller = Some(name);
                if part {
                    continue;
                }
                at = *known.entry((at, function)).or_insert_with(|| {
                    nodes.push(Call { function, parent: at, self_weight: 0, total: 0 });
                    nodes.len() - 1
                });
            }
            nodes[at].self_weight = nodes[at].self_weight.saturating_add(sample.weight);
        }
        for at in (0..nodes.len()).rev() {
            let Call { parent, self_weight, .. } = nodes[at];
            nodes[at].total = nodes[at].total.saturating_add(self_weight);
            if at > 0 {
                nodes[parent].total = nodes[parent].total.saturating_add(nodes[at].total);
            }
        }
        Self { nodes }
    }

    /// All caller-callee pairs.
    pub(super) fn edges(&self) -> HashSet<(FunctionId, FunctionId)> {
        self.nodes.iter().skip(1).map(|call| (self.nodes[call.parent].function, call.function)).collect()
    }
}

/// One tree of both sides, without removed frames, numbered in depth-first order.
pub(super) fn merged(calls: &[Calls; 2], merges: &[Merge; 2]) -> Vec<Node> {
    let mut nodes = vec![Node::default()];
    let mut known: HashMap<(usize, FunctionId), usize> = HashMap::new();
    for (side, (calls, merge)) in [Side::Old, Side::New].into_iter().zip(calls.iter().zip(merges)) {
        let wanted = merge.kept(calls);
        let mut place = vec![0_usize; calls.nodes.len()];
        for (at, call) in calls.nodes.iter().enumerate() {
            if at > 0 && wanted[at] {
                let above = place[merge.caller(at)];
                place[at] = *known.entry((above, call.function)).or_insert_with(|| {
                    let id = nodes.len();
                    nodes[above].children.push(NodeId(number(id)));
                    nodes.push(Node {
                        function: call.function,
                        parent: Some(NodeId(number(above))),
                        depth: nodes[above].depth + 1,
                        ..Node::default()
                    });
                    id
                });
            }
            nodes[place[at]].self_weight.add(side, call.self_weight);
        }
    }
    sum_up(&mut nodes);
    in_order(nodes)
}

fn sum_up(nodes: &mut [Node]) {
    for at in (0..nodes.len()).rev() {
        let total = nodes[at].total.plus(nodes[at].self_weight);
        nodes[at].total = total;
        if let Some(parent) = nodes[at].parent {
            let parent = &mut nodes[parent.0 as usize];
            parent.total = parent.total.plus(total);
        }
    }
}

/// Numbers nodes independently of which side was built first.
fn in_order(nodes: Vec<Node>) -> Vec<Node> {
    let mut new_of = vec![NodeId(0); nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut open = vec![NodeId(0)];
    while let Some(id) = open.pop() {
        new_of[id.0 as usize] = NodeId(number(order.len()));
        order.push(id);
        let mut children = nodes[id.0 as usize].children.clone();
        children.sort_unstable_by_key(|child| std::cmp::Reverse(nodes[child.0 as usize].function));
        open.extend(children);
    }
    let renumbered = |id: NodeId| new_of[id.0 as usize];
    order
        .iter()
        .map(|id| {
            let node = &nodes[id.0 as usize];
            let mut children: Vec<NodeId> = node.children.iter().copied().map(renumbered).collect();
            children.sort_unstable();
            Node { parent: node.parent.map(renumbered), children, ..node.clone() }
        })
        .collect()
}

/// Total weights per function; recursion counts once.
pub(super) fn function_weights(nodes: &[Node], functions: usize) -> Vec<(WeightPair, WeightPair)> {
    let mut weights = vec![(WeightPair::default(), WeightPair::default()); functions];
    let node = |id: NodeId| &nodes[id.0 as usize];
    walk_functions(
        functions,
        |id| (node(id).function, &node(id).children[..]),
        |id, outermost| {
            let node = node(id);
            let (self_weight, total) = &mut weights[node.function.0 as usize];
            *self_weight = self_weight.plus(node.self_weight);
            if outermost {
                *total = total.plus(node.total);
            }
        },
    );
    weights
}
