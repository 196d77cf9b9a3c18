//! Query parameters as `@query-param` shows them (RFC 9421, section 2.2.8): decoded as a form, then percent-encoded.
//!
//! The form of a query is that of the URL standard, <https://url.spec.whatwg.org/#application/x-www-form-urlencoded>.
//! Text that is not UTF-8 has no value there but U+FFFD, which many texts would share; it is left out instead, so that
//! no signature can cover it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The parameters of a query, names and values percent-encoded, in order.
#[derive(Debug)]
pub struct Query(Vec<(String, Option<String>)>);

impl Query {
    /// Reads a query without its `?`.
    #[must_use]
    pub fn parse(query: &[u8]) -> Self {
        let parts = query.split(|byte| *byte == b'&').filter(|part| !part.is_empty());
        let parameter = |part: &[u8]| {
            let at = memchr::memchr(b'=', part).unwrap_or(part.len());
            let value = part.get(at + 1..).unwrap_or_default();
            Some((recode(&part[..at])?, recode(value)))
        };
        Self(parts.filter_map(parameter).collect())
    }

    /// The values of the parameters with a percent-encoded name; `None` for those that are not UTF-8.
    pub fn values<'q>(&'q self, name: &'q str) -> impl Iterator<Item = Option<&'q str>> {
        self.0.iter().filter(move |parameter| parameter.0 == name).map(|parameter| parameter.1.as_deref())
    }
}

/// Decodes `+` and `%` escapes and encodes the result; `None` if it is not UTF-8.
fn recode(text: &[u8]) -> Option<String> {
    let decoded = decode(text);
    let decoded = std::str::from_utf8(&decoded).ok()?;
    let mut encoded = String::with_capacity(decoded.len());
    for byte in decoded.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'*' | b'-' | b'.' | b'_') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Some(encoded)
}

fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'+', b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut decoded, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(byte) = text.get(at) {
        match (*byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            (byte, ..) => decoded.push(byte),
        }
        at += 1;
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_encoded_in_one_way() {
        let query = Query::parse(b"a=1&&b=x+y%7e%2B&c&d=&%C3%A9%20=%zz%&a=2&=empty&bad=%FF&%FF=bad&e==");
        let values = |name| query.values(name).collect::<Vec<_>>();
        assert_eq!(values("a"), [Some("1"), Some("2")]);
        assert_eq!(values("b"), [Some("x%20y%7E%2B")]);
        assert_eq!(values("c"), [Some("")]);
        assert_eq!(values("d"), [Some("")]);
        assert_eq!(values("%C3%A9%20"), [Some("%25zz%25")]);
        assert_eq!(values(""), [Some("empty")]);
        assert_eq!(values("bad"), [None]);
        assert_eq!(values("e"), [Some("%3D")]);
        assert_eq!(values("f"), []);
    }
}
