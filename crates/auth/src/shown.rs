//! Bytes of a request in the detail of a failure: printable whatever they are, and no more of them than help a reader.

/// The most bytes of a request that a detail repeats: enough for a name or a date, too few to fill a log with.
const MAX_SHOWN_BYTES: usize = 64;

/// The bytes in backquotes, escaped, with an ellipsis in place of what does not fit.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let (start, rest) = bytes.split_at(bytes.len().min(MAX_SHOWN_BYTES));
    format!("`{}`{}", start.escape_ascii(), if rest.is_empty() { "" } else { "…" })
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn bytes_are_escaped_and_cut() {
        assert_eq!(shown(b"a\xff\n"), r"`a\xff\n`");
        assert_eq!(shown(&[b'a'; 65]), format!("`{}`…", "a".repeat(64)));
    }
}
