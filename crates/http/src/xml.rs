//! Texts and attribute values of XML bodies.
//!
//! `quick-xml` splits the markup; references are resolved here, and only those that XML itself
//! defines (five names and character numbers). Entities of a document's own DTD are never expanded,
//! so there is no billion-laughs attack and no external fetch; the DTD is given to rules as one
//! more text, because declaring entities is an attack worth a rule.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use quick_xml::Reader;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};

use crate::bound::{Extent, MAX_DEPTH, MAX_ITEMS};
use crate::{Anomalies, text};

const BAD: Anomalies = Anomalies::INVALID_XML;

/// Texts (also CDATA and the DTD, but not white space alone) and attribute values, in order.
/// Everything before an error is kept.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, body: &'a [u8], extent: Extent, anomalies: &mut Anomalies) -> &'a [&'a [u8]] {
    let (document, found) = valid_utf8(body, extent);
    let mut collector = Collector { arena, document, items: Vec::new_in(arena), run: None, found };
    if let Err(stop) = collector.document(extent) {
        collector.found |= stop;
    }
    *anomalies |= collector.found;
    collector.items.into_bump_slice()
}

/// The prefix of `body` that is UTF-8.
pub(crate) fn valid_utf8(body: &[u8], extent: Extent) -> (&str, Anomalies) {
    match std::str::from_utf8(body) {
        Ok(document) => (document, Anomalies::empty()),
        Err(error) => {
            let document = std::str::from_utf8(&body[..error.valid_up_to()]).expect("valid up to there");
            let cut = extent == Extent::Beginning && error.error_len().is_none();
            (document, if cut { Anomalies::empty() } else { BAD | Anomalies::INVALID_UTF8 })
        }
    }
}

struct Collector<'a> {
    arena: &'a Bump,
    document: &'a str,
    items: Vec<'a, &'a [u8]>,
    /// Range of the text being read: from the end of one tag to the next, references included.
    run: Option<(usize, usize)>,
    found: Anomalies,
}

impl<'a> Collector<'a> {
    fn document(&mut self, extent: Extent) -> Result<(), Anomalies> {
        let mut reader = Reader::from_str(self.document);
        reader.config_mut().allow_dangling_amp = true; // flagged below
        let mut depth = 0;
        let mut elements = 0;
        loop {
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(quick_xml::Error::Syntax(_)) => return self.end_run().and(Err(extent.ends_too_soon(BAD))),
                Err(_) => return self.end_run().and(Err(BAD)),
            };
            match event {
                Event::Text(text) => self.extend_run(&text.into_inner(), 0),
                Event::GeneralRef(name) => self.extend_run(&name.into_inner(), 1),
                other => {
                    self.end_run()?;
                    match other {
                        Event::Start(tag) => {
                            depth += 1;
                            elements += 1;
                            if depth > MAX_DEPTH {
                                return Err(Anomalies::TOO_DEEP);
                            }
                            self.attributes(&tag)?;
                        }
                        Event::Empty(tag) => {
                            elements += 1;
                            self.attributes(&tag)?;
                        }
                        Event::End(_) => depth -= 1, // the reader has checked that one is open
                        Event::CData(text) => self.push_part(&text.into_inner())?,
                        Event::DocType(dtd) => self.push_part(&dtd.into_inner())?,
                        Event::Eof if depth > 0 || (elements == 0 && !self.document.is_empty()) => {
                            return Err(extent.ends_too_soon(BAD));
                        }
                        Event::Eof => return Ok(()),
                        _ => {} // declaration, processing instruction, comment
                    }
                }
            }
        }
    }

    /// Adds `part` of the document, with `around` bytes on each side, to the current text.
    fn extend_run(&mut self, part: &str, around: usize) {
        let Some((begin, end)) = self.position(part) else { return };
        let begin = self.run.map_or(begin.saturating_sub(around), |(begin, _)| begin);
        self.run = Some((begin, (end + around).min(self.document.len())));
    }

    /// Ends the current text, if there is one.
    fn end_run(&mut self) -> Result<(), Anomalies> {
        let Some((begin, end)) = self.run.take() else { return Ok(()) };
        let text = &self.document.as_bytes()[begin..end];
        if text::trim(text).is_empty() { Ok(()) } else { self.push_references(text) }
    }

    /// The values of all attributes. Duplicates are not detected, because that takes quadratic time.
    fn attributes(&mut self, tag: &BytesStart<'_>) -> Result<(), Anomalies> {
        let Some((begin, end)) = self.position(tag.attributes_raw()) else { return Ok(()) };
        let raw = &self.document[begin..end];
        for attribute in Attributes::html(raw, 0).with_checks(false) {
            match attribute.ok().and_then(|attribute| self.position(&attribute.value)) {
                Some((begin, end)) => {
                    let bytes = self.document.as_bytes();
                    if !matches!(bytes.get(begin.wrapping_sub(1)), Some(b'"' | b'\'')) {
                        self.found |= BAD; // as HTML allows
                    }
                    self.push_references(&bytes[begin..end])?;
                }
                None => self.found |= BAD, // no value, or no attribute
            }
        }
        Ok(())
    }

    /// The range of `part`, which is borrowed from the document.
    fn position(&self, part: &str) -> Option<(usize, usize)> {
        let begin = (part.as_ptr() as usize).checked_sub(self.document.as_ptr() as usize)?;
        let end = begin + part.len();
        (end <= self.document.len()).then_some((begin, end))
    }

    /// Adds a part of the document verbatim.
    fn push_part(&mut self, part: &str) -> Result<(), Anomalies> {
        match self.position(part) {
            Some((begin, end)) => self.push(&self.document.as_bytes()[begin..end]),
            None => Ok(()),
        }
    }

    fn push_references(&mut self, text: &'a [u8]) -> Result<(), Anomalies> {
        let text = resolve(self.arena, text, &mut self.found);
        self.push(text)
    }

    fn push(&mut self, text: &'a [u8]) -> Result<(), Anomalies> {
        if self.items.len() == MAX_ITEMS {
            return Err(Anomalies::TOO_MANY_ITEMS);
        }
        self.items.push(text);
        Ok(())
    }
}

/// The predefined entities of XML.
const PREDEFINED: &[(&[u8], char)] = &[(b"lt", '<'), (b"gt", '>'), (b"amp", '&'), (b"quot", '"'), (b"apos", '\'')];

/// Longest reference that is resolved: `#x0010FFFF` and some leading zeros.
const MAX_REFERENCE_BYTES: usize = 16;

/// Resolves predefined entities and character numbers in `text`; returns it unchanged if there are
/// none. Other references stay as written and are flagged.
pub(crate) fn resolve<'a>(arena: &'a Bump, text: &'a [u8], found: &mut Anomalies) -> &'a [u8] {
    let Some(mut at) = memchr::memchr(b'&', text) else { return text };
    let mut out = Vec::with_capacity_in(text.len(), arena);
    let mut rest = text;
    loop {
        out.extend_from_slice_copy(&rest[..at]);
        rest = &rest[at..];
        let window = &rest[1..rest.len().min(MAX_REFERENCE_BYTES + 2)];
        let resolved = memchr::memchr(b';', window).and_then(|end| Some((character(&window[..end])?, end + 2)));
        match resolved {
            Some((character, length)) => {
                out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[length..];
            }
            None => {
                *found |= BAD;
                out.push(b'&');
                rest = &rest[1..];
            }
        }
        let Some(next) = memchr::memchr(b'&', rest) else { break };
        at = next;
    }
    out.extend_from_slice_copy(rest);
    out.into_bump_slice()
}

/// The character that a reference stands for.
fn character(name: &[u8]) -> Option<char> {
    let Some(number) = name.strip_prefix(b"#") else {
        return PREDEFINED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character);
    };
    let (digits, radix) = number.strip_prefix(b"x").map_or((number, 10), |digits| (digits, 16));
    if digits.is_empty() {
        return None;
    }
    let code = digits
        .iter()
        .try_fold(0u32, |code, digit| code.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?))?;
    char::from_u32(code).filter(|character| *character != '\0')
}

#[cfg(test)]
#[path = "xml_tests.rs"]
mod tests;
