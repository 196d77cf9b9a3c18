//! A JSON tokenizer that follows yajl 2.1, with which ModSecurity v3 is built.
//!
//! It differs from [`crate::json`]'s in two ways: vertical tabs and form feeds are white space, and
//! a control character, an unknown escape or malformed UTF-8 within a string ends the parse.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::uri::hex_pair;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// One of `{}[],:`.
    Mark(u8),
    String(&'a [u8]),
    /// A number as written, `true` or `false`; nothing for `null`.
    Scalar(&'a [u8]),
    End,
}

/// yajl's error message.
pub(super) type Fault = &'static str;

pub(super) struct Lexer<'a> {
    arena: &'a Bump,
    rest: &'a [u8],
}

impl<'a> Lexer<'a> {
    pub fn new(arena: &'a Bump, body: &'a [u8]) -> Self {
        Self { arena, rest: body }
    }

    pub fn next(&mut self) -> Result<Token<'a>, Fault> {
        while let [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let Some((first, rest)) = self.rest.split_first() else { return Ok(Token::End) };
        match first {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                self.rest = rest;
                Ok(Token::Mark(*first))
            }
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true").map(Token::Scalar),
            b'f' => self.word(b"false").map(Token::Scalar),
            b'n' => self.word(b"null").map(|_| Token::Scalar(b"")),
            b'/' => Err("probable comment found in input text, comments are not enabled."),
            _ => Err("invalid char in json text."),
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<&'a [u8], Fault> {
        self.rest = self.rest.strip_prefix(word).ok_or("invalid string in json text.")?;
        Ok(word)
    }

    fn number(&mut self) -> Result<Token<'a>, Fault> {
        let text = self.rest;
        let digits = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = usize::from(text[0] == b'-');
        end += match text.get(end) {
            Some(b'0') => 1,
            Some(b'1'..=b'9') => digits(end),
            _ => return Err("malformed number, a digit is required after the minus sign."),
        };
        if text.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            if fraction == 0 {
                return Err("malformed number, a digit is required after the decimal point.");
            }
            end += 1 + fraction;
        }
        if let Some(b'e' | b'E') = text.get(end) {
            end += 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end.min(text.len()));
            if exponent == 0 {
                return Err("malformed number, a digit is required after the exponent.");
            }
            end += exponent;
        }
        let (number, rest) = text.split_at(end);
        self.rest = rest;
        Ok(Token::Scalar(number))
    }

    /// A string, borrowed if it has no escapes.
    fn string(&mut self) -> Result<Token<'a>, Fault> {
        const END: Fault = "premature EOF";
        let text = &self.rest[1..];
        let mut escaped = false;
        let mut at = 0;
        loop {
            at += text[at..].iter().position(|byte| !is_plain(*byte)).ok_or(END)?;
            match text[at] {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    at += match text.get(at + 1).ok_or(END)? {
                        b'u' => {
                            let digits = text[at + 2..].iter().take(4);
                            if !digits.clone().all(u8::is_ascii_hexdigit) {
                                return Err("invalid (non-hex) character occurs after '\\u' inside string.");
                            }
                            if digits.len() < 4 {
                                return Err(END);
                            }
                            6
                        }
                        byte if unescaped(*byte).is_some() => 2,
                        _ => return Err("inside a string, '\\' occurs before a character which it may not."),
                    };
                }
                byte if byte < 0x20 => return Err("invalid character inside string."),
                _ => at += multibyte(&text[at..])?,
            }
        }
        self.rest = &text[at + 1..];
        let raw = &text[..at];
        Ok(Token::String(if escaped { unescape(self.arena, raw) } else { raw }))
    }
}

/// Whether a byte needs no second look.
fn is_plain(byte: u8) -> bool {
    (0x20..0x80).contains(&byte) && byte != b'"' && byte != b'\\'
}

/// Length of the character at the beginning of `text`. Overlong forms and surrogates are accepted, as in yajl.
fn multibyte(text: &[u8]) -> Result<usize, Fault> {
    let length = match text[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Err("invalid bytes in UTF8 string."),
    };
    let rest = &text[1..text.len().min(length)];
    if rest.iter().any(|byte| byte & 0xc0 != 0x80) {
        return Err("invalid bytes in UTF8 string.");
    }
    if rest.len() + 1 < length { Err("premature EOF") } else { Ok(length) }
}

/// The character of a one-letter escape.
fn unescaped(letter: u8) -> Option<u8> {
    Some(match letter {
        b'"' | b'\\' | b'/' => letter,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// Unescapes `raw`, whose escapes are valid. An unpaired high surrogate becomes `?`, an unpaired
/// low surrogate is encoded in three bytes.
fn unescape<'a>(arena: &'a Bump, raw: &[u8]) -> &'a [u8] {
    let mut out = Vec::with_capacity_in(raw.len(), arena);
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice_copy(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(byte) = rest.first().and_then(|letter| unescaped(*letter)) {
            out.push(byte);
            rest = &rest[1..];
            continue;
        }
        let first = unit(rest);
        rest = rest.get(5..).unwrap_or_default();
        if first & 0xfc00 != 0xd800 {
            push_code_point(&mut out, first);
        } else if rest.starts_with(b"\\u") {
            let second = unit(&rest[1..]);
            let high = ((first & 0x3f) << 10) | ((((first >> 6) & 0xf) + 1) << 16);
            push_code_point(&mut out, high | (second & 0x3ff));
            rest = &rest[6..];
        } else {
            out.push(b'?');
        }
    }
    out.extend_from_slice_copy(rest);
    out.into_bump_slice()
}

/// The number of `u0041`.
fn unit(text: &[u8]) -> u32 {
    let pair = |at: usize| text.get(at..at + 2).and_then(|pair| hex_pair(pair[0], pair[1])).map_or(0, u32::from);
    pair(1) << 8 | pair(3)
}

/// Adds a code point, surrogates too.
fn push_code_point(out: &mut Vec<'_, u8>, code: u32) {
    match char::from_u32(code) {
        Some(character) => out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let tail = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
            out.extend_from_slice_copy(&[0xe0 | (code >> 12 & 0xf) as u8, tail(6), tail(0)]);
        }
    }
}
