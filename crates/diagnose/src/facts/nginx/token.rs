//! Splits a configuration into words, semicolons and braces, as nginx's own reader does.
//!
//! Quotes and `#` are special only at the beginning of a word, `{` ends a word unless it follows a
//! `$`, `}` does not, and only the escapes `\"`, `\'`, `\\`, `\t`, `\r`, `\n` are resolved
//! (`ngx_conf_read_token` in `src/core/ngx_conf_file.c`).

use super::lua_text;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, without quotes and escapes. Invalid UTF-8 is replaced.
    Word(String),
    /// `;`
    End,
    /// `{`
    Open,
    /// `}`
    Close,
}

/// A syntax error with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub line: u32,
    pub what: &'static str,
}

/// Reads tokens in one pass.
#[derive(Debug)]
pub(super) struct Tokens<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
}

impl<'t> Tokens<'t> {
    pub fn of(text: &'t [u8]) -> Self {
        let mark = [0xef, 0xbb, 0xbf];
        Self { text, at: if text.starts_with(&mark) { mark.len() } else { 0 }, line: 1 }
    }

    /// The next token with its line; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(Token, u32)>, SyntaxError> {
        self.skip();
        let line = self.line;
        let Some(&first) = self.text.get(self.at) else { return Ok(None) };
        let single = match first {
            b';' => Some(Token::End),
            b'{' => Some(Token::Open),
            b'}' => Some(Token::Close),
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok(Some((token, line)));
        }
        let word = if matches!(first, b'"' | b'\'') { self.quoted(first)? } else { self.bare() };
        Ok(Some((Token::Word(word), line)))
    }

    /// Lua up to the brace that closes the most recently opened block; that brace is consumed too.
    pub fn lua(&mut self) -> Result<String, SyntaxError> {
        let from = self.at;
        let Some(length) = lua_text::block_length(&self.text[from..]) else {
            return Err(SyntaxError { line: self.line, what: "a block of Lua is not closed" });
        };
        self.advance(from + length + 1);
        Ok(String::from_utf8_lossy(&self.text[from..from + length]).into_owned())
    }

    /// White space and comments.
    fn skip(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.advance(self.at + 1),
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<String, SyntaxError> {
        let (from, line) = (self.at + 1, self.line);
        let mut at = from;
        while let Some(&byte) = self.text.get(at) {
            match byte {
                b'\\' => at += 2,
                byte if byte == quote => {
                    self.advance(at + 1);
                    return match self.text.get(self.at) {
                        None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b')') => {
                            Ok(unescape(&self.text[from..at]))
                        }
                        Some(_) => Err(SyntaxError { line: self.line, what: "missing blank, ; or { after a quote" }),
                    };
                }
                _ => at += 1,
            }
        }
        Err(SyntaxError { line, what: "a quote is not closed" })
    }

    fn bare(&mut self) -> String {
        let from = self.at;
        let (mut at, mut variable) = (from, false);
        while let Some(&byte) = self.text.get(at) {
            let step = match byte {
                b'{' if variable => 1,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => break,
                b'\\' => 2,
                _ => 1,
            };
            variable = byte == b'$';
            at = (at + step).min(self.text.len());
        }
        self.advance(at);
        unescape(&self.text[from..at])
    }

    fn advance(&mut self, to: usize) {
        let to = to.min(self.text.len());
        let lines = self.text[self.at..to].iter().filter(|&&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = to;
    }
}

fn unescape(written: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(written.len());
    let mut at = 0;
    while at < written.len() {
        let resolved = match (written[at], written.get(at + 1)) {
            (b'\\', Some(&byte @ (b'"' | b'\'' | b'\\'))) => Some(byte),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'n')) => Some(b'\n'),
            _ => None,
        };
        bytes.push(resolved.unwrap_or(written[at]));
        at += if resolved.is_some() { 2 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
