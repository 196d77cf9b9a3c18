//! A differential flame graph: the new profile, coloured by the change from the old one.
//!
//! Widths are those of the new profile, in the unit of the comparison; vanished functions are drawn
//! beside it, hatched and with their old width, because they are often the point of the comparison.

use super::paint::{Drawing, Rectangle};
use crate::ProfileKind;
use crate::amount::counted;
use crate::amount::{grouped, share, time};
use crate::diff::{Difference, Node, Side, Unit};
use crate::graph::shape::{BoxContent, PlacedBox, TreeShape, place};
use crate::graph::text::clean;
use crate::graph::{GraphOptions, colour};
use crate::tree::NodeId;

/// Number of parts into which the larger whole is divided: widths are integers.
const PARTS: f64 = 1e12;
/// A change by this part of the whole has the full colour.
const FULL_COLOUR: f64 = 0.25;

/// Draws a comparison.
#[must_use]
pub fn svg_diff(difference: &Difference, options: &GraphOptions) -> String {
    let whole = whole(difference);
    let shape = shape_of(difference, whole);
    let narrowest = super::narrowest(shape.width[0], options);
    let boxes = place(&shape, options.max_boxes, narrowest);
    Drawing {
        title: options.title.clone().unwrap_or_else(|| title_of_difference(difference)),
        subtitle: subtitle_of_difference(difference),
        whole: shape.width[0],
        rectangles: boxes.iter().map(|placed| rectangle(difference, whole, placed)).collect(),
        legend: [("less", -0.5), ("the same", 0.0), ("more", 0.5)]
            .map(|(title, change)| (title.to_owned(), colour::of_change(change)))
            .into_iter()
            .chain([("vanished".to_owned(), "url(#vanished)".to_owned())])
            .collect(),
        icicle: options.icicle,
        width: options.width,
    }
    .paint()
}

/// `old → new`.
pub(in crate::graph) fn title_of_difference(difference: &Difference) -> String {
    let title = |side| {
        let title = &difference.input(side).title;
        if title.is_empty() { if side == Side::Old { "old" } else { "new" } } else { title.as_str() }
    };
    format!("{} → {}", title(Side::Old), title(Side::New))
}

/// Both totals and their change.
pub(in crate::graph) fn subtitle_of_difference(difference: &Difference) -> String {
    let [old, new] = [&difference.old, &difference.new];
    let samples = format!("{} and {}", grouped(old.samples), counted(new.samples, "sample"));
    if difference.unit == Unit::Share {
        return format!("compared by share of the whole, {samples}");
    }
    let whole = |side| difference.per_unit(side, difference.input(side).total);
    let (before, after) = (whole(Side::Old), whole(Side::New));
    let change = if before > 0.0 { format!(" ({:+.1} %)", (after / before - 1.0) * 100.0) } else { String::new() };
    format!("{} → {} per request{change}, {samples}", value(difference, before), value(difference, after))
}

/// A value in the unit of the comparison.
fn value(difference: &Difference, value: f64) -> String {
    match (difference.unit, difference.kind) {
        (Unit::Share, _) => format!("{:.2} %", value * 100.0),
        (Unit::PerRequest, ProfileKind::Count) => format!("{value:.2}"),
        (Unit::PerRequest, _) => time(value),
    }
}

/// The larger of both totals, in the unit of the comparison.
fn whole(difference: &Difference) -> f64 {
    let whole = |side| difference.per_unit(side, difference.input(side).total);
    whole(Side::Old).max(whole(Side::New)).max(f64::MIN_POSITIVE)
}

fn vanished(node: &Node) -> bool {
    node.total.new == 0 && node.total.old > 0
}

fn shape_of(difference: &Difference, whole: f64) -> TreeShape {
    let own = |node: &Node| {
        let side = if vanished(node) { Side::Old } else { Side::New };
        // Below 2^41: a part of the whole.
        (difference.per_unit(side, node.self_weight.on(side)) / whole * PARTS).round() as u64
    };
    let mut width: Vec<u64> = difference.nodes.iter().map(own).collect();
    for (at, node) in difference.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            width[parent.0 as usize] = width[parent.0 as usize].saturating_add(width[at]);
        }
    }
    let children = |node: &Node| node.children.iter().map(|child| child.0).collect();
    TreeShape { children: difference.nodes.iter().map(children).collect(), width }
}

fn rectangle(difference: &Difference, whole: f64, placed: &PlacedBox) -> Rectangle {
    let (depth, start, width) = (placed.depth, placed.start, placed.width);
    let BoxContent::Node(id) = placed.content else {
        let detail = "callees too narrow to draw".to_owned();
        return Rectangle { depth, start, width, name: "…".into(), detail, fill: "#d5d6da".into(), hatched: false };
    };
    let node = difference.node(NodeId(id));
    let function = difference.function(node.function);
    let change = difference.change(node.total);
    let values = [Side::Old, Side::New].map(|side| difference.per_unit(side, node.total.on(side)));
    let per = if difference.unit == Unit::PerRequest { " per request" } else { "" };
    let mut detail = format!("{} → {}{per}", value(difference, values[0]), value(difference, values[1]));
    match (node.total.old, node.total.new) {
        (0, _) => detail.push_str(", new"),
        (_, 0) => detail.push_str(", vanished"),
        _ => detail.push_str(&format!(", {:+.1} %", change / values[0] * 100.0)),
    }
    // The shares of samples show how far a change can be trusted.
    let part = |side: Side| share(node.total.on(side), difference.input(side).total);
    detail.push_str(&format!(", {} and {} of each whole", part(Side::Old), part(Side::New)));
    if !function.module.is_empty() {
        detail.push_str(&format!(" · {}", clean(&function.module)));
    }
    let fill = colour::of_change(change / whole / FULL_COLOUR);
    Rectangle { depth, start, width, name: clean(&function.name), detail, fill, hatched: vanished(node) }
}
