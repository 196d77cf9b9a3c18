//! What a byte means where a token may begin, and which bytes end a word.

/// How the token that begins with a byte is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing: skipped.
    White,
    /// A word.
    Word,
    /// A word, or a string with a letter before its quote.
    PrefixedString,
    /// A number, or a dot.
    Number,
    /// A token of its own, called like the byte.
    Sign,
    /// An operator of one byte.
    Operator,
    /// An operator of one to three bytes.
    LongOperator,
    /// `'` or `"`
    Quote,
    /// `` ` ``
    Tick,
    /// `[`
    Bracket,
    /// `#`
    Hash,
    /// `-`
    Dash,
    /// `/`
    Slash,
    /// `\`
    Backslash,
    /// `$`
    Dollar,
    /// `@`
    At,
    /// What SQL does not know.
    Unknown,
}

/// The class of each byte.
pub(crate) static CLASSES: [Class; 256] = {
    let mut classes = [Class::Word; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = class_of(byte as u8);
        byte += 1;
    }
    classes
};

const fn class_of(byte: u8) -> Class {
    match byte {
        0..=b' ' | 0x7f | 0xa0 => Class::White,
        b'!' | b'&' | b'*' | b':' | b'<' | b'=' | b'>' | b'|' => Class::LongOperator,
        b'%' | b'+' | b'^' | b'~' => Class::Operator,
        b'(' | b')' | b',' | b';' | b'{' | b'}' => Class::Sign,
        b'.' | b'0'..=b'9' => Class::Number,
        b'"' | b'\'' => Class::Quote,
        b'`' => Class::Tick,
        b'[' => Class::Bracket,
        b'#' => Class::Hash,
        b'-' => Class::Dash,
        b'/' => Class::Slash,
        b'\\' => Class::Backslash,
        b'$' => Class::Dollar,
        b'@' => Class::At,
        b'?' | b']' => Class::Unknown,
        b'b' | b'B' | b'e' | b'E' | b'n' | b'N' | b'q' | b'Q' | b'u' | b'U' | b'x' | b'X' => Class::PrefixedString,
        _ => Class::Word,
    }
}

/// Bit of [`ENDS`]: the byte ends a word.
pub(crate) const WORD: u8 = 1;
/// Bit of [`ENDS`]: the byte ends a variable's name.
pub(crate) const VARIABLE: u8 = 2;
/// Bit of [`ENDS`]: before the byte a key word ends, if there is one.
pub(crate) const SPLIT: u8 = 4;

/// What each byte ends.
pub(crate) static ENDS: [u8; 256] = {
    let mut ends = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = match byte as u8 {
            b'[' | b']' | b'{' | b'}' | 0xa0 => WORD,
            b'`' => VARIABLE | SPLIT,
            b'.' => SPLIT,
            0
            | b'\t'..=b'\r'
            | b' '
            | b'<'
            | b'>'
            | b':'
            | b'\\'
            | b'?'
            | b'='
            | b'@'
            | b'!'
            | b'#'
            | b'~'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'&'
            | b'|'
            | b'^'
            | b'%'
            | b'('
            | b')'
            | b','
            | b'\''
            | b';'
            | b'"' => WORD | VARIABLE,
            _ => 0,
        };
        byte += 1;
    }
    ends
};

/// Bytes that count as white space behind a number or a comment's dashes: fewer than those that
/// are skipped between tokens.
pub(crate) const fn is_white(byte: u8) -> bool {
    matches!(byte, 0 | b'\t'..=b'\r' | b' ' | 0xa0)
}
