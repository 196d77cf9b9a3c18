//! Wildcard patterns: `*` is any bytes, everything else stands for itself.
//!
//! Pieces between the stars are searched left to right, first fit: with `*` as the only
//! metacharacter that is exact and needs no backtracking, so the cost is linear per piece.

use memchr::memmem;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Wildcard {
    /// Bytes between the stars; folded to lower case unless `strict`. Never empty.
    pieces: Vec<Vec<u8>>,
    strict: bool,
}

impl Wildcard {
    pub(crate) fn new(pattern: &[u8], strict: bool) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut bytes = pattern.iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'*' => pieces.push(Vec::new()),
                b'\\' => pieces.last_mut().expect("never empty").push(bytes.next().unwrap_or(b'\\')),
                other => pieces.last_mut().expect("never empty").push(other),
            }
        }
        if !strict {
            pieces.iter_mut().for_each(|piece| piece.make_ascii_lowercase());
        }
        Self { pieces, strict }
    }

    /// The longest run of literal bytes that every match contains.
    pub(crate) fn longest_piece(&self) -> &[u8] {
        self.pieces.iter().max_by_key(|piece| piece.len()).expect("never empty")
    }

    /// Whether the whole of `value` matches.
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        if self.strict {
            return self.matches_folded(value);
        }
        if value.iter().any(u8::is_ascii_uppercase) {
            return self.matches_folded(&value.to_ascii_lowercase());
        }
        self.matches_folded(value)
    }

    fn matches_folded(&self, value: &[u8]) -> bool {
        let (first, rest) = self.pieces.split_first().expect("never empty");
        let Some((last, middle)) = rest.split_last() else { return value == first.as_slice() };
        if value.len() < first.len() + last.len() || !value.starts_with(first) || !value.ends_with(last) {
            return false;
        }
        let mut inner = &value[first.len()..value.len() - last.len()];
        for piece in middle {
            match memmem::find(inner, piece) {
                Some(at) => inner = &inner[at + piece.len()..],
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_bytes_and_escapes_stand_for_themselves() {
        for (pattern, value, strict, expected) in [
            ("*.example.com", "www.EXAMPLE.com", false, true),
            ("*.example.com", "www.EXAMPLE.com", true, false),
            ("/api/*/users", "/api/v1/users", true, true),
            ("/api/*/users", "/api/v1/users/2", true, false),
            ("a*a", "a", true, false),
            ("a*a", "aa", true, true),
            ("*", "", true, true),
            ("", "", true, true),
            ("", "x", true, false),
            (r"a\*b", "a*b", true, true),
            (r"a\*b", "axb", true, false),
            (r"a\\b", r"a\b", true, true),
            ("*b*c*", "abxcx", true, true),
            ("*c*b*", "abxcx", true, false),
            ("**", "x", true, true),
        ] {
            assert_eq!(
                Wildcard::new(pattern.as_bytes(), strict).matches(value.as_bytes()),
                expected,
                "{pattern} on {value}"
            );
        }
    }
}
