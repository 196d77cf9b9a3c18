//! Percent-decoding, and the components of a request target.
//!
//! Most values have nothing to decode and are returned as they are; a copy is made only at the
//! first escape that changes something, so an unchanged value is always borrowed.

use bumpalo::Bump;

use crate::{Anomalies, text};

/// Decodes `%41` escapes, and `+` to a space if asked. Returns `bytes` itself if nothing changes,
/// otherwise a copy in the arena. A `%` without two hexadecimal digits is kept and raises
/// [`Anomalies::INVALID_PERCENT`]. The result is not checked for UTF-8 or NUL.
#[inline]
#[must_use]
pub fn decode<'a>(arena: &'a Bump, bytes: &'a [u8], plus_as_space: bool, anomalies: &mut Anomalies) -> &'a [u8] {
    let other = if plus_as_space { b'+' } else { b'%' };
    match memchr::memchr2(b'%', other, bytes) {
        Some(first) => decode_from(arena, bytes, first, other, anomalies),
        None => bytes,
    }
}

/// As [`decode`], where the first byte of interest is at `first`.
fn decode_from<'a>(arena: &'a Bump, bytes: &'a [u8], first: usize, other: u8, anomalies: &mut Anomalies) -> &'a [u8] {
    let mut out: Option<bumpalo::collections::Vec<'a, u8>> = None;
    let mut copied = 0; // bytes[..copied] is in `out`
    let mut at = Some(first);
    while let Some(here) = at {
        let decoded = match bytes[here] {
            b'%' => match bytes.get(here + 1..here + 3).and_then(|digits| hex_pair(digits[0], digits[1])) {
                Some(byte) => Some((byte, 3)),
                None => {
                    *anomalies |= Anomalies::INVALID_PERCENT;
                    None
                }
            },
            _ => Some((b' ', 1)),
        };
        let mut next = here + 1;
        if let Some((byte, length)) = decoded {
            let out = out.get_or_insert_with(|| bumpalo::collections::Vec::with_capacity_in(bytes.len(), arena));
            out.extend_from_slice_copy(&bytes[copied..here]);
            out.push(byte);
            next = here + length;
            copied = next;
        }
        at = memchr::memchr2(b'%', other, &bytes[next..]).map(|offset| next + offset);
    }
    match out {
        None => bytes,
        Some(mut out) => {
            out.extend_from_slice_copy(&bytes[copied..]);
            out.into_bump_slice()
        }
    }
}

/// The host name of a `Host` field or an authority, without port and final dot.
#[must_use]
pub fn host_name(authority: &[u8]) -> &[u8] {
    let authority = text::trim(authority);
    let end = match authority.first() {
        Some(b'[') => memchr::memchr(b']', authority).map(|at| at + 1),
        _ => memchr::memchr(b':', authority),
    };
    let name = &authority[..end.unwrap_or(authority.len())];
    name.strip_suffix(b".").unwrap_or(name)
}

/// The byte for two hexadecimal digits of any case.
#[inline]
#[must_use]
pub(crate) fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    Some(digit(high)? << 4 | digit(low)?)
}

/// Whether every `%` in `bytes` begins an escape.
#[must_use]
pub fn percent_is_valid(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'%', bytes)
        .all(|at| bytes.get(at + 1..at + 3).is_some_and(|digits| hex_pair(digits[0], digits[1]).is_some()))
}

/// The path of a request target as sent: without scheme and authority of an absolute form (RFC
/// 9112, section 3.2.2), without query. `*` and `host:port` are returned whole. A `#` is part of it,
/// because it is sent on.
#[must_use]
pub fn raw_path(target: &[u8]) -> &[u8] {
    let mut path = target;
    if !target.starts_with(b"/")
        && let Some(authority) = after_scheme(target)
    {
        let end = authority.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
        path = &authority[end.unwrap_or(authority.len())..];
    }
    &path[..memchr::memchr(b'?', path).unwrap_or(path.len())]
}

/// The query of a target that contains a `#`, where nginx and the servers behind it may disagree
/// about its end: all of it.
#[must_use]
pub fn query_with_fragment(target: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b'#', target)?;
    Some(memchr::memchr(b'?', target).map_or(&[], |at| &target[at + 1..]))
}

/// The text after `scheme://`, if the target begins with a scheme.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let scheme = target.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    if scheme == 0 { None } else { target[scheme..].strip_prefix(b"://") }
}

/// Extension of the last segment of `path` in lower case, without the dot; empty if there is none.
/// `/.env` has the extension `env`, because rules that forbid extensions mean such files too.
#[must_use]
pub fn extension<'a>(arena: &'a Bump, path: &'a [u8]) -> &'a [u8] {
    let segment = &path[memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)..];
    match memchr::memrchr(b'.', segment) {
        Some(dot) => text::lower(arena, &segment[dot + 1..]),
        None => b"",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_name_has_no_port_and_no_final_dot() {
        for (text, name) in [
            ("X.example:80", "X.example"),
            ("x.", "x"),
            ("x.:1", "x"),
            ("[::1]:8080", "[::1]"),
            ("[::1]", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(host_name(text.as_bytes()), name.as_bytes(), "{text}");
        }
    }

    #[test]
    fn decodes() {
        const BAD: Anomalies = Anomalies::INVALID_PERCENT;
        const GOOD: Anomalies = Anomalies::empty();
        type Case = (&'static [u8], &'static [u8], &'static [u8], Anomalies);
        let cases: [Case; 13] = [
            // input, decoded, with plus as space, anomalies
            (b"", b"", b"", GOOD),
            (b"abc", b"abc", b"abc", GOOD),
            (b"a+b", b"a+b", b"a b", GOOD),
            (b"%41%6a%6A", b"Ajj", b"Ajj", GOOD),
            (b"%2541", b"%41", b"%41", GOOD),
            (b"%00%ff", b"\0\xff", b"\0\xff", GOOD),
            (b"%", b"%", b"%", BAD),
            (b"%4", b"%4", b"%4", BAD),
            (b"%4g+", b"%4g+", b"%4g ", BAD),
            (b"%%41", b"%A", b"%A", BAD),
            (b"%u0041", b"%u0041", b"%u0041", BAD),
            (b"100%+%31", b"100%+1", b"100% 1", BAD),
            (b"%+1%-1", b"%+1%-1", b"% 1%-1", BAD),
        ];
        let arena = Bump::new();
        for (input, plain, plus, anomalies) in cases {
            for (plus_as_space, expected) in [(false, plain), (true, plus)] {
                let mut found = Anomalies::empty();
                let decoded = decode(&arena, input, plus_as_space, &mut found);
                assert_eq!(decoded.escape_ascii().to_string(), expected.escape_ascii().to_string());
                assert_eq!(found, anomalies, "{}", input.escape_ascii());
                assert_eq!(decoded == input, std::ptr::eq(decoded, input), "borrowed if unchanged");
            }
            assert_eq!(percent_is_valid(input), anomalies.is_empty());
        }
    }

    #[test]
    fn splits_targets() {
        let cases = [
            ("/a/b?c=d", "/a/b"),
            ("/", "/"),
            ("*", "*"),
            ("", ""),
            ("/a#b?c", "/a#b"),
            ("http://example.com/x%20y?z", "/x%20y"),
            ("http://example.com", ""),
            ("http://example.com?a=/b", ""),
            ("example.com:443", "example.com:443"),
            ("//double/x?http://", "//double/x"),
            ("://x", "://x"),
        ];
        for (target, expected) in cases {
            assert_eq!(raw_path(target.as_bytes()), expected.as_bytes(), "{target}");
        }
    }

    #[test]
    fn finds_extensions() {
        let cases = [
            ("/a.PHP", "php"),
            ("/a.php/b", ""),
            ("/a.tar.gz", "gz"),
            ("/.env", "env"),
            ("/a.", ""),
            ("/", ""),
            ("", ""),
            ("x.Js", "js"),
        ];
        let arena = Bump::new();
        for (path, expected) in cases {
            assert_eq!(extension(&arena, path.as_bytes()), expected.as_bytes(), "{path}");
        }
    }

    /// The obvious decoder, for comparison.
    fn naive(bytes: &[u8], plus_as_space: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let escape = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%').and_then(|digits| {
                digits.iter().all(u8::is_ascii_hexdigit).then(|| {
                    u8::from_str_radix(std::str::from_utf8(digits).expect("hexadecimal"), 16).expect("hexadecimal")
                })
            });
            match escape {
                Some(byte) => {
                    out.push(byte);
                    at += 3;
                }
                None => {
                    out.push(if plus_as_space && bytes[at] == b'+' { b' ' } else { bytes[at] });
                    at += 1;
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn decodes_as_the_naive_way(text in "[%+0-9a-fA-Fgx]{0,40}", plus: bool) {
            let arena = Bump::new();
            let mut found = Anomalies::empty();
            let decoded = decode(&arena, text.as_bytes(), plus, &mut found);
            prop_assert_eq!(decoded, &naive(text.as_bytes(), plus)[..]);
            prop_assert_eq!(decoded == text.as_bytes(), std::ptr::eq(decoded, text.as_bytes()));
        }

        #[test]
        fn takes_any_bytes(bytes: Vec<u8>) {
            let arena = Bump::new();
            let _ = raw_path(&bytes);
            let _ = extension(&arena, &bytes);
            prop_assert!(decode(&arena, &bytes, true, &mut Anomalies::empty()).len() <= bytes.len());
        }
    }
}
