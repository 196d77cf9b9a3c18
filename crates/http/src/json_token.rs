//! The JSON tokenizer (RFC 8259) used by [`crate::json`].

use bumpalo::Bump;

use crate::Anomalies;
use crate::bound::Extent;
use crate::fault::Faults;
use crate::uri::hex_pair;

/// The reason why the next token cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The input is not JSON, for this reason.
    Invalid(&'static str),
    /// The body ends here.
    End,
}

/// A cursor over a JSON body.
pub(crate) struct Tokens<'a> {
    arena: &'a Bump,
    body: &'a [u8],
    at: usize,
    extent: Extent,
    /// Errors so far.
    pub faults: Faults,
}

impl<'a> Tokens<'a> {
    pub fn new(arena: &'a Bump, body: &'a [u8], extent: Extent) -> Self {
        Self { arena, body, at: 0, extent, faults: Faults::default() }
    }

    pub fn at_end(&self) -> bool {
        self.at == self.body.len()
    }

    /// Records an error at the current position.
    pub fn add(&mut self, anomalies: Anomalies, reason: &'static str) {
        self.faults.add(anomalies, self.at, reason);
    }

    /// Records that the input is not JSON.
    pub fn invalid(&mut self, reason: &'static str) {
        self.add(Anomalies::INVALID_JSON, reason);
    }

    pub fn skip_space(&mut self) {
        loop {
            while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.body.get(self.at) {
                self.at += 1;
            }
            if self.body.get(self.at) != Some(&b'/') || !self.skip_comment() {
                return;
            }
        }
    }

    /// Skips a comment, which some parsers allow.
    fn skip_comment(&mut self) -> bool {
        let rest = &self.body[self.at..];
        let length = match rest {
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest),
            [b'/', b'*', ..] => memchr::memmem::find(&rest[2..], b"*/").map(|at| at + 4),
            _ => return false,
        };
        self.invalid("comment");
        self.at += length.unwrap_or(rest.len());
        true
    }

    pub fn advance(&mut self) {
        self.at += 1;
    }

    /// The next byte that is not white space, without consuming it.
    pub fn peek(&mut self) -> Result<u8, Fault> {
        self.skip_space();
        self.body.get(self.at).copied().ok_or(Fault::End)
    }

    /// Consumes the next byte if it is `byte`.
    pub fn accept(&mut self, byte: u8) -> Result<bool, Fault> {
        let accepted = self.peek()? == byte;
        self.at += usize::from(accepted);
        Ok(accepted)
    }

    /// A name with the colon after it.
    pub fn name(&mut self) -> Result<&'a [u8], Fault> {
        if self.peek()? != b'"' {
            return Err(Fault::Invalid("name that is not a string"));
        }
        let name = self.string()?;
        if self.accept(b':')? { Ok(name) } else { Err(Fault::Invalid("no colon after a name")) }
    }

    /// A string, unescaped, or a number, `true`, `false` or `null` as written. Other words, such as
    /// `NaN`, are flagged and kept.
    pub fn scalar(&mut self) -> Result<&'a [u8], Fault> {
        if self.peek()? == b'"' {
            return self.string();
        }
        let rest = &self.body[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let word = &rest[..length];
        if length == 0 {
            return Err(Fault::Invalid("no value"));
        }
        if !matches!(word, b"true" | b"false" | b"null") && !is_number(word) {
            if length == rest.len() && self.extent == Extent::Beginning {
                return Err(Fault::End); // it may have been cut
            }
            self.invalid("word that is no value");
        }
        self.at += length;
        Ok(word)
    }

    /// A string, starting at its opening quote. Borrowed if it has no escapes. Raw control
    /// characters, which must be escaped, are flagged and kept.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        let begin = self.at + 1;
        let mut end = begin;
        let mut escaped = false;
        loop {
            end += memchr::memchr2(b'"', b'\\', &self.body[end..]).ok_or(Fault::End)?;
            if self.body[end] == b'"' {
                break;
            }
            escaped = true;
            end += 2;
            if end > self.body.len() {
                return Err(Fault::End);
            }
        }
        let raw = &self.body[begin..end];
        if raw.iter().any(|byte| *byte < b' ') {
            self.invalid("control character in a string");
        }
        let text = if escaped { self.unescape(raw) } else { raw };
        self.at = end + 1;
        if memchr::memchr(0, text).is_some() {
            self.faults.anomalies |= Anomalies::NUL_BYTE;
        }
        Ok(text)
    }

    /// `raw` with its escapes replaced. Unknown escapes are flagged and kept as written; an
    /// unpaired surrogate is not UTF-8 and becomes U+FFFD.
    fn unescape(&mut self, raw: &[u8]) -> &'a [u8] {
        let mut out = bumpalo::collections::Vec::with_capacity_in(raw.len(), self.arena);
        let mut rest = raw;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice_copy(&rest[..at]);
            rest = &rest[at + 1..];
            let simple = match rest.first() {
                Some(b'"') => b'"',
                Some(b'\\') => b'\\',
                Some(b'/') => b'/',
                Some(b'b') => 0x08,
                Some(b'f') => 0x0c,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                _ => {
                    let (character, length) = unicode_escape(rest).unwrap_or_else(|| {
                        self.invalid("unknown escape in a string");
                        (None, 0)
                    });
                    match character {
                        Some(character) => out.extend_from_slice_copy(character.encode_utf8(&mut [0; 4]).as_bytes()),
                        None if length == 0 => out.push(b'\\'),
                        None => {
                            self.faults.anomalies |= Anomalies::INVALID_UTF8;
                            out.extend_from_slice_copy("\u{fffd}".as_bytes());
                        }
                    }
                    rest = &rest[length..];
                    continue;
                }
            };
            out.push(simple);
            rest = &rest[1..];
        }
        out.extend_from_slice_copy(rest);
        out.into_bump_slice()
    }
}

/// The character of `u0041` or of a surrogate pair `ud83d\ude00` (none for an unpaired surrogate)
/// and the length read. `None` if it is not such an escape.
fn unicode_escape(rest: &[u8]) -> Option<(Option<char>, usize)> {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 5).filter(|digits| digits[0] == b'u')?;
        Some(u32::from(hex_pair(digits[1], digits[2])?) << 8 | u32::from(hex_pair(digits[3], digits[4])?))
    };
    let first = unit(0)?;
    if (0xd800..0xdc00).contains(&first)
        && rest.get(5) == Some(&b'\\')
        && let Some(second @ 0xdc00..0xe000) = unit(6)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return Some((char::from_u32(code), 11));
    }
    Some((char::from_u32(first), 5))
}

/// Whether `word` is a number in JSON's grammar.
fn is_number(word: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}
