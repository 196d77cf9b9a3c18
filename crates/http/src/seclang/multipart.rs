//! Multipart bodies, as `request_body_processor/multipart.cc` reads them.
//!
//! ModSecurity uses a state machine over lines in a buffer of 4096 bytes, with a flag for each
//! liberty that applications take; rules judge by the flags. [`crate::multipart`] shows anything
//! that some server might take for a part, this module what ModSecurity finds, so they share no
//! code. Lines here are slices of the body, and one search finds the delimiter for all of them.

mod boundary;
mod disposition;
mod flags;
mod line;
mod part;

use bumpalo::Bump;
use bumpalo::collections::Vec;
use memchr::memmem::Finder;

pub use flags::MultipartFlags;
use line::{LINE_BYTES, Line, without_line_end, without_line_ends};
use part::{Part, PartState};

use super::{Gaps, concat, is_space, number};
use crate::bound::{Extent, MAX_ITEMS};
use crate::{Anomalies, Pair};

/// The contents of a multipart body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form<'a> {
    pub fields: &'a [Pair<'a>],
    /// Field name and file name.
    pub files: &'a [Pair<'a>],
    /// Field name and size in bytes, decimal.
    pub file_sizes: &'a [Pair<'a>],
    /// Field name and content.
    pub file_contents: &'a [Pair<'a>],
    /// Sum of the sizes, bytes.
    pub file_bytes: usize,
    /// `MULTIPART_NAME`: name and value are the same.
    pub names: &'a [Pair<'a>],
    /// `MULTIPART_FILENAME`: name and value are the same.
    pub file_names: &'a [Pair<'a>],
    /// `MULTIPART_PART_HEADERS`: part name and header line.
    pub headers: &'a [Pair<'a>],
    pub flags: MultipartFlags,
    /// `MULTIPART_UNMATCHED_BOUNDARY`: 0, 1, or 2 if only matched ones followed.
    pub unmatched_boundary: u8,
    /// Bytes of part headers and fields.
    pub no_files_bytes: usize,
    pub error: Option<&'a [u8]>,
    pub found: Anomalies,
}

/// Reads `body`, whose `Content-Type` is `header`. A body that was cut at the limit keeps what was
/// read; other bodies without the final boundary have no fields and files, as in v3.
pub(super) fn parse<'a>(arena: &'a Bump, body: &'a [u8], header: &'a [u8], extent: Extent, gaps: Gaps) -> Form<'a> {
    let mut flags = MultipartFlags::empty();
    let mut error = None;
    match boundary::parse(header, &mut flags) {
        Ok(b"") if gaps == Gaps::AsInModSecurity => {}
        Ok(b"") => {
            flags |= MultipartFlags::ERROR;
            error = Some("Multipart: Invalid boundary in C-T (empty).");
        }
        Ok(boundary) => return Reader::new(arena, body, boundary, flags, gaps).form(extent),
        Err(fault) => error = Some(fault),
    }
    Form { flags: flags.concluded(), error: error.map(str::as_bytes), ..Form::default() }
}

/// Parsing has stopped before the end of the body.
struct EarlyEnd;

struct Reader<'a> {
    arena: &'a Bump,
    body: &'a [u8],
    gaps: Gaps,
    delimiter: Finder<'a>,
    /// The next occurrence of the delimiter, as far as searched.
    next_delimiter: usize,
    flags: MultipartFlags,
    unmatched_boundary: u8,
    boundaries: usize,
    complete: bool,
    part: Option<Part<'a>>,
    /// Whether the content of the current part has begun.
    content_read: bool,
    fields: Vec<'a, Pair<'a>>,
    files: Vec<'a, Pair<'a>>,
    contents: Vec<'a, Pair<'a>>,
    names: Vec<'a, Pair<'a>>,
    file_names: Vec<'a, Pair<'a>>,
    headers: Vec<'a, Pair<'a>>,
    no_files_bytes: usize,
    error: Option<&'a [u8]>,
    found: Anomalies,
}

impl<'a> Reader<'a> {
    fn new(arena: &'a Bump, body: &'a [u8], boundary: &'a [u8], flags: MultipartFlags, gaps: Gaps) -> Self {
        let delimiter = Finder::new(concat(arena, &[b"--", boundary]));
        Self {
            arena,
            body,
            gaps,
            next_delimiter: delimiter.find(body).unwrap_or(usize::MAX),
            delimiter,
            flags,
            unmatched_boundary: 0,
            boundaries: 0,
            complete: false,
            part: None,
            content_read: false,
            fields: Vec::new_in(arena),
            files: Vec::new_in(arena),
            contents: Vec::new_in(arena),
            names: Vec::new_in(arena),
            file_names: Vec::new_in(arena),
            headers: Vec::new_in(arena),
            no_files_bytes: 0,
            error: None,
            found: Anomalies::empty(),
        }
    }

    fn form(mut self, extent: Extent) -> Form<'a> {
        let tail = self.lines();
        let mut flags = self.flags.concluded();
        if !self.complete && !self.body.is_empty() {
            self.last_line(tail, &mut flags);
        }
        if !self.complete && !self.body.is_empty() {
            if extent == Extent::Beginning {
                if let Some(tail) = tail {
                    self.content_to(tail.begin, self.body.len());
                }
                self.end_part();
            } else {
                (self.fields, self.files) = (Vec::new_in(self.arena), Vec::new_in(self.arena));
                self.contents = Vec::new_in(self.arena);
            }
            self.error = Some(match self.boundaries {
                0 => b"Multipart: No boundaries found in payload.",
                _ => b"Multipart: Final boundary missing.",
            });
        }
        self.finish(flags)
    }

    fn finish(self, flags: MultipartFlags) -> Form<'a> {
        let mut sizes = Vec::with_capacity_in(self.contents.len(), self.arena);
        let size = |file: &Pair<'a>| Pair { name: file.name, value: number(self.arena, file.value.len()) };
        sizes.extend(self.contents.iter().map(size));
        Form {
            fields: self.fields.into_bump_slice(),
            files: self.files.into_bump_slice(),
            file_sizes: sizes.into_bump_slice(),
            file_bytes: self.contents.iter().map(|file| file.value.len()).sum(),
            file_contents: self.contents.into_bump_slice(),
            names: self.names.into_bump_slice(),
            file_names: self.file_names.into_bump_slice(),
            headers: self.headers.into_bump_slice(),
            flags,
            unmatched_boundary: self.unmatched_boundary,
            no_files_bytes: self.no_files_bytes,
            error: self.error,
            found: self.found,
        }
    }

    /// Reads all lines, up to the final boundary; returns a last line without line end.
    fn lines(&mut self) -> Option<Line<'a>> {
        let mut at = 0;
        let mut whole = true; // the last piece ended its line
        loop {
            let window = &self.body[at..self.body.len().min(at + LINE_BYTES)];
            let newline = memchr::memchr(b'\n', window);
            let length = match newline {
                Some(newline) => newline + 1,
                None if window.len() < LINE_BYTES => {
                    let begin_of_line = whole;
                    return (!window.is_empty()).then_some(Line {
                        bytes: window,
                        begin: at,
                        begin_of_line,
                        full: false,
                    });
                }
                // A CR may belong to the LF after it.
                None => LINE_BYTES - usize::from(window.ends_with(b"\r")),
            };
            let full = newline.is_none() || length == LINE_BYTES;
            let line = Line { bytes: &window[..length], begin: at, begin_of_line: whole, full };
            self.line(&line).ok()?;
            at += length;
            if self.complete {
                if at < self.body.len() {
                    self.flags |= MultipartFlags::DATA_AFTER;
                }
                return None;
            }
            whole = newline.is_some();
        }
    }

    fn line(&mut self, line: &Line<'a>) -> Result<(), EarlyEnd> {
        if line.begin_of_line && line.bytes.starts_with(b"--") && line.text().len() > 3 {
            if line.text().starts_with(self.delimiter.needle()) {
                if self.boundary(line)? {
                    return Ok(());
                }
            } else {
                self.near_boundary(line)?;
            }
        } else if line.begin_of_line && self.has_delimiter(line) {
            self.unmatched_boundary = 1;
        }
        let Some(part) = &mut self.part else {
            self.flags |= MultipartFlags::DATA_BEFORE;
            return Ok(());
        };
        if part.state == PartState::Content {
            self.content_to(line.begin, line.begin + line.bytes.len());
            return Ok(());
        }
        if line.full {
            self.flags |= MultipartFlags::ERROR;
            return Err(EarlyEnd);
        }
        if !line.bytes.contains(&0) {
            self.no_files_bytes += line.bytes.len();
        }
        let names = (part.disposition.names.len(), part.disposition.file_names.len());
        let result = part.header_line(line.bytes, &mut self.flags);
        if part.state == PartState::Content {
            self.content_read = false;
        }
        let disposition = &part.disposition;
        let same = |name: &&'a [u8]| Pair { name, value: name };
        extend(&mut self.names, disposition.names[names.0..].iter().map(same), &mut self.found);
        extend(&mut self.file_names, disposition.file_names[names.1..].iter().map(same), &mut self.found);
        if let Err(fault) = result {
            self.error = Some(fault);
        }
        Ok(())
    }

    /// Handles a line that begins with the delimiter; returns whether it is a boundary.
    fn boundary(&mut self, line: &Line<'a>) -> Result<bool, EarlyEnd> {
        if self.follows_bare_lf(line.begin) {
            self.flags |= MultipartFlags::LF_LINE;
        }
        if !self.content_read && self.boundaries > 0 {
            self.flags |= MultipartFlags::INVALID_PART;
            return Ok(false);
        }
        if self.boundaries > 0 {
            self.unmatched_boundary = 2;
        }
        let rest = &line.text()[self.delimiter.needle().len()..];
        let (last, rest) = rest.strip_prefix(b"--").map_or((false, rest), |rest| (true, rest));
        self.flags |= match rest {
            b"\r\n" => MultipartFlags::CRLF_LINE,
            b"\n" => MultipartFlags::LF_LINE,
            _ => {
                self.flags |= MultipartFlags::ERROR;
                return Err(EarlyEnd);
            }
        };
        self.end_part();
        if last {
            self.complete = true;
        } else {
            self.part = Some(Part::new(self.arena, self.gaps));
            self.content_read = false;
        }
        self.boundaries += 1;
        Ok(true)
    }

    /// Handles a line that begins with two hyphens followed by something else than the boundary.
    fn near_boundary(&mut self, line: &Line<'a>) -> Result<(), EarlyEnd> {
        let after = &line.text()[2..];
        let boundary = &self.delimiter.needle()[2..];
        let quoted = self.flags.contains(MultipartFlags::BOUNDARY_QUOTED)
            && after.strip_prefix(b"\"").is_some_and(|inner| inner.starts_with(boundary));
        let spaces = after.iter().take_while(|byte| is_space(**byte)).count();
        if quoted || (spaces > 0 && after[spaces..].starts_with(boundary)) {
            self.flags |= MultipartFlags::ERROR;
            return Err(EarlyEnd);
        }
        self.unmatched_boundary = 1;
        Ok(())
    }

    /// Whether the delimiter is anywhere in `line`.
    fn has_delimiter(&mut self, line: &Line<'a>) -> bool {
        if self.next_delimiter < line.begin {
            let next = self.delimiter.find(&self.body[line.begin..]);
            self.next_delimiter = next.map_or(usize::MAX, |offset| line.begin + offset);
        }
        self.next_delimiter
            .checked_add(self.delimiter.needle().len())
            .is_some_and(|end| end <= line.begin + line.bytes.len())
    }

    fn follows_bare_lf(&self, at: usize) -> bool {
        self.body[..at].ends_with(b"\n") && !self.body[..at].ends_with(b"\r\n")
    }

    /// Extends the content of the current part from `begin` to `end`.
    fn content_to(&mut self, begin: usize, end: usize) {
        if let Some(part) = self.part.as_mut().filter(|part| part.state == PartState::Content) {
            self.content_read = true;
            part.content.get_or_insert((begin, end)).1 = end;
        }
    }

    /// Handles an unterminated line at the end of the body, which may be the final boundary.
    fn last_line(&mut self, tail: Option<Line<'a>>, flags: &mut MultipartFlags) {
        let Some(tail) = tail.filter(|tail| tail.begin_of_line && self.boundaries > 0) else { return };
        if tail.bytes.strip_prefix(self.delimiter.needle()) != Some(b"--") {
            return;
        }
        if self.follows_bare_lf(tail.begin) && !flags.contains(MultipartFlags::LF_LINE) {
            *flags |= MultipartFlags::LF_LINE;
            *flags = flags.concluded();
        }
        if !self.content_read && !flags.contains(MultipartFlags::INVALID_PART) {
            *flags |= MultipartFlags::INVALID_PART | MultipartFlags::STRICT_ERROR;
        }
        self.end_part();
        self.complete = true;
    }

    /// Adds the current part to fields or files.
    fn end_part(&mut self) {
        let Some(part) = self.part.take() else { return };
        let name = part.disposition.name;
        extend(&mut self.headers, part.lines.iter().map(|line| Pair { name, value: line }), &mut self.found);
        let content = part.content.map_or(&[][..], |(begin, end)| &self.body[begin..end]);
        let value = without_line_end(content);
        if !part.is_file {
            self.no_files_bytes += value.len();
        }
        if name.is_empty() {
            self.flags |= MultipartFlags::INVALID_PART;
        } else if self.fields.len() + self.files.len() == MAX_ITEMS {
            self.found |= Anomalies::TOO_MANY_ITEMS;
        } else if part.is_file {
            self.files.push(Pair { name, value: part.disposition.file_name });
            self.contents.push(Pair { name, value });
        } else {
            let value = if self.gaps == Gaps::Closed { value } else { without_line_ends(self.arena, value) };
            self.fields.push(Pair { name, value });
        }
    }
}

/// Adds `items` to `list`, within the limit.
fn extend<'a>(list: &mut Vec<'a, Pair<'a>>, items: impl ExactSizeIterator<Item = Pair<'a>>, found: &mut Anomalies) {
    let room = MAX_ITEMS - list.len();
    if items.len() > room {
        *found |= Anomalies::TOO_MANY_ITEMS;
    }
    list.extend(items.take(room));
}

#[cfg(test)]
mod tests;
