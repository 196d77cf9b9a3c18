//! Harmless inputs with the fingerprint of an attack: words followed by `--`, "salt and pepper".
//! The exceptions are libinjection's (`libinjection_sqli_not_whitelist`).

use memchr::memmem;

use super::fold::Folded;
use super::token::Token;
use super::token_kind::TokenKind::{Bareword, Comment, Keyword, Logic, Number, Operator, Text, Union, Variable};

/// Whether `input` is harmless although `folded` has the fingerprint of an attack.
pub(crate) fn is_benign(input: &[u8], folded: &Folded<'_>) -> bool {
    let tokens = folded.tokens();
    if let [_, .., last] = tokens
        && last.kind == Comment
        && memmem::find(input, b"sp_password").is_some()
    {
        // SQL Server omits statements that mention it from its log.
        return false;
    }
    match tokens {
        [first, second] => is_benign_pair(input, first, second, folded.read),
        [first, second, third] => is_benign_triple(first, second, third, folded.read),
        _ => false,
    }
}

fn is_benign_pair(input: &[u8], first: &Token<'_>, second: &Token<'_>, read: usize) -> bool {
    let sign = second.text.first().copied().unwrap_or(0);
    match (first.kind, second.kind) {
        (_, Union) => read == 2,
        _ if sign == b'#' => true,
        (Bareword, Comment) if sign != b'/' => true,
        // A real decimal number before a comment, not the end of some base64.
        (Number, Comment) if sign != b'/' && read <= 2 => {
            let at = first.text.len();
            let [next, then] = [at, at + 1].map(|at| input.get(at).copied().unwrap_or(0));
            // The original compares signed characters, so that bytes above 0x7f are small.
            !(next <= b' ' || next >= 0x80 || (next == b'/' && then == b'*') || (next == b'-' && then == b'-'))
        }
        (Number, Comment) => false,
        // Dashes are common in plain text, except at its end.
        _ => second.text.len() > 2 && sign == b'-',
    }
}

fn is_benign_triple(first: &Token<'_>, second: &Token<'_>, third: &Token<'_>, read: usize) -> bool {
    match (first.kind, second.kind, third.kind) {
        // `foo' + 'bar`: no quote opened, none closed, and the same kind of quotes between.
        (Text, Operator | Logic, Text) => !(first.opened == 0 && third.closed == 0 && first.closed == third.opened),
        (Text, Logic, Bareword) | (Bareword, Logic, Number) | (Number, Logic, Number | Variable | Text) => read == 3,
        // But not INTO OUTFILE and INTO DUMPFILE.
        (_, Keyword, _) => second.text.len() < 5 || !second.text[..4].eq_ignore_ascii_case(b"INTO"),
        _ => false,
    }
}
