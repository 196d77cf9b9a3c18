//! YAML as a tree whose scalars are all texts, from the events of `saphyr-parser`.
//!
//! A regression case says `Content-Length: 0300` and `data: true` and means the bytes on the wire:
//! a parser that makes numbers and booleans of them loses what was written. Keys keep their order,
//! because headers are sent in it.

use saphyr_parser::{Event, Parser};

/// Nesting; a case's deepest place is at 9.
const MAX_DEPTH: usize = 32;

/// A value of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Yaml {
    /// A scalar, whatever it looks like; the text with quotes and escapes resolved.
    Text(String),
    /// A sequence.
    List(Vec<Yaml>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Yaml)>),
}

/// A container that is still open.
struct Frame {
    is_map: bool,
    children: Vec<Yaml>,
}

impl Yaml {
    /// Reads the first document of a text. The error is a sentence with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut open: Vec<Frame> = Vec::new();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| error.to_string())?;
            let place = || format!("{}:{}", span.start.line(), span.start.col() + 1);
            let done = match event {
                Event::Scalar(text, ..) => Some(Self::Text(text.into_owned())),
                Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                    return Err(format!("{}: nested deeper than {MAX_DEPTH} levels", place()));
                }
                Event::SequenceStart(..) => {
                    open.push(Frame { is_map: false, children: Vec::new() });
                    None
                }
                Event::MappingStart(..) => {
                    open.push(Frame { is_map: true, children: Vec::new() });
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => open.pop().map(Frame::close),
                Event::Alias(_) => return Err(format!("{}: aliases are not read here", place())),
                _ => None,
            };
            let Some(value) = done else { continue };
            match open.last_mut() {
                Some(frame) => frame.children.push(value),
                None => return Ok(value),
            }
        }
        Err("the file is empty".into())
    }

    /// The value of a key; of the last one if it is there twice, as PyYAML has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.pairs().iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text of a scalar under a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a key has the value `true`.
    #[must_use]
    pub fn is_true(&self, key: &str) -> bool {
        self.text(key).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// The entries of a mapping; none of anything else.
    #[must_use]
    pub fn pairs(&self) -> &[(String, Self)] {
        if let Self::Map(pairs) = self { pairs } else { &[] }
    }

    /// The items of a sequence; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
}

impl Frame {
    fn close(self) -> Yaml {
        if !self.is_map {
            return Yaml::List(self.children);
        }
        let mut pairs = Vec::with_capacity(self.children.len() / 2);
        let mut rest = self.children.into_iter();
        while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
            let key = if let Yaml::Text(key) = key { key } else { String::new() };
            pairs.push((key, value));
        }
        Yaml::Map(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stay_texts_and_keys_keep_their_order() {
        let tree = Yaml::parse("b: 0300\na:\n  - true\n  - \"\\x41\\r\\n\"\n  - ''\nb: 7\n").unwrap();
        let keys: Vec<&str> = tree.pairs().iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "b"]);
        assert_eq!(tree.text("b"), Some("7"));
        let texts = ["true", "A\r\n", ""].map(|text| Yaml::Text(text.into()));
        assert_eq!(tree.get("a").unwrap().items(), texts);
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        for text in ["", "a: [", "a: *b", &"[".repeat(100)] {
            assert!(Yaml::parse(text).is_err(), "{text}");
        }
    }
}
