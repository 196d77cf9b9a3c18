//! The boxes of a flame graph as an SVG; `paint` draws them.

mod difference;
mod paint;

pub use self::difference::svg_diff;
pub(super) use self::difference::{subtitle_of_difference, title_of_difference};

use self::paint::{Drawing, Rectangle};
use super::colour;
use super::shape::{BoxContent, PlacedBox, TreeShape, place};
use super::text::clean;
use super::{GraphOptions, INKS};
use crate::amount::counted;
use crate::amount::{Amounts, grouped};
use crate::tree::{NodeId, Tree, TreeOptions};
use crate::{Profile, ProfileKind};

/// Draws a profile.
#[must_use]
pub fn svg(profile: &Profile, options: &GraphOptions) -> String {
    let tree = Tree::of(profile, TreeOptions { reverse: options.reverse, lines: options.lines });
    let amounts = Amounts { total: tree.total(), ..Amounts::of(profile) };
    let shape = shape_of(&tree);
    let boxes = place(&shape, options.max_boxes, narrowest(tree.total(), options));
    let painter = Painter { tree: &tree, amounts };
    Drawing {
        title: options.title.clone().unwrap_or_else(|| title_of(profile)),
        subtitle: subtitle(profile, &tree, &amounts),
        whole: tree.total(),
        rectangles: boxes.iter().map(|placed| painter.rectangle(placed)).collect(),
        legend: legend(&tree),
        icicle: options.icicle,
        width: options.width,
    }
    .paint()
}

/// The profile's own title.
pub(super) fn title_of(profile: &Profile) -> String {
    if !profile.meta.title.is_empty() {
        return profile.meta.title.clone();
    }
    match profile.kind {
        ProfileKind::OnCpu => "On-CPU profile".into(),
        ProfileKind::OffCpu => "Off-CPU profile".into(),
        ProfileKind::Count => "Profile".into(),
    }
}

/// Width of the narrowest box, in the unit of weights.
pub(super) fn narrowest(total: u64, options: &GraphOptions) -> f64 {
    total as f64 * options.min_width / f64::from(options.width.max(1))
}

/// Boxes as wide as their totals.
pub(super) fn shape_of(tree: &Tree) -> TreeShape {
    let children = |node: &crate::tree::Node| node.children.iter().map(|child| child.0).collect();
    TreeShape {
        children: tree.nodes.iter().map(children).collect(),
        width: tree.nodes.iter().map(|node| node.total).collect(),
    }
}

/// A one-line summary of the measurement.
pub(super) fn subtitle(profile: &Profile, tree: &Tree, amounts: &Amounts) -> String {
    let what = match profile.kind {
        ProfileKind::OnCpu => format!("{} of CPU", amounts.weight(amounts.total)),
        ProfileKind::OffCpu => format!("{} off the CPU", amounts.weight(amounts.total)),
        ProfileKind::Count => format!("a weight of {}", amounts.weight(amounts.total)),
    };
    let mut parts = vec![what, counted(tree.node(Tree::ROOT).count, "sample")];
    parts.extend(amounts.per_request(amounts.total));
    if profile.health.lost > 0 {
        parts.push(format!("{} lost", grouped(profile.health.lost)));
    }
    parts.join(", ")
}

/// The origins that occur in the tree.
fn legend(tree: &Tree) -> Vec<(String, String)> {
    let occurs = |ink: &&super::Ink| tree.functions.iter().skip(1).any(|function| function.origin == ink.origin);
    INKS.iter().filter(occurs).map(|ink| (ink.title.to_owned(), colour::plain(ink))).collect()
}

struct Painter<'a> {
    tree: &'a Tree,
    amounts: Amounts,
}

impl Painter<'_> {
    fn rectangle(&self, placed: &PlacedBox) -> Rectangle {
        let (name, fill, detail) = match placed.content {
            BoxContent::Merged { nodes, .. } => {
                let detail =
                    format!("{} too narrow to draw: {}", counted(nodes as u64, "callee"), self.weight(placed.width));
                ("…".to_owned(), "#d5d6da".to_owned(), detail)
            }
            BoxContent::Node(node) => self.node(NodeId(node)),
        };
        Rectangle { depth: placed.depth, start: placed.start, width: placed.width, name, detail, fill, hatched: false }
    }

    fn node(&self, id: NodeId) -> (String, String, String) {
        let (node, function) = (self.tree.node(id), self.tree.function(id));
        let name = clean(&function.title());
        let mut detail = self.weight(node.total);
        if self.amounts.kind != ProfileKind::Count {
            detail.push_str(&format!(", {}", counted(node.count, "sample")));
        }
        if node.self_weight > 0 && node.self_weight < node.total {
            detail.push_str(&format!(", self {}", self.amounts.weight(node.self_weight)));
        }
        if !function.module.is_empty() {
            detail.push_str(&format!(" · {}", clean(&function.module)));
        }
        (name, colour::of(function.origin, &function.name), detail)
    }

    fn weight(&self, weight: u64) -> String {
        let mut text = format!("{}, {}", self.amounts.weight(weight), self.amounts.share(weight));
        if let Some(each) = self.amounts.per_request(weight) {
            text.push_str(&format!(", {each}"));
        }
        text
    }
}
