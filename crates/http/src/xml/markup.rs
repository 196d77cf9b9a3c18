//! Names, attributes, declarations and line ends of XML 1.0.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::encoding::is_single_byte;

/// Whether an attribute declares a namespace.
pub(super) fn is_namespace(name: &[u8]) -> bool {
    name == b"xmlns" || name.strip_prefix(b"xmlns:").is_some_and(is_name)
}

/// Name and value as written.
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Removes the next attribute from the front of `rest`: white space, name, equal sign, quoted value.
/// A malformed one stays.
pub(super) fn attribute<'a>(rest: &mut &'a [u8]) -> Option<Result<Attribute<'a>, ()>> {
    let text = trim_start(rest);
    if text.is_empty() {
        return None;
    }
    let read = || {
        let end = text.iter().position(|byte| *byte == b'=' || is_blank(*byte))?;
        let (name, after) = text.split_at(end);
        let after = trim_start(trim_start(after).strip_prefix(b"=")?);
        let (quote, after) = after.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
        let end = memchr::memchr(*quote, after)?;
        (text.len() != rest.len() && is_name(name)).then(|| ((name, &after[..end]), &after[end + 1..]))
    };
    let Some((attribute, after)) = read() else { return Some(Err(())) };
    *rest = after;
    Some(Ok(attribute))
}

/// Encodings that are read as they are, or by their first bytes.
const ENCODINGS: &[&[u8]] = &[b"utf-8", b"utf8", b"us-ascii", b"ascii", b"utf-16", b"utf-32", b"utf-16le", b"utf-16be"];

/// Whether `text` is the inside of `<?xml version="1.0" encoding="UTF-8" standalone="no"?>`, with a
/// supported encoding.
pub(super) fn is_declaration(text: &[u8]) -> bool {
    const VALUES: &[(&[u8], &[&[u8]])] =
        &[(b"version", &[]), (b"encoding", ENCODINGS), (b"standalone", &[b"yes", b"no"])];
    let Some(mut rest) = text.strip_prefix(b"xml") else { return false };
    let mut expected = VALUES.iter();
    let mut first = true;
    loop {
        let (name, value) = match attribute(&mut rest) {
            None => return !first,
            Some(Err(())) => return false,
            Some(Ok(found)) => found,
        };
        let Some((known, values)) = expected.find(|(known, _)| *known == name) else { return false };
        let any =
            value.strip_prefix(b"1.").is_some_and(|minor| !minor.is_empty() && minor.iter().all(u8::is_ascii_digit));
        let fits = match values {
            [] => any,
            values => {
                let single_byte = *known == b"encoding" && is_single_byte(value);
                single_byte || values.iter().any(|known| value.eq_ignore_ascii_case(known))
            }
        };
        if !fits || first != (*known == b"version") {
            return false;
        }
        first = false;
    }
}

pub(super) fn is_control(byte: &u8) -> bool {
    *byte < b' ' && !is_blank(*byte)
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

pub(super) fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_blank(*first)
    {
        text = rest;
    }
    text
}

/// Whether `name` is a name (XML 1.0, section 2.3); beyond ASCII, all letters are accepted.
pub(super) fn is_name(name: &[u8]) -> bool {
    let start = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..);
    let inner = |byte: &u8| start(*byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.first().is_some_and(|first| start(*first)) && name.iter().all(inner)
}

/// Replaces CR LF and CR with LF (XML 1.0, section 2.11).
pub(super) fn unix_lines<'a>(arena: &'a Bump, text: &'a [u8]) -> &'a [u8] {
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
pub(super) fn one_line<'a>(arena: &'a Bump, text: &'a [u8]) -> &'a [u8] {
    if !text.iter().any(|byte| matches!(byte, b'\n' | b'\t')) {
        return text;
    }
    let copy = arena.alloc_slice_copy(text);
    copy.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\t')).for_each(|byte| *byte = b' ');
    copy
}
