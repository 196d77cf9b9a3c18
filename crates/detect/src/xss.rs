//! Detects cross-site scripting as libinjection 3.9.2 does (commit bfba51f, which ModSecurity 3.0.9
//! carries): read the input as HTML in five places of a page, look for what can run a script.
//!
//! An own port, for the reasons and with the figures given in `sqli.rs`.

mod black;
mod class;
mod html;
mod markup;
mod possible;
#[cfg(test)]
mod tests;

use memchr::memchr;

use self::black::Danger;
use self::html::{Html, Place, Token};
pub use self::possible::{xss_possible, xss_possible_with};

/// Where the input may stand in a page.
const PLACES: [Place; 5] = [Place::Data, Place::Tag, Place::Value(b'\''), Place::Value(b'"'), Place::Value(b'`')];

/// Is `input` (any bytes) cross-site scripting? The time is linear in the length.
#[must_use]
pub fn xss(input: &[u8]) -> bool {
    PLACES.iter().any(|place| is_attack(input, *place))
}

fn is_attack(input: &[u8], place: Place) -> bool {
    let mut html = Html::new(input, place);
    let mut danger = None;
    while let Some(token) = html.next() {
        let attack = match token {
            Token::Doctype => true,
            Token::TagName(name) => black::is_black_tag(name),
            Token::Comment(text) => is_black_comment(text),
            Token::AttributeValue(value) => match danger {
                None => false,
                Some(Danger::Always) => true,
                Some(Danger::Address) => black::is_black_address(value),
                Some(Danger::Name) => black::danger_of(value).is_some(),
            },
            Token::AttributeName(_) | Token::Other => false,
        };
        if attack {
            return true;
        }
        danger = match token {
            Token::AttributeName(name) => black::danger_of(name),
            _ => None,
        };
    }
    false
}

/// Would some browser take the comment for more than one?
fn is_black_comment(text: &[u8]) -> bool {
    let begins = |name: &[u8]| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    // Internet Explorer ends tags at ticks, and has comments with conditions.
    memchr(b'`', text).is_some()
        || (text.len() > 3 && (begins(b"[IF") || begins(b"XML")))
        || begins(b"IMPORT")
        || begins(b"ENTITY")
}
