//! The data of a page, as compact JSON: columns instead of rows, numbers instead of names.
//!
//! Nodes are written in depth-first order, each with the distance to its parent; this way a profile
//! of 200,000 nodes takes about 2 MiB.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::shape::{BoxContent, PlacedBox, TreeShape, place};
use super::text::clean;
use super::{GraphOptions, colour, svg};
use crate::amount::Amounts;
use crate::diff::{Difference, Side, Unit};
use crate::tree::{NodeId, Tree, TreeOptions};
use crate::{Origin, Profile, ProfileKind};

/// A profile. The page itself reverses it and selects threads.
pub(super) fn profile(profile: &Profile, options: &GraphOptions) -> Value {
    let (tree, origins) = Tree::with_origins(profile, TreeOptions { lines: options.lines, ..TreeOptions::default() });
    let placed = place(&svg::shape_of(&tree), options.max_nodes, 0.0);
    let pages = PageNodes::of(&tree.nodes.iter().map(|node| node.parent).collect::<Vec<_>>(), &placed);
    let lines = tree.lines(profile, &origins);
    let mut functions = Functions::default();
    for (function, lines) in tree.functions.iter().zip(lines) {
        functions.add(&function.title(), &function.name, function.origin, &function.module, lines);
    }
    let rest = functions.rest();
    let mut samples: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for (sample, leaf) in profile.samples.iter().zip(&origins.leaves) {
        let sum = samples.entry((pages.of_node[leaf.0 as usize], sample.thread.0)).or_default();
        *sum = (sum.0.saturating_add(sample.count), sum.1.saturating_add(sample.weight));
    }
    let amounts = Amounts::of(profile);
    json!({
        "difference": false,
        "name": match profile.kind { ProfileKind::OnCpu => "On-CPU", ProfileKind::OffCpu => "Off-CPU", ProfileKind::Count => "Samples" },
        "subtitle": svg::subtitle(profile, &tree, &amounts),
        "unit": unit(profile.kind), "requests": amounts.requests.unwrap_or(0), "total": amounts.total,
        "facts": profile.health.facts().iter()
            .map(|fact| json!([fact.label, fact.value, fact.level.as_str()])).collect::<Vec<_>>(),
        "remarks": profile.meta.remarks.iter().map(|remark| clean(remark)).collect::<Vec<_>>(),
        "threads": profile.threads.iter()
            .map(|thread| json!([thread.pid, thread.tid, clean(&thread.name)])).collect::<Vec<_>>(),
        "modules": functions.modules, "functions": functions.rows,
        "nodes": pages.nodes(&placed, |node| tree.node(NodeId(node)).function.0, rest),
        "samples": {
            "nodes": samples.keys().map(|key| key.0).collect::<Vec<_>>(),
            "threads": samples.keys().map(|key| key.1).collect::<Vec<_>>(),
            "counts": samples.values().map(|sum| sum.0).collect::<Vec<_>>(),
            "weights": samples.values().map(|sum| sum.1).collect::<Vec<_>>(),
        },
        "calls": profile.system_calls.iter()
            .map(|call| json!([call.pid, clean(&call.name), call.calls, call.errors, call.total_ns, call.max_ns]))
            .collect::<Vec<_>>(),
    })
}

/// A comparison.
pub(super) fn difference(difference: &Difference, options: &GraphOptions) -> Value {
    let shape = TreeShape {
        children: difference.nodes.iter().map(|node| node.children.iter().map(|child| child.0).collect()).collect(),
        // Nodes that are heavy on either side are kept.
        width: difference.nodes.iter().map(|node| node.total.old.saturating_add(node.total.new)).collect(),
    };
    let placed = place(&shape, options.max_nodes, 0.0);
    let pages = PageNodes::of(&difference.nodes.iter().map(|node| node.parent).collect::<Vec<_>>(), &placed);
    let mut functions = Functions::default();
    for function in &difference.functions {
        functions.add(&function.name, &function.name, function.origin, &function.module, Vec::new());
    }
    let rest = functions.rest();
    let mut selfs = [vec![0_u64; placed.len()], vec![0_u64; placed.len()]];
    for (node, &page) in difference.nodes.iter().zip(&pages.of_node) {
        for (sum, side) in selfs.iter_mut().zip([Side::Old, Side::New]) {
            let sum = &mut sum[page as usize];
            *sum = sum.saturating_add(node.self_weight.on(side));
        }
    }
    let whole = |side| difference.per_unit(side, difference.input(side).total);
    let [old, new] = selfs;
    json!({
        "difference": true, "name": "Difference", "subtitle": svg::subtitle_of_difference(difference),
        "unit": unit(difference.kind),
        "compare": match difference.unit { Unit::PerRequest => "per_request", Unit::Share => "share" },
        "scale": { "old": difference.per_unit(Side::Old, 1), "new": difference.per_unit(Side::New, 1) },
        "whole": { "old": whole(Side::Old), "new": whole(Side::New) },
        "facts": [], "remarks": difference.remarks.iter().map(|remark| clean(remark)).collect::<Vec<_>>(),
        "modules": functions.modules, "functions": functions.rows,
        "nodes": pages.nodes(&placed, |node| difference.node(NodeId(node)).function.0, rest),
        "selfs": { "old": old, "new": new },
        "vanished": difference.vanished.iter().map(|id| id.0).collect::<Vec<_>>(),
        "appeared": difference.appeared.iter().map(|id| id.0).collect::<Vec<_>>(),
        "forwarded": difference.forwarded.iter()
            .map(|one| json!([one.function.0, one.side, one.paths, one.weight])).collect::<Vec<_>>(),
    })
}

fn unit(kind: ProfileKind) -> &'static str {
    if kind == ProfileKind::Count { "count" } else { "ns" }
}

/// The functions of a page, with their shared modules.
#[derive(Default)]
struct Functions {
    rows: Vec<Value>,
    modules: Vec<String>,
    known: HashMap<String, usize>,
}

impl Functions {
    fn add(&mut self, title: &str, name: &str, origin: Origin, module: &str, lines: Vec<(u32, u64)>) {
        let next = self.modules.len();
        let module = clean(module);
        let number = *self.known.entry(module.clone()).or_insert(next);
        if number == next {
            self.modules.push(module);
        }
        // Two digits suffice for a colour; the shift depends on the name only, as in an SVG.
        let shift = (colour::shift(name) * 100.0).round() / 100.0;
        self.rows.push(json!([clean(title), colour::index_of(origin), number, shift, lines]));
    }

    /// The function for merged nodes that are too light for the page; its number is the last.
    fn rest(&mut self) -> u32 {
        let number = u32::try_from(self.rows.len()).expect("functions are numbered in 32 bits");
        self.add("…", "…", Origin::Marker, "", Vec::new());
        number
    }
}

/// The numbers of nodes in the page.
struct PageNodes {
    /// The page node that receives the weight of each tree node.
    of_node: Vec<u32>,
    /// The parent of each page node.
    parents: Vec<u32>,
}

impl PageNodes {
    fn of(parents: &[Option<NodeId>], placed: &[PlacedBox]) -> Self {
        let mut of_node = vec![u32::MAX; parents.len()];
        let mut rest = HashMap::new();
        for (page, one) in (0_u32..).zip(placed) {
            match one.content {
                BoxContent::Node(node) => of_node[node as usize] = page,
                BoxContent::Merged { parent, .. } => {
                    rest.insert(parent, page);
                }
            }
        }
        // Parents come before their children, so their own position is known.
        for node in 0..parents.len() {
            let (Some(parent), u32::MAX) = (parents[node], of_node[node]) else { continue };
            // Nodes without weight have no box and add nothing to their parent.
            of_node[node] = rest.get(&parent.0).copied().unwrap_or(of_node[parent.0 as usize]);
        }
        let parent = |one: &PlacedBox| match one.content {
            BoxContent::Node(node) => parents[node as usize].map_or(0, |parent| of_node[parent.0 as usize]),
            BoxContent::Merged { parent, .. } => of_node[parent as usize],
        };
        Self { parents: placed.iter().map(parent).collect(), of_node }
    }

    fn nodes(&self, placed: &[PlacedBox], function_of: impl Fn(u32) -> u32, rest: u32) -> Value {
        let function = |one: &PlacedBox| match one.content {
            BoxContent::Node(node) => function_of(node),
            BoxContent::Merged { .. } => rest,
        };
        let distances = (0_u32..).zip(&self.parents).map(|(page, parent)| page - parent);
        json!({
            "functions": placed.iter().map(function).collect::<Vec<_>>(),
            "parents": distances.collect::<Vec<_>>(),
        })
    }
}
