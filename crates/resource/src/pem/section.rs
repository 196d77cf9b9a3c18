//! The blocks of a PEM text (RFC 7468), each with the line where it begins. What is between the lines is
//! decoded elsewhere.

/// A block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section<'t> {
    /// Line, from 1.
    pub line: usize,
    /// `CERTIFICATE`.
    pub label: &'t str,
    /// From its first line to its last.
    pub text: &'t str,
}

/// Why a text has no blocks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Line, from 1.
    pub line: usize,
    pub message: &'static str,
}

/// The blocks of a text; what is written between them is a comment.
pub(super) fn sections(text: &str) -> Result<Vec<Section<'_>>, Broken> {
    let mut all = Vec::new();
    let mut open: Option<(usize, usize, &str)> = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        match (open, label(line, "-----BEGIN "), label(line, "-----END ")) {
            (None, Some(label), _) => open = Some((index + 1, at, label)),
            (Some((begun, _, _)), Some(_), _) => {
                return Err(Broken { line: begun, message: "the block that begins here has no -----END line" });
            }
            (None, None, Some(_)) => {
                return Err(Broken { line: index + 1, message: "a block ends here that does not begin" });
            }
            (Some((line, from, label)), None, Some(ended)) => {
                if ended != label {
                    return Err(Broken { line: index + 1, message: "another block ends here than began" });
                }
                all.push(Section { line, label, text: &text[from..end] });
                open = None;
            }
            (_, None, None) => {}
        }
        at = end;
    }
    match open {
        Some((line, _, _)) => Err(Broken { line, message: "the block that begins here has no -----END line" }),
        None => Ok(all),
    }
}

fn label<'l>(line: &'l str, begin: &str) -> Option<&'l str> {
    line.trim().strip_prefix(begin)?.strip_suffix("-----")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_lines() {
        let text = "hello\n-----BEGIN A B-----\r\nxx\r\n-----END A B-----\r\n\n-----BEGIN C-----\n-----END C-----";
        let all = sections(text).unwrap();
        assert_eq!(all.iter().map(|one| (one.line, one.label)).collect::<Vec<_>>(), [(2, "A B"), (6, "C")]);
        assert!(all[0].text.starts_with("-----BEGIN A B") && all[1].text.ends_with("-----END C-----"));
        for (text, line) in [
            ("-----BEGIN A-----\nx", 1),
            ("\n-----END A-----", 2),
            ("-----BEGIN A-----\n-----END B-----", 2),
            ("-----BEGIN A-----\n-----BEGIN A-----\n-----END A-----", 1),
        ] {
            assert_eq!(sections(text).unwrap_err().line, line, "{text}");
        }
        assert_eq!(sections("nothing").unwrap(), []);
    }
}
