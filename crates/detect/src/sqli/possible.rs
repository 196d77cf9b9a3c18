//! A fast pre-filter for SQL injection: conditions that any attack must meet, and of which everyday
//! values fail one in the first bytes or tokens.
//!
//! Three steps, each proven to dismiss only inputs in which [`super::sqli`] finds nothing:
//!
//! 1. *One word.* Letters, digits, `_` and bytes above 0x7f (not 0xa0) form at most two numbers
//!    followed by a word. No fingerprint of an attack is that short, except `1U`, which counts only
//!    if more tokens were read.
//! 2. *Figures.* Numbers, signs and words of the letters A to F (dates, amounts, UUIDs). `DEC` is
//!    the only keyword among them; without it and without comments all tokens have one of the types
//!    `1 n o , : ;`, of which no fingerprint consists.
//! 3. *A harmless beginning.* The first tokens are read as the detector does. No fingerprint begins
//!    with two words, a word and a parenthesis, a quoted text and a word, an operator, and so on
//!    (see [`begins_harmlessly`]); once the tokens begin this way, no folding rule changes that. A
//!    list or sum (`a=1&b=2`) is folded on the way. If there are quotes, the same must hold after
//!    an open quotation. Constructs that condemn an input wherever they occur must be absent:
//!    comments containing a comment or `!`, and an empty name in braces.

use memchr::memchr_iter;

use super::rules::is_callable;
use super::token::Token;
use super::token_kind::TokenKind::{self, *};
use super::tokenizer::{Context, Tokenizer};
use crate::byte_set::{ByteSet, byte_set, has, is_within, set_of};

const ONE_WORD: ByteSet = set_of!(b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | 0x80..=0x9f | 0xa1..=0xff);
const FIGURES: ByteSet = set_of!(
    0..=b' ' | b'!' | b'%' | b'*' | b'+' | b','..=b'?' | b'A'..=b'F' | b']' | b'^' | b'a'..=b'f' | b'~' | 0x7f | 0xa0
);

/// Whether [`super::sqli`] might find something in `input`. If false, it certainly does not.
#[must_use]
pub fn sqli_possible(input: &[u8]) -> bool {
    sqli_possible_with(input, &byte_set(input))
}

/// The same, for a caller that knows the bytes that occur in `input` (see [`byte_set`]).
#[must_use]
#[inline]
pub fn sqli_possible_with(input: &[u8], occurring: &ByteSet) -> bool {
    !is_within(occurring, &ONE_WORD) && may_be_attack(input, occurring)
}

fn may_be_attack(input: &[u8], occurring: &ByteSet) -> bool {
    let comments = has(occurring, b'*') && has(occurring, b'/') && has_pair(input, b'/', b'*');
    if comments || (has(occurring, b'{') && has(occurring, b'`')) {
        return true;
    }
    if is_within(occurring, &FIGURES) && !has_dec(input, occurring) && !has_pair(input, b'-', b'-') {
        return false;
    }
    let reads = |quote, mysql| begins_harmlessly(Tokenizer::new(input, Context { quote, mysql }));
    !(reads(None, false)
        && (!has(occurring, b'\'') || reads(Some(b'\''), false))
        && (!has(occurring, b'"') || reads(Some(b'"'), true)))
}

fn has_pair(input: &[u8], first: u8, second: u8) -> bool {
    memchr_iter(first, input).any(|at| input.get(at + 1) == Some(&second))
}

fn has_dec(input: &[u8], occurring: &ByteSet) -> bool {
    (has(occurring, b'c') || has(occurring, b'C')) && input.windows(3).any(|three| three.eq_ignore_ascii_case(b"DEC"))
}

/// Whether the tokens begin as no attack does, whatever follows.
fn begins_harmlessly(mut tokens: Tokenizer<'_>) -> bool {
    let first = loop {
        match tokens.next() {
            None => return true,
            Some(token) if token.kind == Comment => return false,
            // The detector skips these too.
            Some(token) if matches!(token.kind, Open | Type) || token.is_unary() => {}
            Some(token) => break token,
        }
    };
    loop {
        let Some(second) = tokens.next() else { return true };
        if tokens.ambiguous || first.merge(&second).is_some() {
            return false;
        }
        match (first.kind, second.kind) {
            // Not a word, which could be a function name: `LIKE(`.
            (Operator, _) if !first.text[0].is_ascii_alphabetic() => return true,
            (Unknown | Dot | Colon, _) | (OpenBrace, Text) => return true,
            (Bareword, Open) => return !is_callable(first.text),
            (Bareword | Text, Bareword) => return is_plain(&second),
            (Bareword | Number | Text, Colon) | (Number, Number) => return true,
            (Bareword, Variable) => return !is_callable(second.text),
            (Number, Bareword) | (Bareword, Text) => return is_plain(&second) && ends_harmlessly(&mut tokens),
            (Text, Text) => {}
            (Bareword | Number, Operator) => match after_unary(&mut tokens) {
                None => return !tokens.ambiguous,
                Some(Number | Bareword) => {}
                Some(_) => return false,
            },
            (Bareword | Number | Text, Comma) => match tokens.next().map(|token| token.kind) {
                Some(Number | Bareword | Text | Variable) => {}
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// Whether the token can become neither part of a phrase nor a function name.
fn is_plain(token: &Token<'_>) -> bool {
    token.kind == Text || !(token.begins_phrase || is_callable(token.text))
}

/// After a number and a word, or a word and a text: whether the rest is empty or makes it harmless.
fn ends_harmlessly(tokens: &mut Tokenizer<'_>) -> bool {
    match tokens.next() {
        None => true,
        Some(token) => match token.kind {
            Bareword => token.opened == 0 && is_plain(&token),
            Number | Colon => true,
            _ => false,
        },
    }
}

/// The type of the token after signs that have no effect after an operator.
fn after_unary(tokens: &mut Tokenizer<'_>) -> Option<TokenKind> {
    loop {
        let token = tokens.next()?;
        if !(token.is_unary() || token.kind == Type) {
            return Some(token.kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqli::{fingerprints, words};

    /// The premise of the third step, in letters of token types.
    #[test]
    fn no_fingerprint_begins_harmlessly() {
        let beginnings = [
            "o", "?", ".", ":", "{", "nn", "n(", "n:", "nv", "sn", "s:", "1:", "11", "1nn", "1n1", "1n:", "nsn", "ns1",
            "ns:",
        ];
        let fingerprints = fingerprints::all();
        for beginning in beginnings.map(str::to_ascii_uppercase) {
            let of_attack = fingerprints.iter().find(|fingerprint| fingerprint.starts_with(beginning.as_bytes()));
            assert_eq!(of_attack, None, "{beginning}");
        }
        for short in ["n", "1", "s", "1n", "ns", "no", "1o"] {
            assert!(!fingerprints::is_attack(short.as_bytes()), "{short}");
        }
    }

    /// The premise of the second step.
    #[test]
    fn figures_make_no_fingerprint() {
        let of_figures = |fingerprint: &Vec<u8>| fingerprint.iter().all(|letter| b"1NO,:;".contains(letter));
        assert!(!fingerprints::all().iter().any(of_figures));
        for number in 0..6_u32.pow(6) {
            let digits = (0..6).map(|place| b"ABCDEF"[(number / 6_u32.pow(place) % 6) as usize]);
            let word: Vec<u8> = digits.collect();
            for length in 1..=word.len() {
                assert!(words::find(&word[..length]).is_none() || word.starts_with(b"DEC"));
            }
        }
    }

    /// A plain word may be a listed word, but not a hidden function name.
    #[test]
    fn callable_names_are_not_plain() {
        for (text, plain) in [("user", false), ("Password", false), ("order", false), ("table", true), ("other", true)]
        {
            let found = words::find(text.as_bytes());
            let token = Token {
                begins_phrase: found.is_some_and(|word| word.begins_phrase),
                ..Token::new(Bareword, text.as_bytes())
            };
            assert_eq!(is_plain(&token), plain, "{text}");
        }
    }
}
