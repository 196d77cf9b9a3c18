//! The two checks that every decoded text gets: UTF-8 validity and absence of NUL bytes.
//!
//! Nearly all text is ASCII, so the common case is one vectorised pass; the UTF-8 validator runs
//! only where a byte above 0x7f occurs.

use crate::Anomalies;

/// Anomalies of `text` as text.
#[inline]
#[must_use]
pub fn check(text: &[u8]) -> Anomalies {
    let mut found = Anomalies::empty();
    if text.contains(&0) {
        found |= Anomalies::NUL_BYTE;
    }
    if !text.is_ascii() && std::str::from_utf8(text).is_err() {
        found |= Anomalies::INVALID_UTF8;
    }
    found
}

/// `text` without surrounding spaces, tabs and line ends of folded lines.
#[inline]
#[must_use]
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = text {
        text = rest;
    }
    text
}

/// `text` in lower case (ASCII): borrowed if it already is, otherwise copied to the arena.
#[must_use]
pub fn lower<'a>(arena: &'a bumpalo::Bump, text: &'a [u8]) -> &'a [u8] {
    if !text.iter().any(u8::is_ascii_uppercase) {
        return text;
    }
    let copy = arena.alloc_slice_copy(text);
    copy.make_ascii_lowercase();
    copy
}

/// Concatenates `pieces`.
pub(crate) fn concat<'a>(arena: &'a bumpalo::Bump, pieces: &[&[u8]]) -> &'a [u8] {
    let mut out = bumpalo::collections::Vec::with_capacity_in(pieces.iter().map(|piece| piece.len()).sum(), arena);
    for piece in pieces {
        out.extend_from_slice_copy(piece);
    }
    out.into_bump_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_what_is_not_text() {
        let cases: [(&[u8], Anomalies); 7] = [
            (b"", Anomalies::empty()),
            (b"plain", Anomalies::empty()),
            ("größe".as_bytes(), Anomalies::empty()),
            (b"a\0b", Anomalies::NUL_BYTE),
            (b"\xff", Anomalies::INVALID_UTF8),
            (b"\xc3", Anomalies::INVALID_UTF8),
            (b"\0\xed\xa0\x80", Anomalies::NUL_BYTE.union(Anomalies::INVALID_UTF8)),
        ];
        for (text, expected) in cases {
            assert_eq!(check(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lower_borrows_what_is_lower() {
        let arena = bumpalo::Bump::new();
        let text = b"text/html; v=1";
        assert!(std::ptr::eq(lower(&arena, text), text));
        assert_eq!(lower(&arena, b"Text/HTML"), b"text/html");
    }
}
