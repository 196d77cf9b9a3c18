//! The boundary in `Content-Type`, as `Multipart::init` finds it.

use super::MultipartFlags;
use crate::seclang::is_space;

const TYPE: &[u8] = b"multipart/form-data";
const WORD: &[u8] = b"boundary";

/// Longest `Content-Type` that is read, in bytes.
const MAX_HEADER_BYTES: usize = 1024;

/// Punctuation allowed in a boundary, besides letters, digits and inner spaces (RFC 2046; as in v3).
const PUNCTUATION: &[u8] = b"'()+_,-./:=?";

/// The boundary, or the error in the header field; the caller handles an empty boundary.
pub(super) fn parse<'a>(header: &'a [u8], flags: &mut MultipartFlags) -> Result<&'a [u8], &'static str> {
    find(header, flags).inspect_err(|_| *flags |= MultipartFlags::ERROR)
}

fn find<'a>(header: &'a [u8], flags: &mut MultipartFlags) -> Result<&'a [u8], &'static str> {
    if header.is_empty() {
        return Err("Multipart: Content-Type header not available.");
    }
    if header.len() > MAX_HEADER_BYTES {
        return Err("Multipart: Invalid boundary in C-T (length).");
    }
    if !header.get(..TYPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(TYPE)) {
        return Err("Multipart: Invalid MIME type.");
    }
    let parameters = count_parameters(header);
    if parameters > 1 {
        return Err("Multipart: Multiple boundary parameters in C-T.");
    }
    let Some(word) = memchr::memmem::find(header, WORD) else {
        return Err(match parameters {
            0 => "Multipart: Boundary not found in C-T.",
            _ => "Multipart: Invalid boundary in C-T (case sensitivity).",
        });
    };
    let between = &header[TYPE.len().min(word)..word];
    let mut others = between.iter().filter(|byte| !is_space(**byte));
    match (others.next(), others.next()) {
        (None, _) => *flags |= MultipartFlags::MISSING_SEMICOLON,
        (Some(b';'), None) => {}
        _ => return Err("Multipart: Invalid boundary in C-T (malformed)."),
    }
    let after = &header[word + WORD.len()..];
    let Some(equals) = memchr::memchr(b'=', after) else {
        return Err("Multipart: Invalid boundary in C-T (malformed).");
    };
    if equals > 0 {
        if !after[..equals].iter().all(|byte| is_space(*byte)) {
            return Err("Multipart: Invalid boundary in C-T (parameter name).");
        }
        *flags |= MultipartFlags::BOUNDARY_WHITESPACE;
    }
    value(&after[equals + 1..], flags)
}

/// The boundary in the text after the equal sign.
fn value<'a>(text: &'a [u8], flags: &mut MultipartFlags) -> Result<&'a [u8], &'static str> {
    if text.first().is_some_and(|first| is_space(*first)) {
        *flags |= MultipartFlags::BOUNDARY_WHITESPACE;
    }
    let mut boundary = match text {
        [b'"', inner @ .., b'"'] => {
            if !inner.is_empty() {
                *flags |= MultipartFlags::BOUNDARY_QUOTED;
            }
            inner
        }
        [b'"', ..] | [_, .., b'"'] => return Err("Multipart: Invalid boundary in C-T (quote)."),
        _ => text,
    };
    if count_parameters(boundary) != 0 {
        return Err("Multipart: Invalid boundary in C-T (content).");
    }
    if !is_valid(boundary)
        && let Some(semicolon) = memchr::memchr(b';', boundary)
    {
        boundary = &boundary[..semicolon]; // a parameter after the boundary
        if boundary.is_empty() {
            return Err("Multipart: Invalid boundary in C-T (empty).");
        }
    }
    if is_valid(boundary) { Ok(boundary) } else { Err("Multipart: Invalid boundary in C-T (characters).") }
}

/// Number of occurrences of the word in `text`, in any case, with an equal sign somewhere after it.
fn count_parameters(text: &[u8]) -> usize {
    let Some(last_equals) = memchr::memrchr(b'=', text) else { return 0 };
    let mut count = 0;
    let mut at = 0;
    while at + WORD.len() <= last_equals {
        if text[at..at + WORD.len()].eq_ignore_ascii_case(WORD) {
            count += 1;
            at += WORD.len();
        } else {
            at += 1;
        }
    }
    count
}

fn is_valid(boundary: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b' ' || PUNCTUATION.contains(byte);
    boundary.iter().all(allowed) && !boundary.ends_with(b" ")
}
