//! Bodies in encodings other than UTF-8: UTF-16 and UTF-32 by their first bytes, as JSON libraries and
//! libxml2 detect them, and single-byte encodings by an XML declaration.

use bumpalo::Bump;
use bumpalo::collections::Vec;

/// Longest XML declaration that is read, in bytes.
const DECLARATION_BYTES: usize = 128;

/// Single-byte encodings that extend ASCII, by the start of their names in lower case.
const SINGLE_BYTE: [&[u8]; 4] = [b"iso-8859-", b"latin", b"windows-125", b"koi8-"];

/// The Unicode encoding form of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnicodeForm {
    Utf8,
    Utf16(fn([u8; 2]) -> u16),
    Utf32(fn([u8; 4]) -> u32),
}

impl UnicodeForm {
    /// The form of `body`, and the length of its byte order mark. Without a mark, the zero bytes of
    /// an ASCII character at the beginning tell the form (RFC 4627, section 3).
    pub fn detect(body: &[u8]) -> (Self, usize) {
        match body {
            [0xef, 0xbb, 0xbf, ..] => (Self::Utf8, 3),
            [0, 0, 0xfe, 0xff, ..] => (Self::Utf32(u32::from_be_bytes), 4),
            [0xff, 0xfe, 0, 0, ..] => (Self::Utf32(u32::from_le_bytes), 4),
            [0xfe, 0xff, ..] => (Self::Utf16(u16::from_be_bytes), 2),
            [0xff, 0xfe, ..] => (Self::Utf16(u16::from_le_bytes), 2),
            [0, 0, 0, 1..=255, ..] => (Self::Utf32(u32::from_be_bytes), 0),
            [1..=255, 0, 0, 0, ..] => (Self::Utf32(u32::from_le_bytes), 0),
            [0, 1..=255, ..] => (Self::Utf16(u16::from_be_bytes), 0),
            [1..=255, 0, ..] => (Self::Utf16(u16::from_le_bytes), 0),
            _ => (Self::Utf8, 0),
        }
    }

    /// `body` in UTF-8, without its mark; borrowed if it already is.
    pub fn to_utf8<'a>(arena: &'a Bump, body: &'a [u8]) -> (Self, &'a [u8]) {
        let (form, mark) = Self::detect(body);
        let rest = &body[mark..];
        let text = match form {
            Self::Utf8 => rest,
            Self::Utf16(unit) => from_utf16(arena, rest, unit),
            Self::Utf32(unit) => from_utf32(arena, rest, unit),
        };
        (form, text)
    }
}

/// An XML document in UTF-8; unchanged if it already is, or if its encoding is unknown.
pub(crate) fn xml_to_utf8<'a>(arena: &'a Bump, body: &'a [u8]) -> &'a [u8] {
    let (form, text) = UnicodeForm::to_utf8(arena, body);
    if matches!(form, UnicodeForm::Utf8) && declared_encoding(text).is_some_and(is_single_byte) {
        from_latin1(arena, text)
    } else {
        text
    }
}

/// Whether an encoding is a single-byte one that extends ASCII.
pub(crate) fn is_single_byte(name: &[u8]) -> bool {
    SINGLE_BYTE.iter().any(|start| name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
}

/// The encoding that the XML declaration names.
fn declared_encoding(body: &[u8]) -> Option<&[u8]> {
    let start = &body[..body.len().min(DECLARATION_BYTES)];
    let declaration = &start[..memchr::memmem::find(start, b"?>")?];
    let after = declaration.strip_prefix(b"<?xml")?;
    let value = &after[memchr::memmem::find(after, b"encoding")? + b"encoding".len()..];
    let (quote, value) = value.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start().split_first()?;
    Some(&value[..memchr::memchr(*quote, value)?])
}

/// As [`from_utf16`].
fn from_utf32<'a>(arena: &'a Bump, body: &[u8], unit: fn([u8; 4]) -> u32) -> &'a [u8] {
    let (units, odd) = body.as_chunks();
    let mut out = Vec::with_capacity_in(body.len() / 2, arena);
    for code in units.iter().map(|one| unit(*one)) {
        match char::from_u32(code) {
            Some(character) => out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(0xff),
        }
    }
    if !odd.is_empty() {
        out.push(0xff);
    }
    out.into_bump_slice()
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
        let cases: [(&[u8], &[u8]); 11] = [
            (&big, "<?é😀".as_bytes()),
            (&little, "<?é😀".as_bytes()),
            (&marked, "<?é😀".as_bytes()),
            (b"\xef\xbb\xbf<a/>", b"<a/>"),
            (b"<a>\xe9</a>", b"<a>\xe9</a>"),
            (b"<?xml encoding='ISO-8859-1'?>\xe9", "<?xml encoding='ISO-8859-1'?>é".as_bytes()),
            (b"\xfe\xff\xd8\x00\x00a", b"\xffa"),
            (b"\xff\xfea\x00b", b"a\xff"),
            (
                b"<?xml version='1.0' encoding=\"windows-1251\"?>\xe9",
                "<?xml version='1.0' encoding=\"windows-1251\"?>é".as_bytes(),
            ),
            (b"{\0\0\0}\0\0\0", b"{}"),
            (b"\0\0\xfe\xff\0\0\0a", b"a"),
        ];
        let arena = Bump::new();
        for (body, expected) in cases {
            assert_eq!(xml_to_utf8(&arena, body), expected, "{}", body.escape_ascii());
        }
    }
}
