//! Detects cross-site scripting as libinjection 3.9.2 does (commit bfba51f, which ModSecurity 3.0.9 includes): reads
//! the input as HTML in five contexts of a page and looks for anything that can run a script.
//!
//! A port of its own, for the reasons and with the figures given in `sqli.rs`.

mod black;
mod class;
mod html;
mod markup;
mod possible;
#[cfg(test)]
mod tests;

use memchr::memchr;

use self::black::Danger;
use self::html::{Html, HtmlContext, Token};
pub use self::possible::{xss_possible, xss_possible_with};

/// The possible contexts of the input in a page.
const CONTEXTS: [HtmlContext; 5] = [
    HtmlContext::Data,
    HtmlContext::Tag,
    HtmlContext::Value(b'\''),
    HtmlContext::Value(b'"'),
    HtmlContext::Value(b'`'),
];

/// Whether `input` (any bytes) is cross-site scripting. The time is linear in the length.
#[must_use]
pub fn xss(input: &[u8]) -> bool {
    CONTEXTS.iter().any(|context| is_attack(input, *context))
}

fn is_attack(input: &[u8], context: HtmlContext) -> bool {
    let mut html = Html::new(input, context);
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

/// Whether some browser would take the comment for more than a comment.
fn is_black_comment(text: &[u8]) -> bool {
    let begins = |name: &[u8]| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    // Internet Explorer ends tags at ticks, and has conditional comments.
    memchr(b'`', text).is_some()
        || (text.len() > 3 && (begins(b"[IF") || begins(b"XML")))
        || begins(b"IMPORT")
        || begins(b"ENTITY")
}
