//! A minimal Lua lexer that finds the brace that closes a block, and calls outside strings and comments.
//!
//! Counting braces alone is not sufficient: `"}"`, `[[ } ]]` and `-- }` are common in handlers.

/// A lexical element of Lua.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// A byte of code.
    Code(u8),
    /// A string or a comment.
    Opaque,
}

/// Number of bytes before the `}` that closes a block; `None` if it is not closed.
pub(in crate::facts) fn block_length(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_u32);
    while at < text.len() {
        let (piece, length) = piece(&text[at..])?;
        match piece {
            Piece::Code(b'{') => depth += 1,
            Piece::Code(b'}') if depth == 0 => return Some(at),
            Piece::Code(b'}') => depth -= 1,
            Piece::Code(_) | Piece::Opaque => {}
        }
        at += length;
    }
    None
}

/// Lines (from 0) of code that contain a text such as `jit.off()`, ignoring blanks.
pub(in crate::facts) fn lines_with(text: &[u8], wanted: &str) -> Vec<u32> {
    let wanted = wanted.as_bytes();
    let (mut at, mut line, mut found) = (0, 0, Vec::new());
    let mut code: Vec<u8> = Vec::new();
    while at < text.len() {
        let (piece, length) = piece(&text[at..]).unwrap_or((Piece::Opaque, text.len() - at));
        match piece {
            Piece::Code(byte) if byte.is_ascii_whitespace() => {}
            Piece::Code(byte) => code.push(byte),
            Piece::Opaque => code.push(b' '),
        }
        if code.ends_with(wanted) {
            found.push(line);
            code.clear();
        }
        line += u32::try_from(text[at..at + length].iter().filter(|&&byte| byte == b'\n').count()).unwrap_or(0);
        at += length;
    }
    found
}

/// The first element of a text, and its length; `None` if it is not closed.
fn piece(text: &[u8]) -> Option<(Piece, usize)> {
    let end_of_line = || text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    match text {
        [b'-', b'-', rest @ ..] => match long_bracket(rest) {
            Some(length) => Some((Piece::Opaque, 2 + length?)),
            None => Some((Piece::Opaque, end_of_line())),
        },
        [b'[', ..] => match long_bracket(text) {
            Some(length) => Some((Piece::Opaque, length?)),
            None => Some((Piece::Code(b'['), 1)),
        },
        [quote @ (b'"' | b'\''), rest @ ..] => short_string(rest, *quote).map(|length| (Piece::Opaque, 1 + length)),
        [byte, ..] => Some((Piece::Code(*byte), 1)),
        [] => None,
    }
}

/// Length of a string after its opening quote, including the closing one.
fn short_string(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Length of a long bracket `[==[ ... ]==]`; `None` if it is not one, `Some(None)` if it is not closed.
fn long_bracket(text: &[u8]) -> Option<Option<usize>> {
    let equals = text.strip_prefix(b"[")?.iter().take_while(|&&byte| byte == b'=').count();
    if text.get(1 + equals) != Some(&b'[') {
        return None;
    }
    let body = 2 + equals;
    let mut at = body;
    while let Some(next) = text[at..].iter().position(|&byte| byte == b']') {
        let closing = &text[at + next + 1..];
        let level = closing.iter().take_while(|&&byte| byte == b'=').count();
        if level == equals && closing.get(level) == Some(&b']') {
            return Some(Some(at + next + 2 + equals));
        }
        // Counted bytes are not read again unless they are a bracket: linear.
        at += next + 1 + level;
    }
    Some(None)
}
