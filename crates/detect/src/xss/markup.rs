//! Constructs that begin with `<!`, `<?` and `<%`: declarations and all sorts of comments.

use memchr::memmem;

use super::html::{Html, State, Token};

impl<'a> Html<'a> {
    /// After `<!`.
    pub(super) fn markup_declaration(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        if rest.get(..7).is_some_and(|name| name.eq_ignore_ascii_case(b"DOCTYPE")) {
            self.state = State::End;
            return Token::Doctype;
        }
        if rest.starts_with(b"[CDATA[") {
            self.at += 7;
            let text = &self.input[self.at..];
            match memmem::find(text, b"]]>") {
                Some(end) => self.take(end, 3, State::Data),
                None => self.rest(),
            };
            return Token::Other;
        }
        if rest.starts_with(b"--") {
            self.at += 2;
            return self.comment();
        }
        self.comment_to(b">")
    }

    /// Reads everything up to `end` as a comment.
    pub(super) fn comment_to(&mut self, end: &[u8]) -> Token<'a> {
        let found = memmem::find(&self.input[self.at..], end);
        Token::Comment(match found {
            Some(length) => self.take(length, end.len(), State::Data),
            None => self.rest(),
        })
    }

    /// A comment, up to `-->` or `--!>` without one of its dashes; NUL bytes may follow the first dash.
    fn comment(&mut self) -> Token<'a> {
        let text = &self.input[self.at..];
        for dash in memchr::memchr_iter(b'-', text) {
            let after = &text[dash + 1..];
            let zeros = after.iter().take_while(|byte| **byte == 0).count();
            if let [b'-' | b'!', b'>', ..] = after[zeros..] {
                return Token::Comment(self.take(dash, zeros + 3, State::Data));
            }
        }
        Token::Comment(self.rest())
    }
}
