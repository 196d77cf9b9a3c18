//! Lines of a multipart body as slices of it; ModSecurity copies them to a buffer.

use bumpalo::Bump;
use bumpalo::collections::Vec;

/// `MULTIPART_BUF_SIZE`: longer lines are read in pieces, or rejected in headers.
pub(super) const LINE_BYTES: usize = 4096;

/// A line, or a piece of a long one.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// With its line end.
    pub bytes: &'a [u8],
    /// Offset in the body.
    pub begin: usize,
    pub begin_of_line: bool,
    /// Whether it filled the buffer.
    pub full: bool,
}

impl<'a> Line<'a> {
    /// The line as C sees it: up to the first NUL.
    pub fn text(&self) -> &'a [u8] {
        &self.bytes[..memchr::memchr(0, self.bytes).unwrap_or(self.bytes.len())]
    }
}

/// `content` without its last line end.
pub(super) fn without_line_end(content: &[u8]) -> &[u8] {
    let Some(line) = content.strip_suffix(b"\n") else { return content };
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Joins lines as v3 does, without the line ends between them.
pub(super) fn without_line_ends<'a>(arena: &'a Bump, value: &'a [u8]) -> &'a [u8] {
    if memchr::memchr(b'\n', value).is_none() {
        return value;
    }
    let mut out = Vec::with_capacity_in(value.len(), arena);
    let mut lines = value.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let ended = lines.peek().is_some();
        out.extend_from_slice_copy(if ended { line.strip_suffix(b"\r").unwrap_or(line) } else { line });
    }
    out.into_bump_slice()
}
