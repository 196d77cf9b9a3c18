//! Excerpts of what a client sent, for failures: short and printable, so that a log line stays one line.

use std::fmt;

/// The most bytes of a request that a failure repeats.
pub const MAX_EXCERPT_BYTES: usize = 64;

/// Displays at most the first [`MAX_EXCERPT_BYTES`] bytes; bytes other than printable ASCII are escaped.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(pub &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.0[..self.0.len().min(MAX_EXCERPT_BYTES)];
        let dots = if start.len() < self.0.len() { "..." } else { "" };
        write!(out, "`{}{dots}`", start.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_short_and_printable() {
        assert_eq!(Excerpt(b"a\n\xff").to_string(), "`a\\n\\xff`");
        assert_eq!(Excerpt(&[b'a'; 64]).to_string(), format!("`{}`", "a".repeat(64)));
        assert_eq!(Excerpt(&[b'a'; 9000]).to_string(), format!("`{}...`", "a".repeat(64)));
    }
}
