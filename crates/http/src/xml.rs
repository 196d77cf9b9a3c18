//! XML bodies: texts and attribute values.
//!
//! `quick-xml` splits the markup, and one walk gives both kinds of rules what they read: expressions
//! the text of each element, SecLang the text of the whole document. Text counts as applications read
//! it: comments, CDATA sections and references do not split it. Entities of the document's own DTD
//! are expanded up to [`crate::bound::MAX_ENTITY_BYTES`] in total, external ones never. The DTD is given to rules
//! as one more text, because declaring entities is an attack worth a rule.

mod entity;
mod markup;

use bumpalo::Bump;
use bumpalo::collections::Vec;
use quick_xml::Reader;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};

use crate::bound::{Extent, MAX_DEPTH, MAX_ITEMS};
use crate::encoding::xml_to_utf8;
use crate::fault::Faults;
use crate::{Anomalies, text};
use entity::Entities;
use markup::{
    attribute, is_blank, is_control, is_declaration, is_name, is_namespace, one_line, trim_start, unix_lines,
};

const BAD: Anomalies = Anomalies::INVALID_XML;

/// The contents of a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'a> {
    /// Attribute values, the DTD and texts, but not white space alone. Where elements stand between
    /// the texts of an element, each piece is there, and all of them together. If any element has
    /// both texts and elements, so is the text of the document.
    pub items: &'a [&'a [u8]],
    /// The text of the root element with its descendants, and that of each element in which other
    /// elements stand between texts; none if there is no element.
    pub texts: &'a [&'a [u8]],
    /// Values of attributes in order, without namespace declarations.
    pub attributes: &'a [&'a [u8]],
}

/// Reads `body`; everything before an error is kept.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, body: &'a [u8], extent: Extent, faults: &mut Faults) -> Document<'a> {
    let body = xml_to_utf8(arena, body);
    let mut own = Faults::default();
    let document = valid_utf8(body, extent, &mut own);
    let mut walker = Walker {
        arena,
        document,
        entities: Entities::new(arena),
        items: Vec::new_in(arena),
        attributes: Vec::new_in(arena),
        whole: TextPieces::new(arena),
        run: TextPieces::new(arena),
        open: Vec::new_in(arena),
        mixed: Vec::new_in(arena),
        has_mixed: false,
        elements: 0,
        at: 0,
        faults: own,
    };
    if let Some(at) = body.iter().position(is_control) {
        walker.faults.add(BAD, at, "control character");
    }
    let walked = walker.walk(extent);
    for Stop(anomalies, reason) in [walked, walker.end_run()].into_iter().filter_map(Result::err) {
        walker.faults.add(anomalies, walker.at, reason);
    }
    walker.finish(faults)
}

/// The prefix of `body` that is UTF-8.
fn valid_utf8<'a>(body: &'a [u8], extent: Extent, faults: &mut Faults) -> &'a str {
    match std::str::from_utf8(body) {
        Ok(document) => document,
        Err(error) => {
            if extent == Extent::Whole || error.error_len().is_some() {
                faults.add(BAD | Anomalies::INVALID_UTF8, error.valid_up_to(), "text that is not UTF-8");
            }
            std::str::from_utf8(&body[..error.valid_up_to()]).expect("valid up to there")
        }
    }
}

/// The reason why reading ended before the document did.
struct Stop(Anomalies, &'static str);

/// An element that is open.
struct OpenElement<'a> {
    /// All texts directly in it so far.
    text: TextPieces<'a>,
    /// How many they are, white space alone not counted.
    runs: usize,
    /// Whether it has elements inside.
    is_parent: bool,
}

struct Walker<'a> {
    arena: &'a Bump,
    document: &'a str,
    entities: Entities<'a>,
    items: Vec<'a, &'a [u8]>,
    attributes: Vec<'a, &'a [u8]>,
    whole: TextPieces<'a>,
    /// The text being read: from one tag to the next.
    run: TextPieces<'a>,
    open: Vec<'a, OpenElement<'a>>,
    /// Texts of elements in which other elements stand between texts.
    mixed: Vec<'a, &'a [u8]>,
    /// Whether some element has texts and elements.
    has_mixed: bool,
    elements: usize,
    /// Position of the last event.
    at: usize,
    faults: Faults,
}

impl<'a> Walker<'a> {
    fn walk(&mut self, extent: Extent) -> Result<(), Stop> {
        let mut reader = Reader::from_str(self.document);
        reader.config_mut().allow_dangling_amp = true; // flagged below
        reader.config_mut().check_comments = true;
        loop {
            self.at = reader.buffer_position() as usize;
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(quick_xml::Error::Syntax(_)) if extent == Extent::Beginning => return Ok(()),
                Err(_) => return Err(Stop(BAD, "malformed markup")),
            };
            match event {
                Event::Text(text) => self.text(&text.into_inner()),
                Event::GeneralRef(name) => {
                    let whole = crate::text::concat(self.arena, &[b"&", self.slice(&name.into_inner()), b";"]);
                    let resolved = self.resolved(whole);
                    self.piece(resolved);
                }
                Event::CData(text) => {
                    let text = self.slice(&text.into_inner());
                    self.piece(unix_lines(self.arena, text));
                }
                Event::Comment(_) => {}
                Event::PI(instruction) => {
                    let text = self.slice(&instruction.into_inner());
                    let name = &text[..text.iter().position(|byte| is_blank(*byte)).unwrap_or(text.len())];
                    if !is_name(name) || name.eq_ignore_ascii_case(b"xml") {
                        self.bad("malformed processing instruction");
                    }
                }
                Event::Start(tag) => self.start(&tag)?,
                Event::Empty(tag) => {
                    self.start(&tag)?;
                    self.end()?;
                }
                Event::End(_) => self.end()?,
                Event::Decl(declaration) => {
                    let begin = reader.buffer_position() as usize == declaration.len() + 4;
                    if !begin || !is_declaration(self.slice(&declaration)) {
                        self.bad("malformed or misplaced XML declaration");
                    }
                }
                Event::DocType(doctype) => {
                    self.end_run()?;
                    let text = self.slice(&doctype.into_inner());
                    let name = trim_start(text);
                    let end = name.iter().position(|byte| is_blank(*byte) || *byte == b'[').unwrap_or(name.len());
                    if self.elements > 0 || !is_name(&name[..end]) {
                        self.bad("malformed or misplaced document type");
                    }
                    self.push(text)?;
                    if let Err(reason) = self.entities.declare(text) {
                        self.bad(reason);
                    }
                }
                Event::Eof => {
                    if extent == Extent::Whole && !self.open.is_empty() {
                        self.bad("element without its end");
                    } else if extent == Extent::Whole && self.elements == 0 && !self.document.is_empty() {
                        self.bad("no element");
                    }
                    return Ok(());
                }
            }
        }
    }

    fn bad(&mut self, reason: &'static str) {
        self.faults.add(BAD, self.at, reason);
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), Stop> {
        self.end_run()?;
        if self.open.is_empty() && self.elements > 0 {
            self.bad("more than one root element");
        }
        self.elements += 1;
        if !is_name(self.slice(tag.name().into_inner())) {
            self.bad("malformed element name");
        }
        if self.open.len() == MAX_DEPTH {
            return Err(Stop(Anomalies::TOO_DEEP, "elements nested more than 128 deep"));
        }
        if let Some(parent) = self.open.last_mut() {
            parent.is_parent = true;
        }
        self.open.push(OpenElement { text: TextPieces::new(self.arena), runs: 0, is_parent: false });
        self.attributes(tag)
    }

    fn end(&mut self) -> Result<(), Stop> {
        self.end_run()?;
        let Some(element) = self.open.pop() else { return Ok(()) };
        self.has_mixed |= element.is_parent && element.runs > 0;
        if element.runs > 1 {
            let text = element.text.finish();
            self.push(text)?;
            self.mixed.push(text);
        }
        Ok(())
    }

    /// Text between markup.
    fn text(&mut self, text: &str) {
        let text = self.slice(text);
        if memchr::memmem::find(text, b"]]>").is_some() {
            self.bad("]]> in text");
        }
        let text = self.resolved(unix_lines(self.arena, text));
        self.piece(text);
    }

    /// Adds to the current text.
    fn piece(&mut self, text: &'a [u8]) {
        if self.open.is_empty() && !text::trim(text).is_empty() {
            self.bad("text outside of the root element");
        }
        self.run.push(text);
    }

    /// Ends the current text, if there is one.
    fn end_run(&mut self) -> Result<(), Stop> {
        let text = std::mem::replace(&mut self.run, TextPieces::new(self.arena)).finish();
        if !text.is_empty() {
            if let Some(element) = self.open.last_mut() {
                element.text.push(text);
                element.runs += usize::from(!text::trim(text).is_empty());
                self.whole.push(text);
            }
            if !text::trim(text).is_empty() {
                return self.push(text);
            }
        }
        Ok(())
    }

    /// The values of all attributes.
    fn attributes(&mut self, tag: &BytesStart<'_>) -> Result<(), Stop> {
        let mut rest = self.slice(tag.attributes_raw());
        let mut names = Vec::new_in(self.arena);
        loop {
            match attribute(&mut rest) {
                Some(Ok((name, value))) => {
                    if value.contains(&b'<') {
                        self.bad("< in an attribute");
                    }
                    names.push(name);
                    self.attribute(!is_namespace(name), value)?;
                }
                Some(Err(())) => {
                    self.bad("malformed attribute");
                    self.loose_attributes(rest)?;
                    break;
                }
                None => break,
            }
        }
        if names.len() > 1 {
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                self.bad("repeated attribute");
            }
        }
        Ok(())
    }

    /// What HTML allows: values without quotes.
    fn loose_attributes(&mut self, rest: &'a [u8]) -> Result<(), Stop> {
        let Ok(rest) = std::str::from_utf8(rest) else { return Ok(()) };
        for attribute in Attributes::html(rest, 0).with_checks(false).flatten() {
            self.attribute(true, self.slice(&attribute.value))?;
        }
        Ok(())
    }

    fn attribute(&mut self, listed: bool, value: &'a [u8]) -> Result<(), Stop> {
        let value = self.resolved(one_line(self.arena, unix_lines(self.arena, value)));
        if listed {
            self.attributes.push(value);
        }
        self.push(value)
    }

    /// `text` with references resolved. Characters that XML forbids (section 2.2) are kept and flagged.
    fn resolved(&mut self, text: &'a [u8]) -> &'a [u8] {
        match self.entities.resolve(text) {
            Ok(resolved) => resolved,
            Err((resolved, reason)) => {
                self.bad(reason);
                resolved
            }
        }
    }

    fn push(&mut self, text: &'a [u8]) -> Result<(), Stop> {
        if self.items.len() == MAX_ITEMS {
            return Err(Stop(Anomalies::TOO_MANY_ITEMS, "more than 10,000 texts and attributes"));
        }
        self.items.push(text);
        Ok(())
    }

    /// The position of `part`, which is borrowed from the document.
    fn slice(&self, part: &str) -> &'a [u8] {
        let document = self.document.as_bytes();
        let begin = (part.as_ptr() as usize).wrapping_sub(document.as_ptr() as usize);
        begin.checked_add(part.len()).and_then(|end| document.get(begin..end)).unwrap_or_default()
    }

    fn finish(mut self, faults: &mut Faults) -> Document<'a> {
        // Elements that are still open end with the document.
        while !self.open.is_empty() && self.end().is_ok() {}
        let mut texts = Vec::new_in(self.arena);
        if self.elements > 0 {
            let whole = self.whole.finish();
            if self.has_mixed && self.items.len() < MAX_ITEMS {
                self.items.push(whole);
            }
            texts.push(whole);
            texts.extend(self.mixed);
        }
        faults.merge(self.faults);
        Document {
            items: self.items.into_bump_slice(),
            texts: texts.into_bump_slice(),
            attributes: self.attributes.into_bump_slice(),
        }
    }
}

/// Text in pieces; a single piece is borrowed.
struct TextPieces<'a> {
    arena: &'a Bump,
    first: Option<&'a [u8]>,
    joined: Option<Vec<'a, u8>>,
}

impl<'a> TextPieces<'a> {
    fn new(arena: &'a Bump) -> Self {
        Self { arena, first: None, joined: None }
    }

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

#[cfg(test)]
#[path = "xml_tests.rs"]
mod tests;
