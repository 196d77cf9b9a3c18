//! Writes the SVG. Colours and positions are attributes and not style sheets, so that viewers
//! without CSS and scripts draw the same picture; the script adds zoom and search in browsers.

use std::fmt::Write as _;

use crate::graph::text::{clean, escape, fit};

const SCRIPT: &str = include_str!("../assets/svg.js");
const STYLE: &str = include_str!("../assets/svg.css");

/// Height of a row, in pixels.
const ROW: u64 = 18;
/// Margin left and right of the boxes.
const MARGIN: u64 = 10;
/// Height of title, subtitle and buttons above the boxes.
const HEAD: u64 = 64;
/// Height of details and legend below the boxes.
const FOOT: u64 = 58;
/// Columns of text per pixel: the advance of a monospaced font of 12 px, with a small reserve.
const COLUMNS_PER_PIXEL: f64 = 1.0 / 7.3;
/// Minimum width at which the buttons fit.
const MIN_WIDTH: u32 = 480;

/// A box to paint; `start` and `width` are in the unit of [`Drawing::whole`].
pub(in crate::graph) struct Rectangle {
    pub depth: u32,
    pub start: u64,
    pub width: u64,
    pub name: String,
    pub detail: String,
    pub fill: String,
    pub hatched: bool,
}

/// A picture.
pub(in crate::graph) struct Drawing {
    pub title: String,
    pub subtitle: String,
    /// The weight of the full width.
    pub whole: u64,
    pub rectangles: Vec<Rectangle>,
    /// Titles of colours.
    pub legend: Vec<(String, String)>,
    pub icicle: bool,
    pub width: u32,
}

impl Drawing {
    pub fn paint(&self) -> String {
        let rows = self.rectangles.iter().map(|one| u64::from(one.depth) + 1).max().unwrap_or(1);
        let width = u64::from(self.width.max(MIN_WIDTH));
        let height = HEAD + rows * ROW + FOOT;
        let mut out = String::with_capacity(self.rectangles.len() * 300 + 16_384);
        self.head(&mut out, width, height, rows);
        let scale = (width - 2 * MARGIN) as f64 / self.whole.max(1) as f64;
        for rectangle in &self.rectangles {
            let row = if self.icicle { u64::from(rectangle.depth) } else { rows - 1 - u64::from(rectangle.depth) };
            paint(&mut out, rectangle, scale, HEAD + row * ROW);
        }
        out.push_str("</g>\n");
        self.foot(&mut out, height);
        out
    }

    fn head(&self, out: &mut String, width: u64, height: u64, rows: u64) {
        let (title, subtitle) = (escape(&clean(&self.title)), escape(&clean(&self.subtitle)));
        let icicle = u8::from(self.icicle);
        let _ = write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title\" \
             font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"12\" fill=\"#1c1d21\" \
             data-head=\"{HEAD}\" data-row=\"{ROW}\" data-rows=\"{rows}\" data-margin=\"{MARGIN}\" data-icicle=\"{icicle}\">\n\
             <defs>{HATCHING}</defs>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text id=\"title\" x=\"{MARGIN}\" y=\"24\" font-size=\"16\" font-weight=\"600\" font-family=\"{SANS}\">{title}</text>\n\
             <text x=\"{MARGIN}\" y=\"44\" fill=\"#6a6d78\" font-family=\"{SANS}\">{subtitle}</text>\n\
             <g id=\"buttons\" font-family=\"{SANS}\"></g>\n<g id=\"boxes\">\n"
        );
    }

    fn foot(&self, out: &mut String, height: u64) {
        let _ = writeln!(out, "<text id=\"detail\" x=\"{MARGIN}\" y=\"{}\"> </text>", height - FOOT + 22);
        let mut x = MARGIN;
        let _ = write!(out, "<g id=\"legend\" font-family=\"{SANS}\" font-size=\"11\" fill=\"#6a6d78\">");
        for (title, fill) in &self.legend {
            let (top, base) = (height - 22, height - 12);
            let _ = write!(
                out,
                "<rect x=\"{x}\" y=\"{top}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{fill}\" stroke=\"#00000022\"/>\
                 <text x=\"{}\" y=\"{base}\">{}</text>",
                x + 17,
                escape(title)
            );
            x += 17 + 7 * title.chars().count() as u64 + 20;
        }
        let _ = write!(out, "</g>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n");
    }
}

/// The font of all text except names.
const SANS: &str = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

/// Vanished functions are visible, but have no colour.
const HATCHING: &str = "<pattern id=\"vanished\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
    patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#ffffff\"/>\
    <rect width=\"2\" height=\"7\" fill=\"#b9c3d6\"/></pattern>";

fn paint(out: &mut String, rectangle: &Rectangle, scale: f64, y: u64) {
    let x = MARGIN as f64 + rectangle.start as f64 * scale;
    let width = rectangle.width as f64 * scale;
    // A small gap between neighbours, if there is room.
    let drawn = if width > 2.0 { width - 0.6 } else { width };
    let columns = (width - 6.0).max(0.0) * COLUMNS_PER_PIXEL;
    // Truncates on purpose: part of a column is useless.
    let text = escape(&fit(&rectangle.name, columns as usize));
    let (name, detail, height, base) = (escape(&rectangle.name), escape(&rectangle.detail), ROW - 1, y + 13);
    let (fill, stroke) = if rectangle.hatched {
        ("url(#vanished)", " stroke=\"#b9c3d6\" stroke-width=\"0.5\"")
    } else {
        (rectangle.fill.as_str(), "")
    };
    let _ = writeln!(
        out,
        "<g><title>{name}\n{detail}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{drawn:.2}\" height=\"{height}\" rx=\"1.5\" \
         fill=\"{fill}\"{stroke}/><text x=\"{:.2}\" y=\"{base}\">{text}</text></g>",
        x + 3.0
    );
}
