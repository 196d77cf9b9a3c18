//! JSON text straight into a byte buffer: no formatting machinery, no intermediate strings.
//!
//! nginx's own `escape=json` looks at every byte twice (once for the length, once to copy) and
//! its log format calls a function per variable; that is where 5 µs of a 33-field line go. Here
//! clean text is recognised eight bytes at a time and copied in runs.
//!
//! Whatever the bytes, the result is valid JSON in valid UTF-8: bytes that are not UTF-8 become
//! `\u00XX`.

/// Bytes of one value that are written at most: nginx takes header lines up to 8 KiB by default,
/// and a log line has to end somewhere.
pub const MAX_VALUE: usize = 8 * 1024;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What a byte needs: 0 nothing, 1 `\u00XX`, 2 a look at the UTF-8 sequence, else the letter
/// after the backslash.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 | 0x7f => 1,
            0x80.. => 2,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// Writes `text` as a JSON string, cut after [`MAX_VALUE`] bytes.
#[inline]
pub fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    escaped(out, &text[..text.len().min(MAX_VALUE)]);
    out.push(b'"');
}

/// Writes text that is known to need no escaping as a JSON string.
#[inline]
pub fn plain(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// Writes `text` with what JSON strings cannot hold escaped.
pub fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let clean = clean_run(rest);
        out.extend_from_slice(&rest[..clean]);
        rest = &rest[clean..];
        let Some(&byte) = rest.first() else { return };
        match CLASS[usize::from(byte)] {
            1 => unicode_escape(out, byte),
            2 => {
                let length = utf8_length(rest);
                if length > 0 {
                    out.extend_from_slice(&rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
                unicode_escape(out, byte);
            }
            letter => out.extend_from_slice(&[b'\\', letter]),
        }
        rest = &rest[1..];
    }
}

fn unicode_escape(out: &mut Vec<u8>, byte: u8) {
    let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
}

/// How many bytes from the start need no escaping.
#[inline]
fn clean_run(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // A byte of the word is zero: the classic test, exact as to whether there is one.
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = 0;
    while let Some(eight) = text.get(at..at + 8) {
        let word = u64::from_ne_bytes(eight.try_into().expect("eight bytes"));
        let below_space = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let quote = has_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = has_zero(word ^ (ONES * u64::from(b'\\')));
        let delete = has_zero(word ^ (ONES * 0x7f));
        if (word & HIGH) | below_space | quote | backslash | delete != 0 {
            break;
        }
        at += 8;
    }
    let tail = &text[at..];
    at + tail.iter().position(|byte| CLASS[usize::from(*byte)] != 0).unwrap_or(tail.len())
}

/// Length of the UTF-8 sequence at the start (2 to 4), or 0 if there is none.
fn utf8_length(text: &[u8]) -> usize {
    let length = match text[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return 0,
    };
    match text.get(..length) {
        Some(sequence) if std::str::from_utf8(sequence).is_ok() => length,
        _ => 0,
    }
}

/// Two decimal digits for every number below 100.
static PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[number * 2] = b'0' + (number / 10) as u8;
        pairs[number * 2 + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Writes a number in decimal.
#[inline]
pub fn number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    while rest >= 100 {
        let pair = (rest % 100) as usize * 2;
        rest /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if rest >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[rest as usize * 2..rest as usize * 2 + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a number in decimal with leading zeros, `N` digits (the lowest ones).
#[inline]
pub fn padded<const N: usize>(out: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; N];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Writes an array of what `write` makes of each item.
pub fn array<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Writes an object, member by member.
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    separator: u8,
}

impl<'o> Object<'o> {
    /// Begins an object at the end of `out`.
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, separator: b'{' }
    }

    /// Writes a name, given as `"name":`. The caller has to write one value after it.
    pub fn member(&mut self, fragment: &str) -> &mut Vec<u8> {
        self.out.push(std::mem::replace(&mut self.separator, b','));
        self.out.extend_from_slice(fragment.as_bytes());
        self.out
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.extend_from_slice(if self.separator == b'{' { b"{}" } else { b"}" });
    }
}

/// Writes an IP address as a JSON string.
pub fn address(out: &mut Vec<u8>, address: std::net::IpAddr) {
    out.push(b'"');
    match address {
        std::net::IpAddr::V4(v4) => {
            for (place, octet) in v4.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push(b'.');
                }
                number(out, u64::from(octet));
            }
        }
        // The compressed form of RFC 5952 is the standard library's business; it does not allocate.
        std::net::IpAddr::V6(v6) => {
            let _ = std::io::Write::write_fmt(out, format_args!("{v6}"));
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &[u8]) -> String {
        let mut out = Vec::new();
        string(&mut out, text);
        String::from_utf8(out).expect("the result is UTF-8")
    }

    #[test]
    fn clean_text_stays_as_it_is_and_the_rest_is_escaped() {
        assert_eq!(written(b"plain text, longer than eight bytes"), "\"plain text, longer than eight bytes\"");
        assert_eq!(written(b"a\"b\\c\nd\re\tf\0g\x7f"), r#""a\"b\\c\nd\re\tf\u0000g\u007f""#);
        assert_eq!(written("gr\u{fc}\u{df}e \u{4e2d}\u{1f980}".as_bytes()), "\"gr\u{fc}\u{df}e \u{4e2d}\u{1f980}\"");
        assert_eq!(written(b"\xff\xc3(\xe2\x82"), r#""\u00ff\u00c3(\u00e2\u0082""#);
        assert_eq!(written(b"\xed\xa0\x80"), r#""\u00ed\u00a0\u0080""#, "surrogates are not UTF-8");
    }

    #[test]
    fn every_byte_in_every_place_of_a_word_is_seen() {
        for place in 0..17 {
            for byte in 0..=255u8 {
                let mut text = vec![b'x'; 20];
                text[place] = byte;
                let json = written(&text);
                let inner = &json[1..json.len() - 1];
                assert!(!inner.replace("\\\\", "").replace("\\\"", "").contains('"'), "{byte:#x} at {place}: {json}");
                assert!(inner.bytes().all(|b| b >= 0x20), "{byte:#x} at {place}: {json}");
            }
        }
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(written(&vec![b'a'; MAX_VALUE + 1]).len(), MAX_VALUE + 2);
    }

    #[test]
    fn numbers_and_addresses_are_as_the_standard_library_writes_them() {
        for value in [0, 9, 10, 99, 100, 101, 12345, 9_999_999, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
        let mut out = Vec::new();
        padded::<3>(&mut out, 7);
        assert_eq!(out, b"007");
        for text in ["127.0.0.1", "255.0.20.3", "2001:db8::1", "::"] {
            let mut out = Vec::new();
            address(&mut out, text.parse().expect("an address"));
            assert_eq!(out, format!("\"{text}\"").as_bytes());
        }
    }
}
