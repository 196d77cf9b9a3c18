//! Multipart bodies (RFC 7578, RFC 2046), read so that no server behind Weir sees more than the rules.
//!
//! Servers disagree about everything that is slightly wrong: bare line feeds, text around the
//! parts, folded or repeated header fields. Whatever one of them might take for a part is a part
//! here, and every deviation raises [`Anomalies::INVALID_MULTIPART`] and the flag that SecLang rules
//! know it by. One substring search finds all delimiters; each byte between them is read a bounded
//! number of times.

mod flags;
mod part;

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_ITEMS};
use crate::fault::Faults;
use crate::{Anomalies, Part, text};
pub use flags::MultipartFlags;

const BAD: Anomalies = Anomalies::INVALID_MULTIPART;

/// The contents of a multipart body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form<'a> {
    /// The parts, in order, with borrowed contents.
    pub parts: &'a [Part<'a>],
    /// Liberties that the body takes; those of the `Content-Type` are not included.
    pub flags: MultipartFlags,
}

/// The errors of a body, for both kinds of rules.
struct Findings<'a> {
    arena: &'a Bump,
    body: &'a [u8],
    flags: MultipartFlags,
    faults: Faults,
    /// Whether each part has to be a form field.
    is_form: bool,
    /// Number of header fields in all parts that can still be kept.
    room: usize,
}

impl Findings<'_> {
    /// Records an error at `place`, a slice of the body.
    fn bad(&mut self, flag: MultipartFlags, place: &[u8], reason: &'static str) {
        self.flags |= flag;
        let at = (place.as_ptr() as usize).saturating_sub(self.body.as_ptr() as usize);
        self.faults.add(BAD, at, reason);
    }
}

/// The parts of `body`, in order. Without a boundary there are no parts. A body that was cut ends
/// within its last part, which is then not an anomaly. In a form (`multipart/form-data`), each part
/// has a name.
#[must_use]
pub fn parse<'a>(
    arena: &'a Bump,
    body: &'a [u8],
    boundary: &[u8],
    is_form: bool,
    extent: Extent,
    faults: &mut Faults,
) -> Form<'a> {
    let findings =
        Findings { arena, body, flags: MultipartFlags::empty(), faults: Faults::default(), is_form, room: MAX_ITEMS };
    let mut reader = Reader { findings, parts: Vec::new_in(arena), extent };
    if body.is_empty() {
        // No body, whatever its type.
    } else if boundary.is_empty() || boundary.contains(&b'\n') {
        reader.findings.bad(MultipartFlags::ERROR, &body[..0], "no boundary in Content-Type");
    } else {
        reader.read(body, boundary);
    }
    faults.merge(reader.findings.faults);
    Form { parts: reader.parts.into_bump_slice(), flags: reader.findings.flags }
}

struct Reader<'a> {
    findings: Findings<'a>,
    parts: Vec<'a, Part<'a>>,
    extent: Extent,
}

impl<'a> Reader<'a> {
    fn read(&mut self, body: &'a [u8], boundary: &[u8]) {
        use MultipartFlags as F;
        let mut delimiter = Vec::with_capacity_in(boundary.len() + 2, self.findings.arena);
        delimiter.extend_from_slice_copy(b"--");
        delimiter.extend_from_slice_copy(boundary);
        let finder = memchr::memmem::Finder::new(&delimiter);
        let mut open: Option<usize> = None; // where the current part begins
        let mut closed = false;
        let mut end = 0; // of the last delimiter
        for at in finder.find_iter(body) {
            let Some(line) = Delimiter::at(body, at, delimiter.len(), &mut self.findings) else { continue };
            match open {
                Some(begin) if !self.push(&body[begin..line.begin.max(begin)], true) => return,
                None if !closed && !text::trim(&body[..line.begin]).is_empty() => {
                    self.findings.bad(F::DATA_BEFORE, body, "text before the first part");
                }
                _ => {}
            }
            if closed {
                self.findings.bad(F::DATA_AFTER, &body[at..], "part after the final boundary");
            }
            closed |= line.last;
            open = if line.last { None } else { Some(line.end) };
            end = line.end;
        }
        let cut = self.extent == Extent::Beginning;
        if let Some(begin) = open {
            if !cut {
                self.findings.bad(F::ERROR, &body[body.len()..], "no final boundary");
            }
            self.push(&body[begin..], !cut);
        } else if closed {
            if !text::trim(&body[end..]).is_empty() {
                self.findings.bad(F::DATA_AFTER, &body[end..], "text after the final boundary");
            }
        } else if !cut {
            self.findings.bad(F::ERROR, body, "no boundary in the body");
        }
    }

    /// Adds a part; `false` if there are too many. What is wrong in a part that was cut does not count.
    fn push(&mut self, bytes: &'a [u8], whole: bool) -> bool {
        if self.parts.len() == MAX_ITEMS {
            self.findings.faults.add(Anomalies::TOO_MANY_ITEMS, 0, "more than 10,000 parts");
            return false;
        }
        let kept = (self.findings.flags, self.findings.faults);
        self.parts.push(part::read(bytes, &mut self.findings));
        if !whole {
            (self.findings.flags, self.findings.faults) = kept;
        }
        true
    }
}

/// A delimiter line.
struct Delimiter {
    /// Start of the line end before it, which ends the previous part.
    begin: usize,
    /// Start of the next part.
    end: usize,
    /// Whether it is the closing delimiter.
    last: bool,
}

impl Delimiter {
    /// The delimiter line at `at`, if there is one: at the beginning of a line, followed by nothing
    /// except `--` or white space.
    fn at(body: &[u8], at: usize, length: usize, findings: &mut Findings<'_>) -> Option<Self> {
        const BARE: &str = "line feed without carriage return at a boundary";
        let begin = match &body[..at] {
            [] => 0,
            [.., b'\r', b'\n'] => at - 2,
            [.., b'\n'] => {
                findings.bad(MultipartFlags::LF_LINE, &body[at..], BARE);
                at - 1
            }
            _ => return None,
        };
        let mut end = at + length;
        let last = body[end..].starts_with(b"--");
        if last {
            end += 2;
        }
        while matches!(body.get(end), Some(b' ' | b'\t')) {
            end += 1;
        }
        match &body[end..] {
            [b'\r', b'\n', ..] => {
                findings.flags |= MultipartFlags::CRLF_LINE;
                end += 2;
            }
            [b'\n', ..] => {
                findings.bad(MultipartFlags::LF_LINE, &body[end..], BARE);
                end += 1;
            }
            [] => {}
            [b'\r'] | [b'-'] if !last => return None, // ends too soon
            [b'\r'] => {}
            rest => {
                findings.bad(MultipartFlags::ERROR, rest, "text after a boundary"); // servers disagree
                return None;
            }
        }
        Some(Self { begin, end, last })
    }
}

/// The state of `MULTIPART_UNMATCHED_BOUNDARY`: 1 after a line that begins with two hyphens and is
/// not the boundary, or has the boundary inside; 2 once the boundary itself comes a second time.
#[must_use]
pub fn unmatched_boundary(body: &[u8], boundary: &[u8]) -> u8 {
    let mut state = 0;
    let mut boundaries = 0;
    for line in body.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"--") {
            Some(after) if after.starts_with(boundary) => {
                state = if boundaries > 0 { 2 } else { state };
                boundaries += 1;
            }
            Some([_, _, ..]) => state = 1,
            _ => {}
        }
    }
    state
}

/// The name of a field as it was in the browser's form, which sends `"` and line ends as escapes (WHATWG HTML, "multipart
/// form data"). Other escapes stay.
pub(crate) fn decoded_name<'a>(arena: &'a Bump, name: &'a [u8]) -> &'a [u8] {
    const SENT: [(&[u8], u8); 3] = [(b"%22", b'"'), (b"%0d", b'\r'), (b"%0a", b'\n')];
    let escape = |rest: &[u8]| {
        let head = rest.get(..3)?;
        SENT.iter().find(|(sent, _)| head.eq_ignore_ascii_case(sent)).map(|(_, byte)| *byte)
    };
    if !memchr::memchr_iter(b'%', name).any(|at| escape(&name[at..]).is_some()) {
        return name;
    }
    let mut decoded = Vec::with_capacity_in(name.len(), arena);
    let mut rest = name;
    while let [first, after @ ..] = rest {
        match escape(rest) {
            Some(byte) => {
                decoded.push(byte);
                rest = &rest[3..];
            }
            None => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded.into_bump_slice()
}

#[cfg(test)]
#[path = "multipart_tests.rs"]
mod tests;
