//! The parser of structured field values (RFC 9651, section 4.2), as far as message signatures need it.
//!
//! It is stricter than the RFC in three ways, because a signature must mean the same to all who read it: a repeated
//! dictionary key or parameter is refused instead of replacing the first, Base64 must be padded and canonical, and
//! display strings are not supported. The crate `sfv` takes the lenient choice in the first two.

use super::{Bare, Dictionary, Item, Member, Parameters};
use crate::encoding::from_base64;
use crate::{Failure, Reason};

/// The longest field that is parsed: as much as nginx keeps in two of its large header buffers.
pub const MAX_FIELD_BYTES: usize = 16 * 1024;
/// The most members of a dictionary, a list or an inner list: more than a message has components worth signing.
pub const MAX_MEMBERS: usize = 64;
/// The most parameters of a member. RFC 9421 defines six of a signature and six of a component.
pub const MAX_PARAMETERS: usize = 16;
/// The most digits of an integer, and of the integer part of a decimal (RFC 9651, sections 3.3.1 and 3.3.2).
const MAX_DIGITS: (usize, usize) = (15, 12);

/// Where a text is not what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub reason: Reason,
    /// What was expected or is not supported.
    pub what: &'static str,
    /// The position in bytes.
    pub at: usize,
}

impl Fault {
    /// As a failure, with the name of the field.
    #[must_use]
    pub fn of(self, field: &str) -> Failure {
        Failure::new(self.reason, format!("`{field}`, byte {}: {}", self.at, self.what))
    }
}

/// Parses a dictionary.
///
/// # Errors
/// What is wrong with it.
pub fn dictionary(text: &[u8]) -> Result<Dictionary<'_>, Fault> {
    let mut members = Vec::new();
    whole(text, |parser| {
        parser.comma_separated(|parser| {
            let key = parser.new_key(&members)?;
            let value = if parser.take(b'=') {
                parser.member()?
            } else {
                Member::Item(Item { value: Bare::Boolean(true), parameters: parser.parameters()? })
            };
            push(&mut members, (key, value), MAX_MEMBERS, parser.at)
        })
    })?;
    Ok(members)
}

/// Parses a list.
///
/// # Errors
/// What is wrong with it.
pub fn list(text: &[u8]) -> Result<Vec<Member<'_>>, Fault> {
    let mut members = Vec::new();
    whole(text, |parser| {
        parser.comma_separated(|parser| {
            let member = parser.member()?;
            push(&mut members, member, MAX_MEMBERS, parser.at)
        })
    })?;
    Ok(members)
}

/// Parses an item.
///
/// # Errors
/// What is wrong with it.
pub fn item(text: &[u8]) -> Result<Item<'_>, Fault> {
    whole(text, Parser::item)
}

fn whole<'a, T>(text: &'a [u8], parse: impl FnOnce(&mut Parser<'a>) -> Result<T, Fault>) -> Result<T, Fault> {
    let fault = |reason, what, at| Err(Fault { reason, what, at });
    if text.len() > MAX_FIELD_BYTES {
        return fault(Reason::TooLarge, "the field is too long", MAX_FIELD_BYTES);
    }
    let text = match std::str::from_utf8(text) {
        Ok(text) if text.is_ascii() => text,
        Ok(_) | Err(_) => return fault(Reason::Malformed, "not ASCII", 0),
    };
    let mut parser = Parser { text, at: 0 };
    parser.skip(|byte| byte == b' ');
    let value = parse(&mut parser)?;
    parser.skip(|byte| byte == b' ');
    if parser.at == text.len() { Ok(value) } else { parser.expected("expected the end") }
}

fn push<T>(members: &mut Vec<T>, member: T, most: usize, at: usize) -> Result<(), Fault> {
    if members.len() == most {
        return Err(Fault { reason: Reason::TooLarge, what: "too many members or parameters", at });
    }
    members.push(member);
    Ok(())
}

/// What has been read of a text of ASCII characters.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn expected<T>(&self, what: &'static str) -> Result<T, Fault> {
        Err(Fault { reason: Reason::Malformed, what, at: self.at })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes bytes as long as they are of a kind.
    fn skip(&mut self, of_kind: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|byte| !of_kind(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn comma_separated(&mut self, mut member: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let space = |byte| matches!(byte, b' ' | b'\t');
        while self.peek().is_some() {
            member(self)?;
            self.skip(space);
            if self.peek().is_none() {
                break;
            }
            if !self.take(b',') {
                return self.expected("expected a comma");
            }
            self.skip(space);
            if self.peek().is_none() {
                return self.expected("expected a member after the comma");
            }
        }
        Ok(())
    }

    /// A key that the members do not have yet.
    fn new_key<T>(&mut self, members: &[(&str, T)]) -> Result<&'a str, Fault> {
        let at = self.at;
        if !self.peek().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'*') {
            return self.expected("expected a key");
        }
        let key = self.skip(is_key_byte);
        if members.iter().any(|(other, _)| *other == key) {
            return Err(Fault { reason: Reason::Duplicated, what: "a key that occurred before", at });
        }
        Ok(key)
    }

    fn member(&mut self) -> Result<Member<'a>, Fault> {
        if !self.take(b'(') {
            return self.item().map(Member::Item);
        }
        let mut items = Vec::new();
        loop {
            let spaces = self.skip(|byte| byte == b' ');
            if self.take(b')') {
                return Ok(Member::List(items, self.parameters()?));
            }
            if spaces.is_empty() && !items.is_empty() {
                return self.expected("expected a space or `)`");
            }
            let item = self.item()?;
            push(&mut items, item, MAX_MEMBERS, self.at)?;
        }
    }

    fn item(&mut self) -> Result<Item<'a>, Fault> {
        Ok(Item { value: self.bare()?, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> Result<Parameters<'a>, Fault> {
        let mut parameters = Vec::new();
        while self.take(b';') {
            self.skip(|byte| byte == b' ');
            let key = self.new_key(&parameters)?;
            let value = if self.take(b'=') { self.bare()? } else { Bare::Boolean(true) };
            push(&mut parameters, (key, value), MAX_PARAMETERS, self.at)?;
        }
        Ok(parameters)
    }

    fn bare(&mut self) -> Result<Bare<'a>, Fault> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b':') => self.bytes(),
            Some(b'?') => {
                self.at += 1;
                if self.take(b'1') {
                    Ok(Bare::Boolean(true))
                } else if self.take(b'0') {
                    Ok(Bare::Boolean(false))
                } else {
                    self.expected("expected 0 or 1")
                }
            }
            Some(b'@') => {
                self.at += 1;
                let Bare::Integer(seconds) = self.number()? else {
                    return self.expected("expected a whole number of seconds");
                };
                Ok(Bare::Date(seconds))
            }
            Some(b'%') => {
                Err(Fault { reason: Reason::Unsupported, what: "display strings are not supported", at: self.at })
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'*' => {
                Ok(Bare::Token(self.skip(|byte| is_token_byte(byte) || matches!(byte, b':' | b'/'))))
            }
            Some(_) | None => self.expected("expected a value"),
        }
    }

    fn string(&mut self) -> Result<Bare<'a>, Fault> {
        self.at += 1;
        let start = self.at;
        loop {
            self.skip(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
            if self.take(b'"') {
                return Ok(Bare::Text(&self.text[start..self.at - 1]));
            }
            if !(self.take(b'\\') && (self.take(b'"') || self.take(b'\\'))) {
                return self.expected("expected the end of the string");
            }
        }
    }

    fn bytes(&mut self) -> Result<Bare<'a>, Fault> {
        self.at += 1;
        let encoded = self.skip(|byte| byte != b':');
        match from_base64(encoded.as_bytes()) {
            Some(bytes) if self.take(b':') => Ok(Bare::Bytes(bytes)),
            Some(_) | None => self.expected("expected `:` after canonical, padded Base64"),
        }
    }

    fn number(&mut self) -> Result<Bare<'a>, Fault> {
        let sign = if self.take(b'-') { -1 } else { 1 };
        let digits = self.skip(|byte| byte.is_ascii_digit());
        let value = |digits: &str| digits.bytes().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        if digits.is_empty() || digits.len() > MAX_DIGITS.0 {
            return self.expected("expected a number of at most 15 digits");
        }
        if !self.take(b'.') {
            return Ok(Bare::Integer(sign * value(digits)));
        }
        let fraction = self.skip(|byte| byte.is_ascii_digit());
        if digits.len() > MAX_DIGITS.1 || !(1..=3).contains(&fraction.len()) {
            return self.expected("expected a decimal of at most 12 and 3 digits");
        }
        let scale = [1000, 100, 10, 1][fraction.len()];
        Ok(Bare::Decimal(sign * (value(digits) * 1000 + value(fraction) * scale)))
    }
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'*')
}

/// Whether a byte may be in a token of HTTP (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
