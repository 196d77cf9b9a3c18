//! Multipart bodies (RFC 7578, RFC 2046), read so that no server behind Weir sees more than the rules.
//!
//! Servers disagree about everything that is slightly wrong: bare line feeds, text around the
//! parts, folded or repeated header fields. Whatever one of them might take for a part is a part
//! here, and every deviation raises [`Anomalies::INVALID_MULTIPART`]. One substring search finds
//! all delimiters; each byte between them is read a bounded number of times.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_ITEMS};
use crate::parameter::{Parameter, parameters};
use crate::{Anomalies, Part, text, uri};

const BAD: Anomalies = Anomalies::INVALID_MULTIPART;

/// The parts of `body`, in order, with borrowed contents. Without a boundary there are no parts. A
/// body that was cut ends within its last part, which is then not an anomaly.
#[must_use]
pub fn parse<'a>(
    arena: &'a Bump,
    body: &'a [u8],
    boundary: &[u8],
    extent: Extent,
    anomalies: &mut Anomalies,
) -> &'a [Part<'a>] {
    if boundary.is_empty() || boundary.contains(&b'\n') {
        *anomalies |= BAD;
        return &[];
    }
    let mut delimiter = Vec::with_capacity_in(boundary.len() + 2, arena);
    delimiter.extend_from_slice_copy(b"--");
    delimiter.extend_from_slice_copy(boundary);
    let finder = memchr::memmem::Finder::new(&delimiter);
    let mut parts = Vec::new_in(arena);
    let mut open: Option<usize> = None; // where the current part begins
    let mut closed = false;
    let mut end = 0; // of the last delimiter
    for at in finder.find_iter(body) {
        let Some(line) = Delimiter::at(body, at, delimiter.len(), anomalies) else { continue };
        match open {
            Some(begin) => {
                if parts.len() == MAX_ITEMS {
                    *anomalies |= Anomalies::TOO_MANY_ITEMS;
                    return parts.into_bump_slice();
                }
                parts.push(part(arena, &body[begin..line.begin.max(begin)], true, anomalies));
            }
            None if !closed && !text::trim(&body[..line.begin]).is_empty() => *anomalies |= BAD, // preamble
            None => {}
        }
        if closed {
            *anomalies |= BAD; // more after the end
        }
        closed |= line.last;
        open = if line.last { None } else { Some(line.end) };
        end = line.end;
    }
    if let Some(begin) = open {
        *anomalies |= extent.ends_too_soon(BAD);
        if parts.len() == MAX_ITEMS {
            *anomalies |= Anomalies::TOO_MANY_ITEMS;
        } else {
            parts.push(part(arena, &body[begin..], extent == Extent::Whole, anomalies));
        }
    } else if !closed {
        *anomalies |= extent.ends_too_soon(BAD); // not one delimiter
    } else if !text::trim(&body[end..]).is_empty() {
        *anomalies |= BAD; // epilogue
    }
    parts.into_bump_slice()
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
    fn at(body: &[u8], at: usize, length: usize, anomalies: &mut Anomalies) -> Option<Self> {
        let begin = match &body[..at] {
            [] => 0,
            [.., b'\r', b'\n'] => at - 2,
            [.., b'\n'] => {
                *anomalies |= BAD;
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
            [b'\r', b'\n', ..] => end += 2,
            [b'\n', ..] => {
                *anomalies |= BAD;
                end += 1;
            }
            [] => {}
            [b'\r'] | [b'-'] if !last => return None, // ends too soon
            [b'\r'] => {}
            _ => {
                *anomalies |= BAD; // a boundary with something behind it: servers disagree
                return None;
            }
        }
        Some(Self { begin, end, last })
    }
}

/// One part: header fields, an empty line, content. Without the empty line everything is also
/// content, so that rules see it.
fn part<'a>(arena: &'a Bump, bytes: &'a [u8], whole: bool, anomalies: &mut Anomalies) -> Part<'a> {
    let mut part = Part { name: b"", file_name: None, content_type: b"", value: bytes };
    let mut found = Anomalies::empty();
    let mut disposed = false;
    let mut rest = bytes;
    let complete = loop {
        let Some((field, after)) = next_field(rest, &mut found) else { break false };
        rest = after;
        if field.is_empty() {
            break true;
        }
        let Some(colon) = memchr::memchr(b':', field) else {
            found |= BAD;
            continue;
        };
        let (name, value) = (&field[..colon], text::trim(&field[colon + 1..]));
        if name.eq_ignore_ascii_case(b"content-disposition") {
            if disposed {
                found |= BAD;
            } else {
                disposed = true;
                disposition(arena, value, &mut part, &mut found);
            }
        } else if name.eq_ignore_ascii_case(b"content-type") {
            part.content_type = value;
        } else if name.eq_ignore_ascii_case(b"content-transfer-encoding") {
            let plain = [&b"7bit"[..], b"8bit", b"binary"].iter().any(|known| value.eq_ignore_ascii_case(known));
            found |= if plain { Anomalies::empty() } else { BAD }; // deprecated, and a way to hide
        } else if text::trim(name).len() != name.len() {
            found |= BAD;
        }
    };
    if complete {
        part.value = rest;
    } else {
        found |= BAD;
    }
    if !disposed {
        found |= BAD;
    }
    found |= text::check(part.name) | part.file_name.map_or(Anomalies::empty(), text::check);
    if part.file_name.is_none() {
        found |= text::check(part.value);
    }
    if whole {
        *anomalies |= found;
    }
    part
}

/// The next header field with its folded lines, without its line end, and the rest; `None` if no line end follows.
fn next_field<'a>(bytes: &'a [u8], found: &mut Anomalies) -> Option<(&'a [u8], &'a [u8])> {
    let mut end = 0;
    loop {
        end += memchr::memchr(b'\n', &bytes[end..])?;
        let line = match &bytes[..end] {
            [line @ .., b'\r'] => line,
            line => {
                *found |= BAD;
                line
            }
        };
        end += 1;
        if !line.is_empty() && matches!(bytes.get(end), Some(b' ' | b'\t')) {
            *found |= BAD; // folded: obsolete since RFC 7230
            continue;
        }
        return Some((line, &bytes[end..]));
    }
}

/// Reads `Content-Disposition: form-data; name="x"; filename="y"`.
fn disposition<'a>(arena: &'a Bump, value: &'a [u8], part: &mut Part<'a>, found: &mut Anomalies) {
    let kind = &value[..memchr::memchr(b';', value).unwrap_or(value.len())];
    if !text::trim(kind).eq_ignore_ascii_case(b"form-data") {
        *found |= BAD;
    }
    let mut name = None;
    let mut extended = None;
    for Parameter { name: key, value, terminated } in parameters(&value[kind.len()..]) {
        let slot = if key.eq_ignore_ascii_case(b"name") {
            &mut name
        } else if key.eq_ignore_ascii_case(b"filename") {
            &mut part.file_name
        } else if key.eq_ignore_ascii_case(b"filename*") {
            *found |= BAD; // RFC 7578, section 4.2: must not be used
            &mut extended
        } else {
            continue;
        };
        if slot.is_some() || !terminated {
            *found |= BAD;
        }
        slot.get_or_insert_with(|| value.unescaped(arena));
    }
    if name.is_none() {
        *found |= BAD;
    }
    part.name = name.unwrap_or_default();
    part.file_name = part.file_name.or_else(|| extended.map(|value| extended_value(arena, value, found)));
}

/// The text of `UTF-8''na%20me` (RFC 8187).
fn extended_value<'a>(arena: &'a Bump, value: &'a [u8], found: &mut Anomalies) -> &'a [u8] {
    let text = value.splitn(3, |byte| *byte == b'\'').nth(2).unwrap_or(value);
    uri::decode(arena, text, false, found)
}

#[cfg(test)]
#[path = "multipart_tests.rs"]
mod tests;
