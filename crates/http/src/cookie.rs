//! `Cookie: a=1; b=2`, as servers read it (RFC 6265, section 5.4).
//!
//! Values stay as sent: cookies have no encoding, and quotes belong to the value. Browsers send a nameless cookie as
//! a piece without `=`, so such a piece becomes a value without a name, visible to rules that test all values.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_ITEMS};
use crate::fault::Faults;
use crate::{Anomalies, Pair, json, text, uri};

/// The cookies of all `Cookie` header fields, in order, borrowed.
#[must_use]
pub fn parse<'a>(
    arena: &'a Bump,
    headers: impl Iterator<Item = &'a [u8]> + Clone,
    anomalies: &mut Anomalies,
) -> &'a [Pair<'a>] {
    let expected: usize = headers.clone().map(|header| memchr::memchr_iter(b';', header).count() + 1).sum();
    if expected == 0 {
        return &[];
    }
    let mut pairs = Vec::with_capacity_in(expected.min(MAX_ITEMS), arena);
    for header in headers {
        *anomalies |= text::check(header);
        for piece in header.split(|byte| *byte == b';') {
            let piece = text::trim(piece);
            if piece.is_empty() {
                continue; // `a=1; ` is common and harmless
            }
            if pairs.len() == MAX_ITEMS {
                *anomalies |= Anomalies::TOO_MANY_ITEMS;
                return pairs.into_bump_slice();
            }
            pairs.push(match memchr::memchr(b'=', piece) {
                Some(at) if at > 0 => Pair { name: text::trim(&piece[..at]), value: text::trim(&piece[at + 1..]) },
                nameless => {
                    *anomalies |= Anomalies::INVALID_COOKIE;
                    Pair { name: b"", value: text::trim(&piece[nameless.map_or(0, |at| at + 1)..]) }
                }
            });
        }
    }
    pairs.into_bump_slice()
}

/// Cookies followed by what frameworks take from within their values: the text between quotes (Flask, Express, Go), and
/// the names and scalars of an Express cookie of JSON (`j:{...}`). With `decode`, values are those of a form, as PHP
/// decodes them.
#[must_use]
pub fn with_inner_values<'a>(
    arena: &'a Bump,
    cookies: &'a [Pair<'a>],
    decode: bool,
    anomalies: &mut Anomalies,
) -> &'a [Pair<'a>] {
    let is_nested = |value: &[u8]| matches!(value, [b'"', .., b'"'] | [b'j', b':' | b'%', ..] | [b'%', b'6', ..]);
    if !decode && !cookies.iter().any(|cookie| is_nested(cookie.value)) {
        return cookies;
    }
    let decoded = |value| uri::decode(arena, value, true, &mut Anomalies::empty());
    let mut pairs = Vec::with_capacity_in(cookies.len(), arena);
    for cookie in cookies {
        let value = if decode { decoded(cookie.value) } else { cookie.value };
        pairs.push(Pair { value, ..*cookie });
        let mut whole = value;
        if let [b'"', inner @ .., b'"'] = value {
            whole = inner;
            let plain = unescaped(arena, inner);
            let texts = [inner].into_iter().chain((plain != inner).then_some(plain));
            pairs.extend(texts.map(|value| Pair { value, ..*cookie }));
        }
        let text = if decode { whole } else { decoded(whole) };
        if let Some(document) = text.strip_prefix(b"j:") {
            let (settings, mut faults) = (json::Settings::new(json::Paths::Dotted, Extent::Whole), Faults::default());
            for leaf in json::parse(arena, document, settings, &mut faults) {
                let names = leaf.name.split(|byte| *byte == b'.').filter(|name| name.len() < leaf.name.len());
                let texts = [leaf.value, leaf.name].into_iter().chain(names).filter(|text| !text.is_empty());
                pairs.extend(texts.map(|value| Pair { value, ..*cookie }));
            }
            // Other faults make it a text for Express, too.
            *anomalies |= faults.anomalies & (Anomalies::TOO_DEEP | Anomalies::TOO_MANY_ITEMS);
        }
    }
    pairs.into_bump_slice()
}

/// The text of a quoted cookie, as Python reads it: `\"` is a quote, `\101` an `A`.
fn unescaped<'a>(arena: &'a Bump, text: &'a [u8]) -> &'a [u8] {
    if !text.contains(&b'\\') {
        return text;
    }
    let mut out = Vec::with_capacity_in(text.len(), arena);
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), after)
            }
            (b'\\', [byte, after @ ..]) | (byte, after) => (*byte, after),
        };
        out.push(byte);
        rest = after;
    }
    out.into_bump_slice()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(headers: &[&[u8]]) -> (String, Anomalies) {
        let arena = Bump::new();
        let mut anomalies = Anomalies::empty();
        let headers: std::vec::Vec<&[u8]> = headers.iter().map(|header| &*arena.alloc_slice_copy(header)).collect();
        let pairs = parse(&arena, headers.iter().copied(), &mut anomalies);
        let shown: std::vec::Vec<String> =
            pairs.iter().map(|pair| format!("{}={}", pair.name.escape_ascii(), pair.value.escape_ascii())).collect();
        (shown.join("|"), anomalies)
    }

    #[test]
    fn parses() {
        const GOOD: Anomalies = Anomalies::empty();
        const BAD: Anomalies = Anomalies::INVALID_COOKIE;
        let cases: [(&[&[u8]], &str, Anomalies); 13] = [
            (&[], "", GOOD),
            (&[b""], "", GOOD),
            (&[b"a=1; b=2"], "a=1|b=2", GOOD),
            (&[b"a=1;b=2;"], "a=1|b=2", GOOD),
            (&[b"a=1", b"b=2"], "a=1|b=2", GOOD),
            (&[b"a=%41+x"], "a=%41+x", GOOD),
            (&[b"a=\"q q\"; b"], "a=\\\"q q\\\"|=b", BAD),
            (&[b" a = 1 ;\tb = 2"], "a=1|b=2", GOOD),
            (&[b"a=b=c"], "a=b=c", GOOD),
            (&[b"=x"], "=x", BAD),
            (&[b"a=;b="], "a=|b=", GOOD),
            (&[b"a=\xff"], "a=\\xff", Anomalies::INVALID_UTF8),
            (&[b"a=\0"], "a=\\x00", Anomalies::NUL_BYTE),
        ];
        for (headers, expected, anomalies) in cases {
            assert_eq!(parsed(headers), (expected.to_owned(), anomalies), "{headers:?}");
        }
    }

    #[test]
    fn bounds_the_number_of_cookies() {
        let arena = Bump::new();
        let many = b"a=1;".repeat(2 * MAX_ITEMS);
        let mut anomalies = Anomalies::empty();
        assert_eq!(parse(&arena, std::iter::once(&many[..]), &mut anomalies).len(), MAX_ITEMS);
        assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);
    }

    #[test]
    fn inner_values_follow_their_cookies() {
        let arena = Bump::new();
        let pairs = [
            ("a", r#""x%20y""#),
            ("b", r#"j%3A{"k":["v+w",2]}"#),
            ("c", "j"),
            ("d", "\""),
            ("e", r#""\141\b""#),
            ("f", r#""%6a:{%22n%22:1}""#),
        ];
        let pairs = arena
            .alloc_slice_fill_iter(pairs.map(|(name, value)| Pair { name: name.as_bytes(), value: value.as_bytes() }));
        let shown = |decode| {
            let all = with_inner_values(&arena, pairs, decode, &mut Anomalies::empty()).iter();
            all.map(|pair| String::from_utf8_lossy(pair.value)).collect::<std::vec::Vec<_>>().join("|")
        };
        let raw = r#""x%20y"|x%20y|j%3A{"k":["v+w",2]}|v w|k.0|k|0|2|k.1|k|1|j|"|"\141\b"|\141\b|ab|"%6a:{%22n%22:1}"|%6a:{%22n%22:1}|1|n"#;
        assert_eq!(shown(false), raw);
        let decoded =
            r#""x y"|x y|j:{"k":["v w",2]}|v w|k.0|k|0|2|k.1|k|1|j|"|"\141\b"|\141\b|ab|"j:{"n":1}"|j:{"n":1}|1|n"#;
        assert_eq!(shown(true), decoded);
        let deep = format!("j:{}1", "[".repeat(300));
        let deep = [Pair { name: b"a", value: arena.alloc_str(&deep).as_bytes() }];
        let mut found = Anomalies::empty();
        let _ = with_inner_values(&arena, arena.alloc(deep), false, &mut found);
        assert_eq!(found, Anomalies::TOO_DEEP);
    }

    proptest! {
        #[test]
        fn takes_any_bytes(headers: std::vec::Vec<std::vec::Vec<u8>>) {
            let arena = Bump::new();
            let pairs = parse(&arena, headers.iter().map(|header| &header[..]), &mut Anomalies::empty());
            let total: usize = pairs.iter().map(|pair| pair.name.len() + pair.value.len()).sum();
            prop_assert!(total <= headers.iter().map(std::vec::Vec::len).sum());
        }
    }
}
