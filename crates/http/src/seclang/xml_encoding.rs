//! XML in encodings other than UTF-8, detected as in libxml2: UTF-16 by its first bytes, ISO-8859-1
//! by the declaration. Anything else, such as UTF-7, is flagged when it is read.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::text;

/// Longest XML declaration that is read, in bytes.
const DECLARATION_BYTES: usize = 128;

/// `body` in UTF-8; unchanged if it already is, or if its encoding is unknown.
pub(super) fn to_utf8<'a>(arena: &'a Bump, body: &'a [u8]) -> &'a [u8] {
    match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest,
        [0xfe, 0xff, rest @ ..] => from_utf16(arena, rest, u16::from_be_bytes),
        [0, b'<', 0, b'?', ..] => from_utf16(arena, body, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => from_utf16(arena, rest, u16::from_le_bytes),
        [b'<', 0, b'?', 0, ..] => from_utf16(arena, body, u16::from_le_bytes),
        _ if is_latin1(arena, body) => from_latin1(arena, body),
        _ => body,
    }
}

/// Whether the XML declaration names ISO-8859-1.
fn is_latin1<'a>(arena: &'a Bump, body: &'a [u8]) -> bool {
    let start = &body[..body.len().min(DECLARATION_BYTES)];
    let Some(end) = memchr::memmem::find(start, b"?>") else { return false };
    let declaration = text::lower(arena, &start[..end]);
    let names: [&[u8]; 4] = [b"'iso-8859-1'", b"\"iso-8859-1\"", b"'latin1'", b"\"latin1\""];
    declaration.starts_with(b"<?xml") && names.iter().any(|name| memchr::memmem::find(declaration, name).is_some())
}

fn from_latin1<'a>(arena: &'a Bump, body: &'a [u8]) -> &'a [u8] {
    if body.is_ascii() {
        return body;
    }
    let mut out = Vec::with_capacity_in(body.len() + body.len() / 4, arena);
    for byte in body {
        out.extend_from_slice_copy(char::from(*byte).encode_utf8(&mut [0; 2]).as_bytes());
    }
    out.into_bump_slice()
}

/// An unpaired surrogate, or half a unit at the end, becomes a byte that is not UTF-8, which is an error.
fn from_utf16<'a>(arena: &'a Bump, body: &[u8], unit: fn([u8; 2]) -> u16) -> &'a [u8] {
    let (pairs, odd) = body.as_chunks();
    let mut out = Vec::with_capacity_in(body.len(), arena);
    for character in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match character {
            Ok(character) => out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(_) => out.push(0xff),
        }
    }
    if !odd.is_empty() {
        out.push(0xff);
    }
    out.into_bump_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts() {
        let units = |unit: fn(u16) -> [u8; 2]| "<?é😀".encode_utf16().flat_map(unit).collect::<std::vec::Vec<u8>>();
        let (big, little) = (units(u16::to_be_bytes), units(u16::to_le_bytes));
        let marked = [b"\xff\xfe", &little[..]].concat();
        let cases: [(&[u8], &[u8]); 8] = [
            (&big, "<?é😀".as_bytes()),
            (&little, "<?é😀".as_bytes()),
            (&marked, "<?é😀".as_bytes()),
            (b"\xef\xbb\xbf<a/>", b"<a/>"),
            (b"<a>\xe9</a>", b"<a>\xe9</a>"),
            (b"<?xml encoding='ISO-8859-1'?>\xe9", "<?xml encoding='ISO-8859-1'?>é".as_bytes()),
            (b"\xfe\xff\xd8\x00\x00a", b"\xffa"),
            (b"\xff\xfea\x00b", b"a\xff"),
        ];
        let arena = Bump::new();
        for (body, expected) in cases {
            assert_eq!(to_utf8(&arena, body), expected, "{}", body.escape_ascii());
        }
    }
}
