//! The text of a file that people wrote, and where in it a byte lies.
//!
//! Everything after parsing refers to places by byte offset, which costs nothing to carry; only
//! an error turns it into line and column, counted from 1 and in characters, as editors do.

use std::cell::OnceCell;
use std::rc::Rc;

use weir_gateway::resource::{Document, ResourceKind};

use crate::document::Node;
use crate::error::DocumentPosition;
use crate::pointer;

/// A file's name and text.
#[derive(Debug)]
pub struct Source {
    /// Name for messages, as the user gave it.
    pub file: String,
    /// Of a document of a gateway: its kind and id.
    pub document: Option<(ResourceKind, String)>,
    /// Its tree once it is parsed, for pointers.
    pub(crate) root: OnceCell<Rc<Node>>,
    /// The whole text, without a byte order mark.
    pub text: String,
    /// Byte offset of the first byte of each line.
    lines: Vec<usize>,
    /// Byte offset of every [`STRIDE`]-th character; empty if all are ASCII.
    characters: Vec<usize>,
}

/// What messages call a document.
pub(crate) fn file_of(kind: ResourceKind, id: &str) -> String {
    let separator = if id.is_empty() { "" } else { "/" };
    format!("{}{separator}{id}.json", kind.plural())
}

/// Distance of the characters whose offsets are kept: a look-up walks at most so many.
const STRIDE: usize = 256;

/// A place, counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// How much of a long line an excerpt shows, in characters: what fits a terminal.
const EXCERPT_CHARS: usize = 110;
/// How many of them are before the place.
const EXCERPT_BEFORE: usize = 70;

impl Source {
    /// Takes a file's text. Lines end with `\n`, `\r\n` or `\r`, as YAML has it.
    pub fn new(file: String, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let bytes = text.as_bytes();
        let mut lines = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends_line = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if ends_line {
                lines.push(at + 1);
            }
        }
        let characters = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().step_by(STRIDE).map(|(at, _)| at).collect(),
        };
        Self { file, document: None, root: OnceCell::new(), text, lines, characters }
    }

    /// A document of a gateway: JSON, called `policies/demo.json` in messages.
    #[must_use]
    pub fn of_document(kind: ResourceKind, document: &Document) -> Self {
        let file = file_of(kind, &document.id);
        Self { document: Some((kind, document.id.clone())), ..Self::new(file, &document.json) }
    }

    /// Where a byte of a document is.
    pub(crate) fn document_position(&self, offset: usize) -> Option<DocumentPosition> {
        let (kind, id) = self.document.clone()?;
        let pointer = self.root.get().map_or_else(String::new, |root| pointer::of(root, offset));
        Some(DocumentPosition { kind, id, pointer })
    }

    /// Line and column of a byte offset; past the end it is the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.floor(offset);
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let column = self.text[self.lines[line]..offset].chars().count() + 1;
        Position { line: line as u32 + 1, column: column as u32 }
    }

    /// Byte offset of a character, counted from 0.
    pub fn offset(&self, character: usize) -> usize {
        if self.characters.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.characters.get(character / STRIDE) else { return self.text.len() };
        let rest = &self.text[*start..];
        rest.char_indices().nth(character % STRIDE).map_or(self.text.len(), |(at, _)| start + at)
    }

    /// Byte offset of a line and column, both from 1; past the end it is the end.
    pub fn offset_of(&self, line: u32, column: u32) -> usize {
        let Some(start) = self.lines.get((line as usize).saturating_sub(1)) else { return self.text.len() };
        let rest = &self.text[*start..];
        let before = (column as usize).saturating_sub(1);
        rest.char_indices().nth(before).map_or(self.text.len(), |(at, _)| start + at)
    }

    /// The whole line at `offset`.
    pub fn line_at(&self, offset: usize) -> &str {
        let line = self.position(offset).line as usize;
        self.text[self.lines[line - 1]..].split(['\n', '\r']).next().unwrap_or_default()
    }

    /// The line at `offset` with its number, and a caret below the place.
    pub fn excerpt(&self, offset: usize) -> String {
        let offset = self.floor(offset);
        let Position { line, column } = self.position(offset);
        let text = self.line_at(offset);
        let skip = (column as usize - 1).saturating_sub(EXCERPT_BEFORE);
        let shown: String = text.chars().skip(skip).take(EXCERPT_CHARS).map(printable).collect();
        let pad: String =
            shown.chars().take(column as usize - 1 - skip).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let (before, margin) = (if skip > 0 { "…" } else { "" }, if skip > 0 { " " } else { "" });
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        format!("  {number} | {before}{}\n  {gutter} | {margin}{pad}^", shown.trim_end())
    }

    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// A terminal must not obey what a broken file contains.
fn printable(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_know_all_line_ends() {
        let source = Source::new("f".into(), "aé\r\nb\rc\n");
        for (offset, line, column) in [(0, 1, 1), (3, 1, 3), (5, 2, 1), (6, 2, 2), (7, 3, 1), (9, 4, 1), (99, 4, 1)] {
            assert_eq!(source.position(offset), Position { line, column }, "{offset}");
        }
        assert_eq!(source.offset(2), 3);
        assert_eq!(source.offset(99), source.text.len());
        assert_eq!(source.line_at(6), "b");
    }

    #[test]
    fn excerpts_point_below_the_place_and_stay_short() {
        let source = Source::new("f".into(), "\ta: b");
        assert_eq!(source.excerpt(4), "  1 | \ta: b\n    | \t   ^");
        let long = Source::new("f".into(), &format!("{}X{}", "a".repeat(500), "b".repeat(500)));
        let excerpt = long.excerpt(500);
        let lines: Vec<&str> = excerpt.lines().collect();
        let caret = lines[1].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[0].chars().nth(caret), Some('X'));
        assert!(lines[0].chars().count() < 130);
    }
}
