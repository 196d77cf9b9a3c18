//! Parameters that are lists, inline or from files: phrases of `@pm`, addresses of `@ipMatch`,
//! bytes of `@validateByteRange`.

use std::net::IpAddr;

use ipnet::IpNet;

/// Phrases of `@pm`: words, with `|41 42|` for bytes and `\` before literal characters. Text that
/// does not follow this syntax is split into plain words, as in ModSecurity's `parse_pm_content`.
pub(super) fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let trimmed = text.trim_ascii();
    let inside = match trimmed {
        [b'"', inside @ .., b'"'] => inside,
        other => other,
    };
    let content = decoded(inside).unwrap_or_else(|| text.to_vec());
    content.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

/// White space in the C locale.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

/// `None` if a backslash precedes a character that needs no escape.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let (mut binary, mut escaped, mut high) = (false, false, None);
    for &byte in text {
        match byte {
            b'|' => binary = !binary,
            b'\\' if !escaped => escaped = true,
            _ if binary => {
                let Some(digit) = char::from(byte).to_digit(16) else { continue };
                let digit = u8::try_from(digit).expect("below 16");
                match high.take() {
                    Some(high) => plain.push(high << 4 | digit),
                    None => high = Some(digit),
                }
            }
            b':' | b';' | b'\\' | b'"' if escaped => {
                plain.push(byte);
                escaped = false;
            }
            _ if escaped => return None,
            _ => plain.push(byte),
        }
    }
    Some(plain)
}

/// Phrases of a file: its lines, except comments and empty lines.
pub(super) fn lines(content: &[u8]) -> Vec<Vec<u8>> {
    let lines = content.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let is_phrase = |line: &&[u8]| !line.is_empty() && line.trim_ascii_start().first() != Some(&b'#');
    lines.filter(is_phrase).map(<[u8]>::to_vec).collect()
}

/// Addresses and networks separated by commas.
///
/// # Errors
/// The text that is neither, and its offset.
pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, (usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in text.split(',') {
        let word = part.trim();
        if !word.is_empty() {
            let start = at + (part.len() - part.trim_start().len());
            found.push(network(word).ok_or_else(|| (start, word.to_owned()))?);
        }
        at += part.len() + 1;
    }
    Ok(found)
}

fn network(word: &str) -> Option<IpNet> {
    word.parse::<IpNet>().map(|net| net.trunc()).ok().or_else(|| word.parse::<IpAddr>().map(IpNet::from).ok())
}

/// Addresses and networks in the lines of a file, where `#` begins a comment.
///
/// # Errors
/// The text that is neither, and its line, from 1.
pub(super) fn network_lines(content: &[u8]) -> Result<Vec<IpNet>, (usize, String)> {
    let mut found = Vec::new();
    for (line, number) in String::from_utf8_lossy(content).lines().zip(1..) {
        let list = line.split('#').next().unwrap_or_default();
        found.extend(networks(list).map_err(|(_, word)| (number, word))?);
    }
    Ok(found)
}

/// `1-255,10`: a set of bytes.
///
/// # Errors
/// The part that is neither a byte nor a range.
pub(super) fn bytes(text: &str) -> Result<[u64; 4], String> {
    let mut set = [0; 4];
    for part in text.split(',') {
        let word = part.trim();
        let (low, high) = word.split_once('-').unwrap_or((word, word));
        let range = low.trim().parse::<u8>().ok().zip(high.trim().parse::<u8>().ok());
        let Some((low, high)) = range.filter(|(low, high)| low <= high) else { return Err(word.to_owned()) };
        for byte in low..=high {
            set[usize::from(byte / 64)] |= 1_u64 << (byte % 64);
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_words_with_escapes() {
        let cases: &[(&str, &[&str])] = &[
            ("a b  c", &["a", "b", "c"]),
            (r#""a b""#, &["a", "b"]),
            ("x|41 42|y", &["xABy"]),
            (r"a\:b \\c", &["a:b", r"\c"]),
            (r"a\nb c", &[r"a\nb", "c"]),
            ("a \\\n b", &["a", "\\", "b"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.as_bytes().to_vec()).collect();
            assert_eq!(words(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_a_file_are_phrases() {
        let found = lines(b"# no\n  # no\na b\r\n\n c#d\n");
        assert_eq!(found, [b"a b".to_vec(), b" c#d".to_vec()]);
    }

    #[test]
    fn networks_are_read_and_cut() {
        let found = networks("10.1.2.3/8, ::1,127.0.0.1").expect("are networks");
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.0.0.0/8", "::1/128", "127.0.0.1/32"]
        );
        assert_eq!(networks("127.0.0.1, x"), Err((11, "x".into())));
        assert_eq!(network_lines(b"1.2.3.4 # a\n\nz\n"), Err((3, "z".into())));
    }

    #[test]
    fn byte_ranges_are_sets() {
        assert_eq!(bytes("0, 63-64,255"), Ok([1 | 1 << 63, 1, 0, 1 << 63]));
        for wrong in ["", "256", "5-3", "a", "1-"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
