//! Flame graphs: a static SVG for documents and reports, and an interactive HTML page.
//!
//! Both are a single file without external references, so that a profile can be sent by mail and opened offline. The
//! drawing code is Weir's own: the well-known generator in Rust is under the CDDL, and neither it nor its model
//! supports Lua beside C, values per request or the health of a profile.
//!
//! Names come from untrusted binaries and scripts and are treated as hostile: see `text`.

mod colour;
mod data;
mod html;
mod shape;
mod svg;
pub(crate) mod text;

pub use html::{html, html_diff};
pub use svg::{svg, svg_diff};

use self::colour::{INKS, Ink};

/// Options of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphOptions {
    /// The heading; by default the profile's title.
    pub title: Option<String>,
    /// From leaves to roots: callers are drawn on top of the functions that they call.
    pub reverse: bool,
    /// Whether the root is at the top.
    pub icicle: bool,
    /// Whether each line of a function is a separate box.
    pub lines: bool,
    /// Width of an SVG in pixels.
    pub width: u32,
    /// Boxes narrower than this many pixels of an SVG are merged to one grey `…` per caller.
    pub min_width: f64,
    /// Maximum number of boxes in an SVG; the lightest are merged like those that are too narrow.
    pub max_boxes: usize,
    /// Maximum number of nodes in a page.
    pub max_nodes: usize,
}

impl GraphOptions {
    /// About 4 MiB of SVG, which viewers open at once.
    pub const MAX_BOXES: usize = 20_000;
    /// The page lays them out without noticeable delay; 30 MiB of data at most.
    pub const MAX_NODES: usize = 400_000;
    /// A narrower box is invisible at any zoom level of a printed graph.
    pub const MIN_WIDTH: f64 = 0.1;
    /// Fits a laptop's window and a page of documentation.
    pub const WIDTH: u32 = 1200;
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            title: None,
            reverse: false,
            icicle: false,
            lines: false,
            width: Self::WIDTH,
            min_width: Self::MIN_WIDTH,
            max_boxes: Self::MAX_BOXES,
            max_nodes: Self::MAX_NODES,
        }
    }
}

#[cfg(test)]
mod tests;
