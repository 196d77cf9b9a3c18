//! The role of each byte at the start of a token, and the bytes that end a word.

/// How a token is read, depending on its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteClass {
    /// Skipped.
    White,
    /// A word.
    Word,
    /// A word, or a string with a prefix letter before its quote.
    PrefixedString,
    /// A number, or a dot.
    Number,
    /// A one-byte token named after the byte.
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
    /// A byte unknown to SQL.
    Unknown,
}

/// The class of each byte.
pub(crate) static CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Word; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = class_of(byte as u8);
        byte += 1;
    }
    classes
};

const fn class_of(byte: u8) -> ByteClass {
    match byte {
        0..=b' ' | 0x7f | 0xa0 => ByteClass::White,
        b'!' | b'&' | b'*' | b':' | b'<' | b'=' | b'>' | b'|' => ByteClass::LongOperator,
        b'%' | b'+' | b'^' | b'~' => ByteClass::Operator,
        b'(' | b')' | b',' | b';' | b'{' | b'}' => ByteClass::Sign,
        b'.' | b'0'..=b'9' => ByteClass::Number,
        b'"' | b'\'' => ByteClass::Quote,
        b'`' => ByteClass::Tick,
        b'[' => ByteClass::Bracket,
        b'#' => ByteClass::Hash,
        b'-' => ByteClass::Dash,
        b'/' => ByteClass::Slash,
        b'\\' => ByteClass::Backslash,
        b'$' => ByteClass::Dollar,
        b'@' => ByteClass::At,
        b'?' | b']' => ByteClass::Unknown,
        b'b' | b'B' | b'e' | b'E' | b'n' | b'N' | b'q' | b'Q' | b'u' | b'U' | b'x' | b'X' => ByteClass::PrefixedString,
        _ => ByteClass::Word,
    }
}

/// Bit of [`ENDS`]: the byte ends a word.
pub(crate) const WORD: u8 = 1;
/// Bit of [`ENDS`]: the byte ends a variable name.
pub(crate) const VARIABLE: u8 = 2;
/// Bit of [`ENDS`]: a keyword may end before the byte.
pub(crate) const SPLIT: u8 = 4;

/// The tokens that each byte ends.
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

/// White space after a number or after the dashes of a comment: fewer bytes than are skipped between tokens.
pub(crate) const fn is_white(byte: u8) -> bool {
    matches!(byte, 0 | b'\t'..=b'\r' | b' ' | 0xa0)
}
