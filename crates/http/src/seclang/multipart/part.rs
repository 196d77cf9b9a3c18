//! The part of a multipart body being read: its header fields, then its content.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::MultipartFlags;
use super::disposition::{self, Disposition};
use super::line::LINE_BYTES;
use crate::seclang::{Gaps, concat, is_space};

/// Maximum number of header fields of a part; more are an error. Browsers send two or three, and
/// every new one is compared with the earlier ones.
const MAX_FIELDS: usize = 64;

/// Maximum number of attempts to parse the `Content-Disposition` of a part. After a failure v3
/// tries again at every blank line, so that a body of blank lines costs 4096 times its length.
const MAX_ATTEMPTS: u8 = 8;

/// A header field.
struct Field<'a> {
    name: &'a [u8],
    /// The value without line end.
    value: &'a [u8],
    /// The value with the folded lines added to it.
    folded: Option<Vec<'a, u8>>,
}

impl Field<'_> {
    fn value(&self) -> &[u8] {
        self.folded.as_ref().map_or(self.value, |folded| folded)
    }
}

/// The reader's state within a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartState {
    Header,
    Content,
}

/// An error in a part's header. v3 continues after most of them.
pub(super) type Fault<'a> = &'a [u8];

pub(super) struct Part<'a> {
    arena: &'a Bump,
    gaps: Gaps,
    pub state: PartState,
    pub disposition: Disposition<'a>,
    pub is_file: bool,
    /// Start and end of the content in the body, line ends included; none before it begins.
    pub content: Option<(usize, usize)>,
    /// Complete header lines, as in `MULTIPART_PART_HEADERS`.
    pub lines: Vec<'a, &'a [u8]>,
    /// A header line that may be continued: as written, or folded (then of the last field).
    line: Option<Line<'a>>,
    fields: Vec<'a, Field<'a>>,
    /// Index of the field that a folded line continues.
    last: Option<usize>,
    attempts: u8,
}

#[derive(Clone, Copy)]
enum Line<'a> {
    Written(&'a [u8]),
    Folded(usize),
}

impl<'a> Part<'a> {
    pub fn new(arena: &'a Bump, gaps: Gaps) -> Self {
        let disposition =
            Disposition { name: b"", file_name: b"", names: Vec::new_in(arena), file_names: Vec::new_in(arena) };
        Self {
            arena,
            gaps,
            state: PartState::Header,
            disposition,
            is_file: false,
            content: None,
            lines: Vec::new_in(arena),
            line: None,
            fields: Vec::with_capacity_in(4, arena),
            last: None,
            attempts: 0,
        }
    }

    /// Takes a line of the header, line end included.
    pub fn header_line(&mut self, line: &'a [u8], flags: &mut MultipartFlags) -> Result<(), Fault<'a>> {
        if line.contains(&0) {
            return Err(b"Multipart: Nul byte in part headers.");
        }
        *flags |= if line.ends_with(b"\r\n") { MultipartFlags::CRLF_LINE } else { MultipartFlags::LF_LINE };
        if matches!(line, b"\r\n" | b"\n") {
            self.finish_line();
            self.end_of_header(flags)
        } else if is_space(line[0]) {
            self.folded_line(line, flags)
        } else {
            self.field(line)
        }
    }

    /// Completes the previous line.
    fn finish_line(&mut self) {
        match self.line.take() {
            Some(Line::Written(line)) => self.lines.push(line),
            Some(Line::Folded(index)) => {
                let field = &self.fields[index];
                self.lines.push(concat(self.arena, &[field.name, b": ", field.value()]));
            }
            None => {}
        }
    }

    fn end_of_header(&mut self, flags: &mut MultipartFlags) -> Result<(), Fault<'a>> {
        let Some(field) = self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(b"content-disposition"))
        else {
            return Err(b"Multipart: Part missing Content-Disposition header.");
        };
        if self.attempts == MAX_ATTEMPTS {
            return Err(b"Multipart: Invalid Content-Disposition header.");
        }
        self.attempts += 1;
        let value = if field.folded.is_some() { concat(self.arena, &[field.value()]) } else { field.value };
        if let Err(number) = disposition::parse(self.arena, value, &mut self.disposition, flags, self.gaps) {
            let number = bumpalo::format!(in self.arena, "{}", number).into_bump_str();
            let parts = [b"Multipart: Invalid Content-Disposition header (", number.as_bytes(), b"): ", value];
            return Err(concat(self.arena, &parts));
        }
        if self.disposition.name.is_empty() {
            return Err(b"Multipart: Content-Disposition header missing name field.");
        }
        self.is_file = !self.disposition.file_name.is_empty();
        if self.is_file && memchr::memmem::find(value, b"filename=").is_none() {
            self.is_file = false;
            return Err(b"Multipart: Invalid Content-Disposition header (filename).");
        }
        self.state = PartState::Content;
        Ok(())
    }

    fn folded_line(&mut self, line: &'a [u8], flags: &mut MultipartFlags) -> Result<(), Fault<'a>> {
        *flags |= MultipartFlags::HEADER_FOLDING;
        let blanks = line.iter().take_while(|byte| is_space(**byte)).count();
        if line[..blanks].iter().any(|byte| !matches!(byte, b' ' | b'\t')) {
            *flags |= MultipartFlags::INVALID_HEADER_FOLDING;
        }
        let Some(index) = self.last else { return Err(b"Multipart: Invalid part header (folding error).") };
        let field = &mut self.fields[index];
        if field.value().len() > LINE_BYTES {
            return Err(TOO_LONG); // already: v3 lets it grow
        }
        let folded = field.folded.get_or_insert_with(|| {
            let mut copy = Vec::with_capacity_in(field.value.len() + line.len(), self.arena);
            copy.extend_from_slice_copy(field.value);
            copy
        });
        folded.push(b' ');
        folded.extend_from_slice_copy(chomp(&line[blanks..]));
        if folded.len() > LINE_BYTES {
            return Err(TOO_LONG);
        }
        self.line = Some(Line::Folded(index));
        Ok(())
    }

    fn field(&mut self, line: &'a [u8]) -> Result<(), Fault<'a>> {
        self.finish_line();
        let Some(colon) = memchr::memchr(b':', line) else {
            return Err(concat(self.arena, &[b"Multipart: Invalid part header (colon missing): ", line]));
        };
        let name = &line[..colon];
        if name.is_empty() {
            return Err(b"Multipart: Invalid part header (header name missing).");
        }
        let mut value = &line[colon + 1..];
        while let [b' ' | b'\t', rest @ ..] = value {
            value = rest;
        }
        if self.fields.len() == MAX_FIELDS {
            return Err(b"Multipart: Too many part headers.");
        }
        if self.fields.iter().any(|field| field.name.eq_ignore_ascii_case(name)) {
            return match self.gaps {
                Gaps::Closed => Err(concat(self.arena, &[b"Multipart: Duplicate part header: ", name, b"."])),
                Gaps::AsInModSecurity => Ok(()),
            };
        }
        self.last = Some(self.fields.len());
        self.fields.push(Field { name, value: chomp(value), folded: None });
        self.line = Some(Line::Written(line));
        Ok(())
    }
}

const TOO_LONG: &[u8] = b"Multipart: Part header too long.";

/// Without the line end, unless there is nothing else.
fn chomp(text: &[u8]) -> &[u8] {
    match text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')) {
        Some(last) => &text[..=last],
        None => text,
    }
}
