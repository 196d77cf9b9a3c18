//! Flame graphs: one static SVG for documents and reports, and one HTML page to work with.
//!
//! Both are a single file without any reference to the outside, so that a profile can be sent by
//! mail and opened offline. The drawing is our own: the known generator in Rust is under the CDDL,
//! and neither it nor its model draws Lua beside C, per request values or the health of a profile.
//!
//! Names come from other people's binaries and scripts. They are treated as hostile: see `text`.

mod colour;
mod data;
mod html;
mod shape;
mod svg;
pub(crate) mod text;

pub use html::{html, html_diff};
pub use svg::{svg, svg_diff};

use self::colour::{INKS, Ink};

/// What is drawn, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphOptions {
    /// The heading; without it what the profile calls itself.
    pub title: Option<String>,
    /// From leaves to roots: callers stand on the functions that they call.
    pub reverse: bool,
    /// The root is at the top.
    pub icicle: bool,
    /// Each line of a function is a box of its own.
    pub lines: bool,
    /// Width of an SVG in pixels.
    pub width: u32,
    /// Boxes narrower than this many pixels of an SVG are drawn as one grey `…` per caller.
    pub min_width: f64,
    /// Most boxes in an SVG; the lightest beyond are merged like those that are too narrow.
    pub max_boxes: usize,
    /// Most nodes in a page.
    pub max_nodes: usize,
}

impl GraphOptions {
    /// About 4 MiB of SVG, which viewers open at once.
    pub const MAX_BOXES: usize = 20_000;
    /// What the page lays out within a blink; 30 MiB of data at most.
    pub const MAX_NODES: usize = 400_000;
    /// A box below this many pixels is invisible at any zoom that a printed graph has.
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
