//! Query parameters as `@query-param` shows them (RFC 9421, section 2.2.8): decoded as a form, then percent-encoded.
//!
//! The form of a query is that of the URL standard, <https://url.spec.whatwg.org/#application/x-www-form-urlencoded>.
//! Text that is not UTF-8 has no value there but U+FFFD, which many texts would share; it is left out instead, so that
//! no signature can cover it.

use std::fmt::Write as _;

use crate::encoding::from_percent;

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
    let decoded = from_percent(text, true).bytes;
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
