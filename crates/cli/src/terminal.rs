//! Makes text that came over the network safe to show: an attacker's bytes must not move the
//! cursor or change the title of the window in which somebody reads about the attack.

/// Control characters as `\x1b`, and no longer than `most` characters.
pub fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == most {
            out.push('…');
            break;
        }
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Beside C0 and C1 those that reorder or hide text (Unicode, Trojan Source).
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                out.push_str(&format!("\\u{{{:x}}}", character as u32));
            }
            other if other.is_control() => out.push_str(&format!("\\x{:02x}", other as u32)),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn no_control_character_passes() {
        assert_eq!(shown("a\x1b[31mb\n\u{9b}\u{202e}", 99), "a\\x1b[31mb\\n\\x9b\\u{202e}");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("äöü", 3), "äöü");
    }
}
