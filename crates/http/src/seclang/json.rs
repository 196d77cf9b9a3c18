//! JSON bodies as arguments, with the names that `request_body_processor/json.cc` assigns:
//! `json.items.array_0.price`.
//!
//! There are two deviations. Data after the document is an error even if it is the beginning of a string, which yajl
//! accepts. And names have a budget that grows with the body, because one long path over many leaves would cost the
//! product of both. Past it a leaf is named by its own key only; its value is kept.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::json_lexer::{Fault, Lexer, Token};
use crate::bound::max_path_arena;
use crate::{Anomalies, Pair};

/// The contents of a body.
pub(super) struct Document<'a> {
    /// Leaves by path; `null` becomes an empty value.
    pub leaves: &'a [Pair<'a>],
    /// yajl's error message.
    pub error: Option<Fault>,
    pub found: Anomalies,
}

const TOO_DEEP: Fault = "client cancelled parse via callback return value. Parsing depth limit exceeded";
const TOO_MANY: Fault = "client cancelled parse via callback return value";

/// Reads `body`: at most `most` leaves, nested at most `depth` deep. Leaves before an error are kept.
pub(super) fn parse<'a>(arena: &'a Bump, body: &'a [u8], depth: usize, most: usize) -> Document<'a> {
    let commas = memchr::memchr_iter(b',', body).count();
    let mut reader = Reader {
        lexer: Lexer::new(arena, body),
        arena,
        depth,
        most,
        leaves: Vec::with_capacity_in((commas + 1).min(most), arena),
        levels: Vec::with_capacity_in(8, arena),
        path: Vec::with_capacity_in(64, arena),
        key: None,
        budget: max_path_arena(body.len()),
        found: Anomalies::empty(),
    };
    let error = reader.document().err();
    Document { leaves: reader.leaves.into_bump_slice(), error, found: reader.found }
}

struct OpenContainer {
    object: bool,
    /// Index of the current array element.
    index: usize,
    /// Length of the path up to the container, without the element's index.
    path: usize,
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    arena: &'a Bump,
    depth: usize,
    most: usize,
    leaves: Vec<'a, Pair<'a>>,
    levels: Vec<'a, OpenContainer>,
    /// Names of the open containers.
    path: Vec<'a, u8>,
    /// Key of the value being read; none in arrays.
    key: Option<&'a [u8]>,
    budget: usize,
    found: Anomalies,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<(), Fault> {
        loop {
            let token = self.lexer.next()?;
            self.value(token)?;
            while let Some(level) = self.levels.last_mut() {
                let object = level.object;
                match self.lexer.next()? {
                    Token::Mark(b',') => {
                        level.index += 1;
                        if object {
                            let token = self.lexer.next()?;
                            self.read_key(token)?;
                        }
                        break;
                    }
                    Token::Mark(b'}') if object => self.close(),
                    Token::Mark(b']') if !object => self.close(),
                    Token::End => return Err("premature EOF"),
                    _ if object => return Err("after key and value, inside map, I expect ',' or '}'"),
                    _ => return Err("after array element, I expect ',' or ']'"),
                }
            }
            if self.levels.is_empty() {
                return match self.lexer.next()? {
                    Token::End => Ok(()),
                    _ => Err("trailing garbage"),
                };
            }
        }
    }

    /// Reads a value: a leaf, or the beginning of a container up to its first leaf.
    fn value(&mut self, mut token: Token<'a>) -> Result<(), Fault> {
        loop {
            match token {
                Token::String(text) | Token::Scalar(text) => return self.leaf(text),
                Token::Mark(b'{') => {
                    self.open(true)?;
                    match self.lexer.next()? {
                        Token::Mark(b'}') => {
                            self.close();
                            return Ok(());
                        }
                        key => self.read_key(key)?,
                    }
                    token = self.lexer.next()?;
                }
                Token::Mark(b'[') => {
                    self.open(false)?;
                    token = self.lexer.next()?;
                    if token == Token::Mark(b']') {
                        self.close();
                        return Ok(());
                    }
                }
                Token::End => return Err("premature EOF"),
                Token::Mark(_) => return Err("unallowed token at this point in JSON text"),
            }
        }
    }

    /// Reads a key and its colon.
    fn read_key(&mut self, token: Token<'a>) -> Result<(), Fault> {
        match token {
            Token::String(key) => self.key = Some(key),
            Token::End => return Err("premature EOF"),
            _ => return Err("invalid object key (must be a string)"),
        }
        match self.lexer.next()? {
            Token::Mark(b':') => Ok(()),
            Token::End => Err("premature EOF"),
            _ => Err("object key and value must be separated by a colon (':')"),
        }
    }

    /// The name of the value being read, within its container.
    fn name(&mut self) -> &'a [u8] {
        match self.key.take() {
            _ if self.levels.is_empty() => b"json",
            Some(b"") => b"empty-key",
            key => key.unwrap_or_default(),
        }
    }

    fn open(&mut self, object: bool) -> Result<(), Fault> {
        if self.levels.len() >= self.depth {
            self.found |= Anomalies::TOO_DEEP;
            return Err(TOO_DEEP);
        }
        self.push_element();
        let name = self.name();
        self.path.extend_from_slice_copy(name);
        if object {
            self.path.push(b'.');
        }
        self.levels.push(OpenContainer { object, index: 0, path: self.path.len() });
        Ok(())
    }

    fn close(&mut self) {
        self.levels.pop();
        self.key = None;
        self.path.truncate(self.levels.last().map_or(0, |level| level.path));
    }

    /// Extends the path by the index of the current array element.
    fn push_element(&mut self) {
        let Some(level) = self.levels.last() else { return };
        self.path.truncate(level.path);
        if !level.object {
            self.path.extend_from_slice_copy(b".array_");
            self.path.extend_from_slice_copy(super::digits(level.index, &mut [0; 20]));
        }
    }

    fn leaf(&mut self, value: &'a [u8]) -> Result<(), Fault> {
        self.push_element();
        let key = self.name();
        if self.leaves.len() == self.most {
            self.found |= Anomalies::TOO_MANY_ITEMS;
            return Err(TOO_MANY);
        }
        let length = self.path.len() + key.len();
        let name = if self.path.is_empty() {
            key
        } else if let Some(left) = self.budget.checked_sub(length) {
            self.budget = left;
            super::concat(self.arena, &[&self.path, key])
        } else {
            self.found |= Anomalies::TOO_DEEP;
            key
        };
        self.leaves.push(Pair { name, value });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seclang::shown;

    fn parsed(body: &str) -> (String, bool) {
        let arena = Bump::new();
        let document = parse(&arena, arena.alloc_str(body).as_bytes(), 5, 100);
        (shown(document.leaves), document.error.is_none())
    }

    #[test]
    fn names_leaves_as_modsecurity_does() {
        let cases = [
            (
                r#"{"a":1,"b":{"c":"x","d":[1,[2,{"e":null}],true]}}"#,
                "json.a=1|json.b.c=x|json.b.d.array_0=1|json.b.d.array_1.array_0=2|json.b.d.array_1.array_1.e=|json.b.d.array_2=true",
            ),
            ("[[1],{},[],2]", "json.array_0.array_0=1|json.array_3=2"),
            (r#""top""#, "json=top"),
            (" 12.50e+1\x0b", "json=12.50e+1"),
            (r#"{"":1,"a":{"":{"":false}}}"#, "json.empty-key=1|json.a.empty-key.empty-key=false"),
            (r#"{"a":1,"a":2}"#, "json.a=1|json.a=2"),
            (r#"{"a":{"x":1},"b":2}"#, "json.a.x=1|json.b=2"),
            (
                r#"["\u0041\n\/\u00e9\ud83d\ude00\ud800x\udc00"]"#,
                "json.array_0=A\\n/\\xc3\\xa9\\xf0\\x9f\\x98\\x80?x\\xed\\xb0\\x80",
            ),
            ("[[[[[1]]]]]", "json.array_0.array_0.array_0.array_0.array_0=1"),
        ];
        for (body, expected) in cases {
            assert_eq!(parsed(body), (expected.to_owned(), true), "{body}");
        }
    }

    #[test]
    fn keeps_what_came_before_a_fault() {
        let cases = [
            ("", ""),
            ("[1,2", "json.array_0=1|json.array_1=2"),
            ("[1 2]", "json.array_0=1"),
            ("[01]", "json.array_0=0"),
            ("[1,]", "json.array_0=1"),
            (r#"{"a":1,}"#, "json.a=1"),
            ("[1] x", "json.array_0=1"),
            ("[1][", "json.array_0=1"),
            ("[1}", "json.array_0=1"),
            ("[1,\"\t\"]", "json.array_0=1"),
            (r#"[1,"\x"]"#, "json.array_0=1"),
            (r#"[1,"\u00"#, "json.array_0=1"),
            ("[-]", ""),
            ("[1.]", ""),
            ("[1e]", ""),
            ("{1:2}", ""),
            ("[/**/1]", ""),
            ("\u{feff}[1]", ""),
            ("[[[[[[1]]]]]]", ""),
        ];
        for (body, expected) in cases {
            assert_eq!(parsed(body), (expected.to_owned(), false), "{body}");
        }
    }

    #[test]
    fn bounds() {
        let arena = Bump::new();
        let document = parse(&arena, b"[1,2,3]", 5, 2);
        assert_eq!((document.leaves.len(), document.found), (2, Anomalies::TOO_MANY_ITEMS));
        assert_eq!(document.error, Some(TOO_MANY));
        let long = format!("{{\"{}\":[{}1]}}", "k".repeat(30_000), "1,".repeat(5_000));
        let document = parse(&arena, arena.alloc_str(&long).as_bytes(), 5, 10_000);
        assert_eq!((document.leaves.len(), document.found, document.error), (5_001, Anomalies::TOO_DEEP, None));
    }
}
