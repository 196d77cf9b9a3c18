//! Splits a text into HTML tokens as lenient browsers read it.
//!
//! The states are libinjection's (`libinjection_html5.c`, after section 12.2.4 of the HTML specification), quirks
//! included: a NUL byte is white space in most places, the byte 0xff ends the input where white space is allowed, and
//! a closing tag without a name makes the next tag a closing one. It only moves forward and is therefore linear.

use memchr::memchr;

use super::class::{NAME, TAG, VALUE, ends, is_white};

/// The position of the text in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlContext {
    /// Between tags.
    Data,
    /// In a tag, or in an unquoted attribute value.
    Tag,
    /// In an attribute value with this quote.
    Value(u8),
}

/// A token, as far as the detector distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text, or the end of a tag: ignored.
    Other,
    /// The name of an opening tag.
    TagName(&'a [u8]),
    /// An attribute's name.
    AttributeName(&'a [u8]),
    /// An attribute's value.
    AttributeValue(&'a [u8]),
    /// The contents of a comment, or of what browsers take for one.
    Comment(&'a [u8]),
    /// `<!doctype`
    Doctype,
}

/// The state of the tokenizer.
#[derive(Clone, Copy)]
pub(super) enum State {
    End,
    Data,
    BeforeAttributeName,
    AfterAttributeName,
    BeforeAttributeValue,
    TagEnd,
    /// At the beginning of the input, in a value with this quote.
    Quoted(u8),
}

/// The rest of a text, to be read as HTML.
pub(super) struct Html<'a> {
    pub(super) input: &'a [u8],
    pub(super) at: usize,
    pub(super) state: State,
    /// Whether the tag is a closing one.
    closing: bool,
}

impl<'a> Html<'a> {
    pub(super) fn new(input: &'a [u8], context: HtmlContext) -> Self {
        let state = match context {
            HtmlContext::Data => State::Data,
            HtmlContext::Tag => State::BeforeAttributeName,
            HtmlContext::Value(quote) => State::Quoted(quote),
        };
        Html { input, at: 0, state, closing: false }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        match self.state {
            State::End => None,
            State::Data => self.data(),
            State::BeforeAttributeName => self.before_attribute_name(),
            State::AfterAttributeName => self.after_attribute_name(),
            State::BeforeAttributeValue => self.attribute_value(),
            State::TagEnd => {
                self.closing = false;
                self.at += 1;
                self.state = State::Data;
                Some(Token::Other)
            }
            State::Quoted(quote) => Some(self.quoted_value(quote)),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// The next `length` bytes; reading continues `skipped` bytes after them.
    pub(super) fn take(&mut self, length: usize, skipped: usize, state: State) -> &'a [u8] {
        let text = &self.input[self.at..self.at + length];
        self.at += length + skipped;
        self.state = state;
        text
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.take(self.input.len() - self.at, 0, State::End)
    }

    fn data(&mut self) -> Option<Token<'a>> {
        let rest = &self.input[self.at..];
        self.at += memchr(b'<', rest)? + 1;
        self.tag_open()
    }

    fn tag_open(&mut self) -> Option<Token<'a>> {
        match self.peek()? {
            b'!' => {
                self.at += 1;
                Some(self.markup_declaration())
            }
            b'/' => {
                self.at += 1;
                self.closing = true;
                self.end_tag_open()
            }
            b'?' => {
                self.at += 1;
                Some(self.comment_to(b">"))
            }
            b'%' => {
                self.at += 1;
                Some(self.comment_to(b"%>"))
            }
            0 | b'a'..=b'z' | b'A'..=b'Z' => Some(self.tag_name()),
            _ => {
                self.state = State::Data;
                Some(Token::Other)
            }
        }
    }

    fn end_tag_open(&mut self) -> Option<Token<'a>> {
        match self.peek()? {
            b'>' => {
                self.state = State::Data;
                Some(Token::Other)
            }
            b'a'..=b'z' | b'A'..=b'Z' => Some(self.tag_name()),
            _ => {
                self.closing = false;
                Some(self.comment_to(b">"))
            }
        }
    }

    fn tag_name(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let end = rest.iter().position(|byte| ends(*byte, TAG));
        let Some(end) = end else { return Token::TagName(self.rest()) };
        match rest[end] {
            b'>' if self.closing => {
                self.closing = false;
                self.take(end, 1, State::Data);
                Token::Other
            }
            b'>' => Token::TagName(self.take(end, 0, State::TagEnd)),
            _ => Token::TagName(self.take(end, 1, State::BeforeAttributeName)),
        }
    }

    /// The next byte that is not white space, unless the input ends.
    fn skip_white(&mut self) -> Option<u8> {
        while self.peek().is_some_and(is_white) {
            self.at += 1;
        }
        self.peek().filter(|byte| *byte != 0xff)
    }

    fn before_attribute_name(&mut self) -> Option<Token<'a>> {
        while self.skip_white()? == b'/' {
            self.at += 1;
        }
        if self.peek() != Some(b'>') {
            return Some(self.attribute_name());
        }
        self.at += 1;
        self.state = State::Data;
        Some(Token::Other)
    }

    fn attribute_name(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        // The first byte always belongs to the name.
        let Some(end) = rest[1..].iter().position(|byte| ends(*byte, NAME)) else {
            return Token::AttributeName(self.rest());
        };
        let end = end + 1;
        Token::AttributeName(match rest[end] {
            b'=' => self.take(end, 1, State::BeforeAttributeValue),
            b'>' => self.take(end, 0, State::TagEnd),
            b'/' => self.take(end, 1, State::BeforeAttributeName),
            _ => self.take(end, 1, State::AfterAttributeName),
        })
    }

    fn after_attribute_name(&mut self) -> Option<Token<'a>> {
        match self.skip_white()? {
            b'/' => self.before_attribute_name(),
            b'=' => {
                self.at += 1;
                self.attribute_value()
            }
            b'>' => {
                self.state = State::TagEnd;
                self.next()
            }
            _ => Some(self.attribute_name()),
        }
    }

    fn attribute_value(&mut self) -> Option<Token<'a>> {
        match self.skip_white() {
            None => {
                self.state = State::End;
                None
            }
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                self.at += 1;
                Some(self.quoted_value(quote))
            }
            Some(_) => {
                let rest = &self.input[self.at..];
                let end = rest.iter().position(|byte| ends(*byte, VALUE));
                Some(Token::AttributeValue(match end {
                    None => self.rest(),
                    Some(end) if rest[end] == b'>' => self.take(end, 0, State::TagEnd),
                    Some(end) => self.take(end, 1, State::BeforeAttributeName),
                }))
            }
        }
    }

    fn quoted_value(&mut self, quote: u8) -> Token<'a> {
        let end = memchr(quote, &self.input[self.at..]);
        Token::AttributeValue(match end {
            None => self.rest(),
            Some(end) => self.take(end, 1, State::BeforeAttributeName),
        })
    }
}
