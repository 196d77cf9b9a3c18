//! Percent-encoding as Signature Version 4 defines it: everything but letters, digits and `-._~`, in upper-case
//! hexadecimal ("Create a signed AWS API request", `UriEncode`).

use super::PathRule;

/// How the text that is to be encoded reads.
#[derive(Clone, Copy)]
pub(super) enum Text {
    /// A path whose `%` is a byte like any other.
    PathAgain,
    /// A path with escapes. `%2F` does not become a separator: the two are different keys.
    Path,
    /// A name or value of a query, with escapes. `+` is a plus sign.
    Query,
    /// Bytes that have not been encoded yet.
    Plain,
}

/// Appends the text, encoded.
pub(super) fn encode(out: &mut Vec<u8>, text: &[u8], kind: Text) {
    let (keeps_slash, has_escapes) = match kind {
        Text::PathAgain => (true, false),
        Text::Path => (true, true),
        Text::Query => (false, true),
        Text::Plain => (false, false),
    };
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = if has_escapes && byte == b'%' { escape(after) } else { None };
        if escaped.is_some() {
            rest = &after[2..];
        }
        let value = escaped.unwrap_or(byte);
        let is_separator = keeps_slash && byte == b'/';
        if value.is_ascii_alphanumeric() || b"-._~".contains(&value) || is_separator {
            out.push(value);
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.extend([b'%', DIGITS[usize::from(value >> 4)], DIGITS[usize::from(value & 15)]]);
        }
    }
}

/// The byte that the two digits after a `%` stand for.
fn escape(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    Some((digit(0)? << 4 | digit(1)?) as u8)
}

/// Appends the path of the canonical request.
pub(super) fn path(out: &mut Vec<u8>, path: &[u8], rule: PathRule) {
    let kind = if rule.is_encoded_again { Text::PathAgain } else { Text::Path };
    if !rule.is_normalized {
        encode(out, if path.is_empty() { b"/" } else { path }, kind);
        return;
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    for segment in &segments {
        out.push(b'/');
        encode(out, segment, kind);
    }
    if segments.is_empty() || path.ends_with(b"/") {
        out.push(b'/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(text: &str, is_normalized: bool, is_encoded_again: bool) -> String {
        let mut out = Vec::new();
        path(&mut out, text.as_bytes(), PathRule { is_normalized, is_encoded_again });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn paths_are_normalised_and_encoded_as_the_rule_says() {
        let cases = [
            ("", "/", "/"),
            ("//a/./b/../c//", "/a/c/", "//a/./b/../c//"),
            ("/..", "/", "/.."),
            ("/a%20b", "/a%2520b", "/a%20b"),
            ("/a%2fb/!", "/a%252fb/%21", "/a%2Fb/%21"),
            ("/%41%zz%", "/%2541%25zz%25", "/A%25zz%25"),
        ];
        for (sent, default, s3) in cases {
            assert_eq!((path_of(sent, true, true), path_of(sent, false, false)), (default.into(), s3.into()), "{sent}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let all: Vec<u8> = (0..=255).collect();
        let mut out = Vec::new();
        encode(&mut out, &all, Text::Plain);
        assert_eq!(*crate::encoding::from_percent(&out, false).bytes, *all);
    }
}
