//! The query of a request in canonical form: decoded, encoded again in the one way that the scheme knows, sorted.
//!
//! All parameters lie in one buffer. Sorting compares names and then values, as bytes, in O(n log n).

use std::ops::Range;

use super::uri::{Text, encode};
use crate::encoding::from_percent;

/// The parameter that cannot sign itself.
pub(super) const SIGNATURE: &str = "X-Amz-Signature";

/// The parameters of a query.
pub(super) struct Query {
    text: Vec<u8>,
    pairs: Vec<(Range<usize>, Range<usize>)>,
}

impl Query {
    /// The parameters of a query without its `?`. Empty parameters between two `&` are skipped.
    pub(super) fn read(query: &[u8]) -> Self {
        let mut text = Vec::with_capacity(query.len());
        let mut pairs = Vec::new();
        for part in query.split(|byte| *byte == b'&').filter(|part| !part.is_empty()) {
            let equals = memchr::memchr(b'=', part).unwrap_or(part.len());
            let start = text.len();
            encode(&mut text, &part[..equals], Text::Query);
            let middle = text.len();
            encode(&mut text, part.get(equals + 1..).unwrap_or_default(), Text::Query);
            pairs.push((start..middle, middle..text.len()));
        }
        pairs.sort_by(|a, b| {
            let key = |(name, value): &(Range<usize>, Range<usize>)| (&text[name.clone()], &text[value.clone()]);
            key(a).cmp(&key(b))
        });
        Self { text, pairs }
    }

    /// The values of a parameter, decoded. Names are case-sensitive.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = Vec<u8>> {
        let name = name.as_bytes();
        let start = self.pairs.partition_point(|(found, _)| self.text[found.clone()] < *name);
        let named = self.pairs[start..].iter().take_while(move |(found, _)| self.text[found.clone()] == *name);
        named.map(|(_, value)| from_percent(&self.text[value.clone()], false).bytes.into_owned())
    }

    /// Appends the canonical query.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for (name, value) in &self.pairs {
            let name = &self.text[name.clone()];
            if name != SIGNATURE.as_bytes() {
                let separator = if out.len() > start { &b"&"[..] } else { b"" };
                out.extend_from_slice(separator);
                out.extend_from_slice(name);
                out.push(b'=');
                out.extend_from_slice(&self.text[value.clone()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_sorted_by_name_and_then_by_value() {
        let query = Query::read(b"b=2&b-=1&b=1&&a&X-Amz-Signature=x&c=%7e+/%2f=%e1");
        let mut out = b"?".to_vec();
        query.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "?a=&b=1&b=2&b-=1&c=~%2B%2F%2F%3D%E1");
        assert_eq!(query.values("b").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(query.values("c").next().unwrap(), b"~+//=\xe1");
        assert_eq!(query.values("C").next(), None);
    }
}
