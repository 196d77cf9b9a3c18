//! Detects SQL injection as libinjection 3.9.2 does (commit bfba51f, which ModSecurity 3.0.9 includes): split into
//! tokens, fold, look up the types of the first five in a list of fingerprints.
//!
//! This is a port of its own. The C library is excluded because of its language (no unsafe code here), not because of
//! its verdicts: over 13 million inputs (its published tests and data, mutations of them, generated ones, all short
//! ones over several alphabets) this port gave the same fingerprints as libmodsecurity 3.0.9 without exception. The
//! crate `libinjectionrs` 0.1.1 (BSD, safe) was tried over six million of them: it never panicked, but its verdict
//! differs for 10 of the 21,728 published inputs and for one of 2,000 generated ones, and it is slow. Nanoseconds per
//! call, over 30 everyday values and 15 attacks:
//!
//! | | C | this port | `libinjectionrs` | [`sqli_possible`] |
//! | --- | --- | --- | --- | --- |
//! | SQL, everyday | 270 | 133 | 1,950 | 56 (a word: 3) |
//! | SQL, attacks | 414 | 213 | 2,938 | 58 |
//! | XSS, everyday | 123 | 56 | 122 | 22 (mostly 1 with the bytes known) |
//! | XSS, attacks | 125 | 69 | 161 | 24 |
//!
//! The difference comes from slices instead of copied tokens, hashed word look-up instead of binary
//! search, and not clearing memory that is overwritten next. Only the lists and the rules were
//! taken from the original, no code (its licence is BSD, three clauses).

mod benign;
mod class;
mod fingerprints;
mod fold;
mod number;
mod possible;
mod quoted;
mod rules;
mod token;
mod token_kind;
mod tokenizer;
mod words;

use std::fmt;

use memchr::memchr;

use self::fold::Folded;
use self::token_kind::TokenKind;
#[cfg(test)]
mod tests;

pub use self::possible::{sqli_possible, sqli_possible_with};
use self::tokenizer::Context;

/// The fingerprint of an attack: a letter for each of its first tokens, one to five in all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    letters: [u8; fingerprints::LONGEST],
    length: u8,
}

impl Fingerprint {
    /// The fingerprint as text, in ASCII: `s&1c`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("letters of kinds are ASCII")
    }

    /// The same as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.letters[..usize::from(self.length)]
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({self})")
    }
}

/// The fingerprint of `input` (any bytes) if it is SQL injection.
///
/// The input is read as it is and, if it contains quotes, also as the continuation of an open
/// quotation. The time is linear in the length.
#[must_use]
pub fn sqli(input: &[u8]) -> Option<Fingerprint> {
    let has = |quote| memchr(quote, input).is_some();
    attack_in_either(input, None)
        .or_else(|| if has(b'\'') { attack_in_either(input, Some(b'\'')) } else { None })
        .or_else(|| if has(b'"') { attack(input, Context { quote: Some(b'"'), mysql: true }).0 } else { None })
}

/// The attack as seen by all databases except MySQL, otherwise, if that differs, as seen by MySQL.
fn attack_in_either(input: &[u8], quote: Option<u8>) -> Option<Fingerprint> {
    let (found, ambiguous) = attack(input, Context { quote, mysql: false });
    if found.is_none() && ambiguous { attack(input, Context { quote, mysql: true }).0 } else { found }
}

/// The attack in `context`, and whether MySQL would read the input differently.
fn attack(input: &[u8], context: Context) -> (Option<Fingerprint>, bool) {
    let folded = Folded::new(input, context);
    let tokens = folded.tokens();
    let mut letters = [0; fingerprints::LONGEST];
    let mut length = 0;
    for (letter, token) in letters.iter_mut().zip(tokens) {
        *letter = token.kind as u8;
        length += 1;
    }
    if tokens.iter().any(|token| token.kind == TokenKind::Evil) {
        let letters = [TokenKind::Evil as u8, 0, 0, 0, 0];
        return (Some(Fingerprint { letters, length: 1 }), folded.ambiguous);
    }
    let found = fingerprints::is_attack(&letters[..length]) && !benign::is_benign(input, &folded);
    (found.then_some(Fingerprint { letters, length: length as u8 }), folded.ambiguous)
}
