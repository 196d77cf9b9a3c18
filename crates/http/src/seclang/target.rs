//! Variables of the request target, as `Transaction::processURI` sets them.

use bumpalo::Bump;

use crate::{Anomalies, uri};

/// The parts of a request target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// `REQUEST_URI`: all of it, decoded, without scheme and authority. A fragment is part of it, because
    /// it is sent on, and servers read it as part of the query or path.
    pub uri: &'a [u8],
    /// `REQUEST_FILENAME` and `PATH_INFO`: the path, decoded.
    pub path: &'a [u8],
    /// `REQUEST_BASENAME`: the text after the last slash or backslash of the path.
    pub basename: &'a [u8],
    /// `QUERY_STRING`: as received.
    pub query: &'a [u8],
}

impl<'a> Target<'a> {
    pub fn parse(arena: &'a Bump, raw: &'a [u8]) -> Self {
        let question = memchr::memchr(b'?', raw);
        let decode = |bytes| uri::decode(arena, bytes, false, &mut Anomalies::empty());
        let decoded = decode(raw);
        // No escape spans the question mark, so this is a prefix of `decoded`.
        let path = &decoded[..decode(&raw[..question.unwrap_or(raw.len())]).len()];
        let basename = memchr::memrchr2(b'/', b'\\', path).map_or(&path[..0], |slash| &path[slash + 1..]);
        Self { uri: without_authority(decoded), path, basename, query: question.map_or(&[], |at| &raw[at + 1..]) }
    }
}

/// The path and the rest of a target in absolute form that has a path.
fn without_authority(target: &[u8]) -> &[u8] {
    if target.starts_with(b"/") {
        return target;
    }
    let Some(colon) = memchr::memchr(b':', target) else { return target };
    match target[colon + 1..].strip_prefix(b"//") {
        Some(authority) => memchr::memchr(b'/', authority).map_or(target, |slash| &authority[slash..]),
        None => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        // target, REQUEST_URI, REQUEST_FILENAME, REQUEST_BASENAME, QUERY_STRING
        let cases = [
            ("/", "/", "/", "", ""),
            ("", "", "", "", ""),
            ("/a/b%20c?x=%41&y#f?z", "/a/b c?x=A&y#f?z", "/a/b c", "b c", "x=%41&y#f?z"),
            ("/a\\b%5cc", "/a\\b\\c", "/a\\b\\c", "c", ""),
            ("/a%2fb", "/a/b", "/a/b", "b", ""),
            ("/a%zz%4", "/a%zz%4", "/a%zz%4", "a%zz%4", ""),
            ("/a#b?c", "/a#b?c", "/a#b", "a#b", "c"),
            ("/a%4?1", "/a%4?1", "/a%4", "a%4", "1"),
            ("/a%2523", "/a%23", "/a%23", "a%23", ""),
            ("http://h/p?q", "/p?q", "http://h/p", "p", "q"),
            ("http://h?q", "http://h?q", "http://h", "h", "q"),
            ("*", "*", "*", "", ""),
            ("?a", "?a", "", "", "a"),
        ];
        let arena = Bump::new();
        for (target, uri, path, basename, query) in cases {
            let expected = [uri, path, basename, query].map(str::as_bytes);
            let found = Target::parse(&arena, target.as_bytes());
            assert_eq!([found.uri, found.path, found.basename, found.query], expected, "{target}");
        }
    }

    #[test]
    fn an_encoded_question_mark_belongs_to_the_path() {
        let arena = Bump::new();
        assert_eq!(Target::parse(&arena, b"/a%3Fb/c?d").path, b"/a?b/c");
    }
}
