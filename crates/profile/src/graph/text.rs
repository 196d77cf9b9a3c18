//! Makes names safe: a symbol may contain anything that a linker or a script's author put there.
//!
//! Control characters and characters that reorder text become visible escapes *before* a name is
//! escaped for its context, so that the display is faithful and XML stays well-formed.

use std::fmt::Write as _;

/// Maximum displayed length of a name, in characters; C++ templates have thousands.
const MAX_NAME: usize = 400;

/// A name without control and reordering characters, at most [`MAX_NAME`] characters long.
pub(crate) fn clean(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (count, character) in name.chars().enumerate() {
        if count == MAX_NAME {
            out.push('…');
            break;
        }
        if is_unsafe(character) {
            let _ = write!(out, "\\u{{{:x}}}", character as u32);
        } else {
            out.push(character);
        }
    }
    out
}

fn is_unsafe(character: char) -> bool {
    // Besides controls: characters that hide or reorder text (Unicode TR 36), and those that XML 1.0 forbids.
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(character, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Text for XML and HTML, in elements and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Cuts a text to this many columns, with `…` for the rest; empty below three columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if columns < 3 {
        return String::new();
    }
    let width = |character: char| if is_wide(character) { 2 } else { 1 };
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += width(*character);
        used <= columns
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// Characters that monospaced fonts draw two columns wide (Unicode TR 11, the large blocks of W and F).
fn is_wide(character: char) -> bool {
    matches!(character as u32, 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_hide_or_break_is_shown() {
        let cases = [
            ("plain::name<T>", "plain::name<T>"),
            ("a\0b\x1b[31m\n", "a\\u{0}b\\u{1b}[31m\\u{a}"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("名前", "名前"),
        ];
        for (name, want) in cases {
            assert_eq!(clean(name), want);
        }
        assert_eq!(clean(&"x".repeat(MAX_NAME + 9)).chars().count(), MAX_NAME + 1);
    }

    #[test]
    fn text_cannot_end_its_place() {
        assert_eq!(escape("</script>\"'&"), "&lt;/script&gt;&quot;&#39;&amp;");
    }

    #[test]
    fn a_text_is_cut_to_its_columns() {
        let cases = [("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 2, ""), ("名前です", 5, "名前…")];
        for (text, columns, want) in cases {
            assert_eq!(fit(text, columns), want);
        }
    }
}
