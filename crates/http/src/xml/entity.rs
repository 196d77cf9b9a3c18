//! References: the entities of XML itself, character numbers, and the internal entities of a DTD.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::markup::{is_blank, is_name, trim_start};
use crate::bound::{MAX_ENTITIES, MAX_ENTITY_BYTES};

/// The predefined entities of XML.
const PREDEFINED: &[(&[u8], char)] = &[(b"lt", '<'), (b"gt", '>'), (b"amp", '&'), (b"quot", '"'), (b"apos", '\'')];

/// Longest name of an entity, and longest number of a character: `#x0010FFFF` and some leading zeros.
const MAX_NAME_BYTES: usize = 64;

/// Levels at which entities may refer to each other.
const MAX_LEVELS: usize = 32;

const TOO_LONG: &str = "entities that expand to more than 1 MiB";

/// The entities that a document declares, and the text that may still be expanded.
pub(super) struct Entities<'a> {
    arena: &'a Bump,
    /// Sorted by name; no text for an external one.
    declared: Vec<'a, (&'a [u8], Option<&'a [u8]>)>,
    /// Bytes and references.
    budget: usize,
}

impl<'a> Entities<'a> {
    pub fn new(arena: &'a Bump) -> Self {
        Self { arena, declared: Vec::new_in(arena), budget: MAX_ENTITY_BYTES }
    }

    /// Reads the declarations within a document type. Those that would change the document in ways
    /// that are not followed here (parameter entities, defaults of attributes, markup in entities)
    /// are errors.
    pub fn declare(&mut self, doctype: &'a [u8]) -> Result<(), &'static str> {
        let Some(begin) = memchr::memchr(b'[', doctype) else { return Ok(()) };
        let mut rest = trim_start(&doctype[begin + 1..]);
        let mut result = Ok(());
        while !rest.is_empty() && rest[0] != b']' {
            let (declaration, after) = declaration(rest).ok_or("malformed declaration in the document type")?;
            rest = trim_start(after);
            let outcome = if let Some(entity) = declaration.strip_prefix(b"<!ENTITY") {
                self.entity(trim_start(entity))
            } else if declaration.starts_with(b"<!ATTLIST") && memchr::memchr2(b'"', b'\'', declaration).is_some() {
                Err("default value of an attribute in the document type")
            } else if declaration.starts_with(b"%") {
                Err("parameter entity in the document type")
            } else {
                Ok(())
            };
            result = result.and(outcome);
        }
        self.declared.sort_by_key(|(name, _)| *name); // the first declaration of a name counts
        result
    }

    /// The text after `<!ENTITY `.
    fn entity(&mut self, text: &'a [u8]) -> Result<(), &'static str> {
        const MALFORMED: &str = "malformed entity declaration";
        if text.starts_with(b"%") {
            return Err("parameter entity in the document type");
        }
        let end = text.iter().position(|byte| is_blank(*byte)).ok_or(MALFORMED)?;
        let (name, value) = (&text[..end], trim_start(&text[end..]));
        if !is_name(name) || name.len() > MAX_NAME_BYTES {
            return Err(MALFORMED);
        }
        if self.declared.len() == MAX_ENTITIES {
            return Err("more than 1,000 entities");
        }
        let internal = match value {
            [quote @ (b'"' | b'\''), rest @ ..] => {
                let value = &rest[..memchr::memchr(*quote, rest).ok_or(MALFORMED)?];
                // Character numbers are resolved here, other references where the entity is used.
                let mut out = Vec::with_capacity_in(value.len(), self.arena);
                expand(value, &mut |piece| {
                    match piece {
                        Piece::Text(text) => out.extend_from_slice_copy(text),
                        Piece::Reference(name) => match character_number(name) {
                            Some(character) => {
                                out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes());
                            }
                            None => {
                                for part in [&b"&"[..], name, b";"] {
                                    out.extend_from_slice_copy(part);
                                }
                            }
                        },
                    }
                    Ok(())
                })?;
                Some(out.into_bump_slice() as &[u8])
            }
            _ => None,
        };
        self.declared.push((name, internal));
        match internal {
            Some(text) if text.contains(&b'<') => Err("markup in an entity"),
            _ => Ok(()),
        }
    }

    /// `text` with its references resolved, borrowed if there are none. On an error, references that
    /// cannot be resolved stay as written.
    pub fn resolve(&mut self, text: &'a [u8]) -> Result<&'a [u8], (&'a [u8], &'static str)> {
        if memchr::memchr(b'&', text).is_none() {
            return Ok(text);
        }
        let mut out = Vec::with_capacity_in(text.len(), self.arena);
        let mut error = None;
        self.append(text, 0, &mut out, &mut error);
        let resolved = out.into_bump_slice();
        error.map_or(Ok(resolved), |reason| Err((resolved, reason)))
    }

    fn append(&mut self, text: &[u8], level: usize, out: &mut Vec<'a, u8>, error: &mut Option<&'static str>) {
        let result = expand(text, &mut |piece| {
            let name = match piece {
                Piece::Text(text) => {
                    self.emit(text, level, out, error);
                    return Ok(());
                }
                Piece::Reference(name) => name,
            };
            let predefined = PREDEFINED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character);
            if let Some(character) = predefined.or_else(|| character_number(name)) {
                self.emit(character.encode_utf8(&mut [0; 4]).as_bytes(), level, out, error);
                return Ok(());
            }
            let reason = match self.find(name) {
                Some(Some(_)) if level == MAX_LEVELS => "entities that refer to each other too deeply",
                Some(Some(_)) if self.budget == 0 => TOO_LONG,
                Some(Some(text)) => {
                    self.budget -= 1;
                    self.append(text, level + 1, out, error);
                    return Ok(());
                }
                Some(None) => "reference to an external entity",
                None => "reference to an unknown entity",
            };
            error.get_or_insert(reason);
            for part in [&b"&"[..], name, b";"] {
                self.emit(part, level, out, error);
            }
            Ok(())
        });
        if let Err(reason) = result {
            error.get_or_insert(reason);
        }
    }

    /// Adds text, which costs something within an entity.
    fn emit(&mut self, text: &[u8], level: usize, out: &mut Vec<'a, u8>, error: &mut Option<&'static str>) {
        let length = if level == 0 { text.len() } else { text.len().min(self.budget) };
        if level > 0 {
            self.budget -= length;
        }
        if length < text.len() {
            error.get_or_insert(TOO_LONG);
        }
        out.extend_from_slice_copy(&text[..length]);
    }

    fn find(&self, name: &[u8]) -> Option<Option<&'a [u8]>> {
        let at = self.declared.partition_point(|(known, _)| *known < name);
        self.declared.get(at).filter(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

/// A stretch of text, or the name of a reference.
enum Piece<'t> {
    Text(&'t [u8]),
    Reference(&'t [u8]),
}

/// Splits `text` at its references. An ampersand that begins none is text, and an error.
fn expand(mut text: &[u8], take: &mut impl FnMut(Piece<'_>) -> Result<(), &'static str>) -> Result<(), &'static str> {
    let mut result = Ok(());
    while let Some(at) = memchr::memchr(b'&', text) {
        take(Piece::Text(&text[..at]))?;
        let rest = &text[at + 1..];
        let window = &rest[..rest.len().min(MAX_NAME_BYTES + 1)];
        match memchr::memchr2(b';', b'&', window).filter(|end| *end > 0 && window[*end] == b';') {
            Some(end) => {
                take(Piece::Reference(&rest[..end]))?;
                text = &rest[end + 1..];
            }
            None => {
                result = Err("ampersand that begins no reference");
                take(Piece::Text(b"&"))?;
                text = rest;
            }
        }
    }
    take(Piece::Text(text))?;
    result
}

/// A declaration, comment, processing instruction or parameter reference, and the text after it.
fn declaration(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (begin, end): (&[u8], &[u8]) = match text {
        [b'<', b'!', b'-', b'-', ..] => (b"<!--", b"-->"),
        [b'<', b'?', ..] => (b"<?", b"?>"),
        [b'%', ..] => (b"%", b";"),
        [b'<', b'!', ..] => {
            // A quoted value may contain the closing bracket.
            let mut at = 2;
            loop {
                at += text.get(at..)?.iter().position(|byte| matches!(byte, b'>' | b'"' | b'\''))?;
                if text[at] == b'>' {
                    return Some(text.split_at(at + 1));
                }
                at += memchr::memchr(text[at], &text[at + 1..])? + 2;
            }
        }
        _ => return None,
    };
    let length = begin.len() + memchr::memmem::find(&text[begin.len()..], end)? + end.len();
    Some(text.split_at(length))
}

/// The character of `#65` or `#x41`.
fn character_number(name: &[u8]) -> Option<char> {
    let number = name.strip_prefix(b"#")?;
    let (digits, radix) = number.strip_prefix(b"x").map_or((number, 10), |digits| (digits, 16));
    if digits.is_empty() {
        return None;
    }
    let code = digits
        .iter()
        .try_fold(0u32, |code, digit| code.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?))?;
    char::from_u32(code).filter(|character| *character != '\0')
}
