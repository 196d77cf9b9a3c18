//! XML bodies as `XML:/*` and `XML://@*`: all text of the document as one value, and the value of each attribute.
//!
//! libxml2 builds a tree and evaluates XPath; one pass of `quick-xml` gives the same result for these two
//! expressions, the only ones that rule sets use. Unsupported features are flagged as an error rather than guessed:
//! entities declared in the document (libxml2 expands them), and rare encodings.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::xml_encoding::to_utf8;
use crate::bound::{Extent, MAX_ITEMS};
use crate::xml::{resolve, valid_utf8};
use crate::{Anomalies, text};

/// Maximum nesting of elements, libxml2's limit; beyond it [`Anomalies::TOO_DEEP`] and an error.
const MAX_DEPTH: usize = 257;

const BAD: Anomalies = Anomalies::INVALID_XML;

/// The contents of a body.
pub(super) struct Document<'a> {
    /// Text of the root element and its descendants; none if there is no element.
    pub text: Option<&'a [u8]>,
    /// Values of attributes in order, without namespace declarations.
    pub attributes: &'a [&'a [u8]],
    /// Empty if the document is well-formed.
    pub found: Anomalies,
}

/// Reads `body`; everything before an error is kept.
pub(super) fn parse<'a>(arena: &'a Bump, body: &'a [u8]) -> Document<'a> {
    let body = to_utf8(arena, body);
    let (document, found) = valid_utf8(body, Extent::Whole);
    let mut walker = Walker {
        arena,
        document,
        text: TextPieces { arena, first: None, joined: None },
        attributes: Vec::new_in(arena),
        found,
        depth: 0,
        elements: 0,
    };
    if body.iter().any(is_control) {
        walker.found |= BAD;
    }
    if let Err(stop) = walker.walk() {
        walker.found |= stop;
    }
    let text = (walker.elements > 0).then(|| walker.text.finish());
    Document { text, attributes: walker.attributes.into_bump_slice(), found: walker.found }
}

struct Walker<'a> {
    arena: &'a Bump,
    document: &'a str,
    text: TextPieces<'a>,
    attributes: Vec<'a, &'a [u8]>,
    found: Anomalies,
    depth: usize,
    elements: usize,
}

impl<'a> Walker<'a> {
    fn walk(&mut self) -> Result<(), Anomalies> {
        let mut reader = Reader::from_str(self.document);
        reader.config_mut().check_comments = true;
        loop {
            let event = reader.read_event().map_err(|_| BAD)?;
            match event {
                Event::Start(tag) => {
                    self.open(&tag)?;
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(BAD | Anomalies::TOO_DEEP);
                    }
                }
                Event::Empty(tag) => self.open(&tag)?,
                Event::End(_) => self.depth -= 1, // the reader has checked that one is open
                Event::Text(text) => self.push_text(&text.into_inner())?,
                Event::CData(text) if self.depth > 0 => {
                    let text = self.slice(&text.into_inner());
                    self.text.push(unix_lines(self.arena, text));
                }
                Event::GeneralRef(name) if self.depth > 0 => self.reference(&name.into_inner())?,
                Event::CData(_) | Event::GeneralRef(_) => return Err(BAD), // outside of the root
                Event::Decl(declaration) => {
                    let begin = reader.buffer_position() as usize == declaration.len() + 4;
                    if !begin || !is_declaration(self.slice(&declaration)) {
                        self.found |= BAD;
                    }
                }
                Event::Eof if self.depth > 0 || self.elements == 0 => return Err(BAD),
                Event::Eof => return Ok(()),
                Event::PI(instruction) => {
                    let text = self.slice(&instruction.into_inner());
                    let name = &text[..text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len())];
                    if !is_name(name) || name.eq_ignore_ascii_case(b"xml") {
                        return Err(BAD);
                    }
                }
                Event::DocType(doctype) => {
                    let name = trim_start(self.slice(&doctype));
                    let end = name.iter().position(|byte| is_blank(*byte) || *byte == b'[').unwrap_or(name.len());
                    if self.elements > 0 || !is_name(&name[..end]) {
                        return Err(BAD);
                    }
                }
                Event::Comment(_) => {}
            }
        }
    }

    /// Handles a start tag. There is only one root.
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), Anomalies> {
        if self.depth == 0 && self.elements > 0 {
            return Err(BAD);
        }
        self.elements += 1;
        if !is_name(self.slice(tag.name().into_inner())) {
            return Err(BAD);
        }
        let mut names = Vec::new_in(self.arena);
        let mut rest = self.slice(tag.attributes_raw());
        while let Some((name, value)) = attribute(&mut rest)? {
            names.push(name);
            if value.contains(&b'<') {
                return Err(BAD);
            }
            if self.attributes.len() == MAX_ITEMS {
                return Err(BAD | Anomalies::TOO_MANY_ITEMS);
            }
            let value = one_line(self.arena, unix_lines(self.arena, value));
            let value = self.resolved(value);
            if !is_namespace(name) {
                self.attributes.push(value);
            }
        }
        if names.len() > 1 {
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(BAD);
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str) -> Result<(), Anomalies> {
        let text = self.slice(text);
        if memchr::memmem::find(text, b"]]>").is_some() {
            return Err(BAD);
        }
        if self.depth > 0 {
            self.text.push(unix_lines(self.arena, text));
            return Ok(());
        }
        if text::trim(text).is_empty() { Ok(()) } else { Err(BAD) }
    }

    fn reference(&mut self, name: &str) -> Result<(), Anomalies> {
        let name = self.slice(name);
        let whole = super::concat(self.arena, &[b"&", name, b";"]);
        let resolved = self.resolved(whole);
        self.text.push(resolved);
        Ok(())
    }

    /// `text` with references resolved. Characters that XML forbids (section 2.2) are kept and flagged.
    fn resolved(&mut self, text: &'a [u8]) -> &'a [u8] {
        let resolved = resolve(self.arena, text, &mut self.found);
        if resolved.iter().any(is_control) {
            self.found |= BAD;
        }
        resolved
    }

    /// The position of `part`, which is borrowed from the document.
    fn slice(&self, part: &str) -> &'a [u8] {
        let document = self.document.as_bytes();
        let begin = (part.as_ptr() as usize).wrapping_sub(document.as_ptr() as usize);
        begin.checked_add(part.len()).and_then(|end| document.get(begin..end)).unwrap_or_default()
    }
}

/// Text in pieces; a single piece is borrowed.
struct TextPieces<'a> {
    arena: &'a Bump,
    first: Option<&'a [u8]>,
    joined: Option<Vec<'a, u8>>,
}

impl<'a> TextPieces<'a> {
    fn push(&mut self, piece: &'a [u8]) {
        if piece.is_empty() {
            return;
        }
        match (&mut self.joined, self.first) {
            (Some(joined), _) => joined.extend_from_slice_copy(piece),
            (None, None) => self.first = Some(piece),
            (None, Some(first)) => {
                let mut joined = Vec::with_capacity_in(2 * (first.len() + piece.len()), self.arena);
                joined.extend_from_slice_copy(first);
                joined.extend_from_slice_copy(piece);
                self.joined = Some(joined);
            }
        }
    }

    fn finish(self) -> &'a [u8] {
        match self.joined {
            Some(joined) => joined.into_bump_slice(),
            None => self.first.unwrap_or_default(),
        }
    }
}

fn is_namespace(name: &[u8]) -> bool {
    name == b"xmlns" || name.strip_prefix(b"xmlns:").is_some_and(is_name)
}

/// Name and value as written.
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Removes the next attribute from the front of `rest`: white space, name, equal sign, quoted value.
fn attribute<'a>(rest: &mut &'a [u8]) -> Result<Option<Attribute<'a>>, Anomalies> {
    let text = trim_start(rest);
    if text.is_empty() {
        return Ok(None);
    }
    let end = text.iter().position(|byte| *byte == b'=' || is_blank(*byte)).ok_or(BAD)?;
    let (name, after) = text.split_at(end);
    let after = trim_start(trim_start(after).strip_prefix(b"=").ok_or(BAD)?);
    let (quote, after) = after.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\'')).ok_or(BAD)?;
    let end = memchr::memchr(*quote, after).ok_or(BAD)?;
    if text.len() == rest.len() || !is_name(name) {
        return Err(BAD);
    }
    *rest = &after[end + 1..];
    Ok(Some((name, &after[..end])))
}

/// Supported encodings: as they are, or after conversion by [`to_utf8`].
const ENCODINGS: &[&[u8]] = &[b"utf-8", b"utf8", b"us-ascii", b"ascii", b"utf-16", b"iso-8859-1", b"latin1"];

/// Whether `text` is the inside of `<?xml version="1.0" encoding="UTF-8" standalone="no"?>`, with a
/// supported encoding.
fn is_declaration(text: &[u8]) -> bool {
    const VALUES: &[(&[u8], &[&[u8]])] =
        &[(b"version", &[]), (b"encoding", ENCODINGS), (b"standalone", &[b"yes", b"no"])];
    let Some(mut rest) = text.strip_prefix(b"xml") else { return false };
    let mut expected = VALUES.iter();
    let mut first = true;
    while let Ok(found) = attribute(&mut rest) {
        let Some((name, value)) = found else { return !first };
        let Some((known, values)) = expected.find(|(known, _)| *known == name) else { return false };
        let any =
            value.strip_prefix(b"1.").is_some_and(|minor| !minor.is_empty() && minor.iter().all(u8::is_ascii_digit));
        let fits = if values.is_empty() { any } else { values.iter().any(|known| value.eq_ignore_ascii_case(known)) };
        if !fits || first != (*known == b"version") {
            return false;
        }
        first = false;
    }
    false
}

fn is_control(byte: &u8) -> bool {
    *byte < b' ' && !is_blank(*byte)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_blank(*first)
    {
        text = rest;
    }
    text
}

/// Whether `name` is a name (XML 1.0, section 2.3); beyond ASCII, all letters are accepted.
fn is_name(name: &[u8]) -> bool {
    let start = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..);
    let inner = |byte: &u8| start(*byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.first().is_some_and(|first| start(*first)) && name.iter().all(inner)
}

/// Replaces CR LF and CR with LF (XML 1.0, section 2.11).
fn unix_lines<'a>(arena: &'a Bump, text: &'a [u8]) -> &'a [u8] {
    if memchr::memchr(b'\r', text).is_none() {
        return text;
    }
    let mut out = Vec::with_capacity_in(text.len(), arena);
    let after = text.iter().skip(1).map(Some).chain([None]);
    for (byte, next) in text.iter().zip(after) {
        match byte {
            b'\r' if next == Some(&b'\n') => {}
            b'\r' => out.push(b'\n'),
            byte => out.push(*byte),
        }
    }
    out.into_bump_slice()
}

/// An attribute's value, with line ends and tabs replaced by spaces (section 3.3.3).
fn one_line<'a>(arena: &'a Bump, text: &'a [u8]) -> &'a [u8] {
    if !text.iter().any(|byte| matches!(byte, b'\n' | b'\t')) {
        return text;
    }
    let copy = arena.alloc_slice_copy(text);
    copy.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\t')).for_each(|byte| *byte = b' ');
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, then attributes, each after a bar; an exclamation mark if there was an error.
    fn parsed(body: &str) -> String {
        let arena = Bump::new();
        let document = parse(&arena, arena.alloc_str(body).as_bytes());
        let mut shown = document.text.map_or("none".to_owned(), |text| text.escape_ascii().to_string());
        for value in document.attributes {
            shown = format!("{shown}|{}", value.escape_ascii());
        }
        if document.found.is_empty() { shown } else { shown + "!" }
    }

    #[test]
    fn parses() {
        let cases = [
            ("<a>x<b>y</b>\n z</a>", "xy\\n z"),
            ("<a/>", ""),
            ("<?xml version='1.0' encoding='UTF-8'?>\n<a b='1' xmlns:n='u' n:c=\"2\">t</a>\n<!-- c -->", "t|1|2"),
            ("<a>&lt;&#x41;&amp;<![CDATA[<b>&lt;]]><!-- no --><?pi no?></a>", "<A&<b>&lt;"),
            ("<a b='x&quot;\r\ny'>p\r\nq\rr</a>", "p\\nq\\nr|x\\\"y".replace("\\\"y", "\\\" y").leak()),
            ("", "none!"),
            ("text", "none!"),
            ("<a>x", "x!"),
            ("<a>x</b>", "x!"),
            ("<a>&b;</a>", "&b;!"),
            ("<a/><b/>", "!"),
            ("<a b=c/>", "!"),
            ("<?xml version='1.0' encoding='ISO-8859-1'?><a>x</a>", "x"),
            ("<?xml version='1.0' encoding='UTF-7'?><a>+ADw-</a>", "+ADw-!"),
        ];
        for (body, expected) in cases {
            assert_eq!(parsed(body), expected, "{body}");
        }
    }
}
