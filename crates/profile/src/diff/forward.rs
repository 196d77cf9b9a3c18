//! Frames that only pass a call on and that the other build does not show.
//!
//! Where `b` ends in `return c(...)`, optimised code jumps, and `a;b;c` appears as `a;c`; samples in `b` itself are
//! still `a;b`. A frame is therefore removed from a path on the side that shows it, if on the other side its caller
//! calls its callee and it never does, and if its own weight is negligible. Runs of such frames (nginx's filters) are
//! removed together. Inlining without debug information looks the same and is treated the same.
//!
//! Every node of a tree is decided once, from its ancestors alone: it is attached to the caller that leaves the
//! fewest calls unknown to the other side. That takes at most [`MAX_RUN`] steps per node and usually one. Deciding
//! stack by stack would take a search in each, and aligning whole stacks by edit distance quadratic time.

use std::collections::{BTreeMap, HashSet};

use crate::Origin;
use crate::tree::FunctionId;

use super::Function;
use super::calls::Calls;

/// The longest run of frames removed at once: nginx has up to some 30 filters in a row.
const MAX_RUN: usize = 64;
/// Maximum share of its total that a forwarding function may use itself: at `-O0`, saving and
/// restoring registers and testing a flag is visible.
const MAX_OWN_SHARE: f64 = 0.10;
/// A call unknown to the other side is worse than removing any run of frames.
const UNKNOWN_CALL: u64 = 1 << 32;

type Edges = HashSet<(FunctionId, FunctionId)>;

/// For each node of one side, its caller after frames have been removed.
pub(super) struct Merge {
    callers: Vec<usize>,
}

impl Merge {
    /// Removes nothing.
    pub(super) fn none(calls: &Calls) -> Self {
        Self { callers: calls.nodes.iter().map(|call| call.parent).collect() }
    }

    /// Finds the frames to remove, given the calls of the other side.
    pub(super) fn find(calls: &Calls, other: &Edges, functions: &[Function]) -> Self {
        let only_forwards = only_forward(calls, functions);
        let mut callers = vec![0; calls.nodes.len()];
        let mut costs = vec![0_u64; calls.nodes.len()];
        for at in 1..calls.nodes.len() {
            let known = |caller: usize, callee: usize| {
                other.contains(&(calls.nodes[caller].function, calls.nodes[callee].function))
            };
            let parent = calls.nodes[at].parent;
            let mut best = (costs[parent] + if known(parent, at) { 0 } else { UNKNOWN_CALL }, parent);
            let (mut callee, mut between) = (at, parent);
            for taken in 1..=MAX_RUN {
                let forwards = only_forwards[calls.nodes[between].function.0 as usize];
                // The root is not a function, and its callees cannot be distinguished from a cut stack.
                if !forwards || known(between, callee) || calls.nodes[between].parent == 0 {
                    break;
                }
                let caller = calls.nodes[between].parent;
                if known(caller, at) {
                    best = best.min((costs[caller] + taken as u64, caller));
                }
                (callee, between) = (between, caller);
            }
            (costs[at], callers[at]) = best;
        }
        Self { callers }
    }

    /// The caller of a node.
    pub(super) fn caller(&self, at: usize) -> usize {
        self.callers[at]
    }

    /// The nodes through which some sample still passes.
    pub(super) fn kept(&self, calls: &Calls) -> Vec<bool> {
        let mut kept: Vec<bool> = calls.nodes.iter().map(|call| call.self_weight > 0).collect();
        for at in (1..kept.len()).rev() {
            if kept[at] {
                kept[self.callers[at]] = true;
            }
        }
        kept
    }

    /// For each function: the number of paths from which it was removed, and their weight.
    pub(super) fn taken_out(&self, calls: &Calls) -> BTreeMap<FunctionId, (u64, u64)> {
        let mut flow: Vec<u64> = calls.nodes.iter().map(|call| call.self_weight).collect();
        for at in (1..flow.len()).rev() {
            flow[self.callers[at]] = flow[self.callers[at]].saturating_add(flow[at]);
        }
        let mut taken = BTreeMap::new();
        for (call, flow) in calls.nodes.iter().zip(flow) {
            let weight = call.total.saturating_sub(flow);
            if weight > 0 {
                let entry: &mut (u64, u64) = taken.entry(call.function).or_default();
                *entry = (entry.0 + 1, entry.1.saturating_add(weight));
            }
        }
        taken
    }
}

/// The functions whose own weight on this side is negligible.
fn only_forward(calls: &Calls, functions: &[Function]) -> Vec<bool> {
    let mut weights = vec![(0_u64, 0_u64); functions.len()];
    for call in &calls.nodes {
        let (own, total) = &mut weights[call.function.0 as usize];
        *own = own.saturating_add(call.self_weight);
        *total = total.saturating_add(call.total);
    }
    let code = |origin| matches!(origin, Origin::Native | Origin::Inlined | Origin::Lua);
    std::iter::zip(functions, weights)
        .map(|(function, (own, total))| code(function.origin) && own as f64 <= MAX_OWN_SHARE * total as f64)
        .collect()
}
