//! One part of a multipart body: its header fields and its `Content-Disposition`.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::{Findings, MultipartFlags as F};
use crate::content_type::charset_is_readable;
use crate::parameter::{Parameter, parameters};
use crate::{Anomalies, Part, text, uri};

/// Reads one part: header fields, an empty line, content. Without the empty line everything is also
/// content, so that rules see it.
pub(super) fn read<'a>(bytes: &'a [u8], findings: &mut Findings<'a>) -> Part<'a> {
    let mut part = Part { value: bytes, ..Part::default() };
    let mut headers = Vec::new_in(findings.arena);
    let (mut disposed, mut typed, mut encoded) = (false, false, false);
    let mut rest = bytes;
    let complete = loop {
        let Some((field, after)) = next_field(rest, findings) else { break false };
        let place = rest;
        rest = after;
        if field.is_empty() {
            break true;
        }
        if headers.len() < findings.room {
            headers.push(field);
        } else {
            findings.faults.add(Anomalies::TOO_MANY_ITEMS, 0, "more than 10,000 header fields in parts");
        }
        let Some(colon) = memchr::memchr(b':', field) else {
            findings.bad(F::ERROR, place, "header line without a colon in a part");
            continue;
        };
        let (name, value) = (&field[..colon], text::trim(&field[colon + 1..]));
        if text::trim(name).len() != name.len() || name.is_empty() || field.iter().any(|byte| matches!(byte, 0 | b'\r'))
        {
            findings.bad(F::ERROR, place, "malformed header field in a part");
        }
        let seen = match name {
            _ if name.eq_ignore_ascii_case(b"content-disposition") => {
                if !disposed {
                    disposition(value, place, &mut part, findings);
                }
                &mut disposed
            }
            _ if name.eq_ignore_ascii_case(b"content-type") => {
                part.content_type = value;
                if !charset_is_readable(value) {
                    findings.bad(F::ERROR, place, "charset of a part is not based on ASCII");
                }
                &mut typed
            }
            _ if name.eq_ignore_ascii_case(b"content-transfer-encoding") => {
                let plain = [&b"7bit"[..], b"8bit", b"binary"].iter().any(|known| value.eq_ignore_ascii_case(known));
                if !plain && findings.is_form {
                    findings.bad(F::ERROR, place, "Content-Transfer-Encoding of a part"); // deprecated, and hides
                }
                &mut encoded
            }
            _ => continue,
        };
        if std::mem::replace(seen, true) {
            findings.bad(F::ERROR, place, "repeated header field in a part");
        }
    };
    findings.room -= headers.len();
    part.headers = headers.into_bump_slice();
    if complete {
        part.value = rest;
    } else {
        findings.bad(F::INVALID_PART, bytes, "no empty line after the header of a part");
    }
    if findings.is_form && part.name.is_empty() {
        findings.bad(F::INVALID_PART, bytes, "part without a name");
    }
    let mut found = text::check(part.name);
    for name in part.file_names() {
        found |= text::check(name);
    }
    if part.is_field() {
        found |= text::check(part.value);
    }
    findings.faults.anomalies |= found;
    part
}

/// The next header field, unfolded and without its line end, and the rest; `None` if no line end follows.
fn next_field<'a>(bytes: &'a [u8], findings: &mut Findings<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let mut unfolded: Option<Vec<'a, u8>> = None;
    let mut rest = bytes;
    loop {
        let end = memchr::memchr(b'\n', rest)?;
        let line = match &rest[..end] {
            [line @ .., b'\r'] => {
                findings.flags |= F::CRLF_LINE;
                line
            }
            line => {
                findings.bad(F::LF_LINE, rest, "line feed without carriage return in the header of a part");
                line
            }
        };
        rest = &rest[end + 1..];
        if let Some(unfolded) = &mut unfolded {
            unfolded.push(b' ');
            unfolded.extend_from_slice_copy(text::trim(line));
        }
        if !line.is_empty() && matches!(rest.first(), Some(b' ' | b'\t')) {
            findings.bad(F::HEADER_FOLDING, rest, "folded header field in a part"); // obsolete since RFC 7230
            unfolded.get_or_insert_with(|| {
                let mut copy = Vec::with_capacity_in(2 * line.len(), findings.arena);
                copy.extend_from_slice_copy(line);
                copy
            });
            continue;
        }
        return Some((unfolded.map_or(line, Vec::into_bump_slice), rest));
    }
}

/// Reads `Content-Disposition: form-data; name="x"; filename="y"`.
fn disposition<'a>(value: &'a [u8], place: &[u8], part: &mut Part<'a>, findings: &mut Findings<'a>) {
    let kind = &value[..memchr::memchr(b';', value).unwrap_or(value.len())];
    if findings.is_form && !text::trim(kind).eq_ignore_ascii_case(b"form-data") {
        findings.bad(F::ERROR, place, "Content-Disposition other than form-data");
    }
    let mut name = None;
    for parameter @ Parameter { name: key, value: text, .. } in parameters(&value[kind.len()..]) {
        let slot = if key.eq_ignore_ascii_case(b"name") {
            &mut name
        } else if key.eq_ignore_ascii_case(b"filename") {
            &mut part.file_name
        } else if key.eq_ignore_ascii_case(b"filename*") {
            &mut part.extended_file_name
        } else {
            let is = |word: &[u8]| key.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
            if is(b"name*") || is(b"filename*") {
                findings.bad(F::ERROR, place, "extended name or continued parameter in Content-Disposition");
            }
            continue;
        };
        if slot.is_some() {
            findings.bad(F::ERROR, place, "repeated parameter in Content-Disposition");
        }
        if !parameter.is_complete() {
            findings.bad(F::ERROR, place, "incomplete parameter in Content-Disposition");
        }
        if !parameter.quoted && text.raw().iter().any(|byte| matches!(byte, b'\'' | b'"')) && !key.ends_with(b"*") {
            findings.bad(F::INVALID_QUOTING, place, "quotes in an unquoted parameter of Content-Disposition");
        }
        slot.get_or_insert_with(|| text.unescaped(findings.arena));
    }
    part.name = name.unwrap_or_default();
    part.extended_file_name = part.extended_file_name.map(|text| match extended_value(findings.arena, text) {
        Some(decoded) => decoded,
        None => {
            findings.bad(F::ERROR, place, "filename* that is not UTF-8''...");
            text
        }
    });
}

/// The text of `UTF-8''na%20me` (RFC 8187).
fn extended_value<'a>(arena: &'a Bump, value: &'a [u8]) -> Option<&'a [u8]> {
    let mut pieces = value.splitn(3, |byte| *byte == b'\'');
    pieces.next().filter(|charset| charset.eq_ignore_ascii_case(b"utf-8"))?;
    let text = pieces.nth(1).filter(|text| uri::percent_is_valid(text))?;
    Some(uri::decode(arena, text, false, &mut Anomalies::empty()))
}
