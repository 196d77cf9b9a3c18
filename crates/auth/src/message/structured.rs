//! Structured field values (RFC 9651, of which RFC 8941 is a subset): the values, and how they are written.
//!
//! Strings are kept as they are written: their two escapes are both mandatory, so each string has a single spelling.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::encoding::base64;

pub mod parser;

/// A value without parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bare<'a> {
    /// An integer of at most 15 digits.
    Integer(i64),
    /// A decimal, in thousandths.
    Decimal(i64),
    /// The inside of a string, with its escapes; see [`unescape`].
    Text(&'a str),
    /// A token.
    Token(&'a str),
    /// A byte sequence, decoded.
    Bytes(Vec<u8>),
    /// A Boolean.
    Boolean(bool),
    /// A date, in seconds since the Unix epoch.
    Date(i64),
}

/// Parameters in the order in which they are written; no name occurs twice.
pub type Parameters<'a> = Vec<(&'a str, Bare<'a>)>;

/// A value with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The value.
    pub value: Bare<'a>,
    /// Its parameters.
    pub parameters: Parameters<'a>,
}

/// A member of a dictionary or list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    /// A single item.
    Item(Item<'a>),
    /// An inner list with its own parameters.
    List(Vec<Item<'a>>, Parameters<'a>),
}

/// A dictionary in the order in which it is written; no key occurs twice.
pub type Dictionary<'a> = Vec<(&'a str, Member<'a>)>;

/// The characters that the inside of a string stands for.
#[must_use]
pub fn unescape(inside: &str) -> Cow<'_, str> {
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    let mut escaped = false;
    let keep = |character: &char| {
        escaped = *character == '\\' && !escaped;
        !escaped
    };
    Cow::Owned(inside.chars().filter(keep).collect())
}

/// The inside of a string that stands for these characters; `None` if they are not all printable ASCII.
#[must_use]
pub fn escape(text: &str) -> Option<String> {
    let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    printable.then(|| text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl fmt::Display for Bare<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(out, "{value}"),
            Self::Decimal(value) => {
                let fraction = format!("{:03}", value.unsigned_abs() % 1000);
                let shown = fraction.trim_end_matches('0');
                let sign = if *value < 0 { "-" } else { "" };
                let shown = if shown.is_empty() { "0" } else { shown };
                write!(out, "{sign}{}.{shown}", value.unsigned_abs() / 1000)
            }
            Self::Text(inside) => write!(out, "\"{inside}\""),
            Self::Token(token) => out.write_str(token),
            Self::Bytes(bytes) => write!(out, ":{}:", base64(bytes)),
            Self::Boolean(value) => write!(out, "?{}", u8::from(*value)),
            Self::Date(seconds) => write!(out, "@{seconds}"),
        }
    }
}

/// Parameters as they are written.
struct Written<'p, 'a>(&'p Parameters<'a>);

impl fmt::Display for Written<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| {
            write!(out, ";{name}")?;
            if *value == Bare::Boolean(true) { Ok(()) } else { write!(out, "={value}") }
        })
    }
}

impl fmt::Display for Item<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.value, Written(&self.parameters))
    }
}

impl fmt::Display for Member<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(item) => write!(out, "{item}"),
            Self::List(items, parameters) => {
                out.write_char('(')?;
                for (at, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if at == 0 { "" } else { " " })?;
                }
                write!(out, "){}", Written(parameters))
            }
        }
    }
}

/// Writes a list as RFC 9651, section 4.1.1, demands.
pub fn write_list(out: &mut String, members: &[Member<'_>]) {
    for (at, member) in members.iter().enumerate() {
        let _ = write!(out, "{}{member}", if at == 0 { "" } else { ", " });
    }
}

/// Writes a dictionary as RFC 9651, section 4.1.2, demands.
pub fn write_dictionary(out: &mut String, members: &Dictionary<'_>) {
    for (at, (key, member)) in members.iter().enumerate() {
        let _ = write!(out, "{}{key}", if at == 0 { "" } else { ", " });
        let _ = if let Member::Item(Item { value: Bare::Boolean(true), parameters }) = member {
            write!(out, "{}", Written(parameters))
        } else {
            write!(out, "={member}")
        };
    }
}
