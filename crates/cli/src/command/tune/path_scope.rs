//! Paths of requests, and what they have in common where an id stands in them.

use weir_log::attack::AttackLine;

use weir_http::path::normalise;

/// From so many paths of one shape on, the shape is what is meant.
pub(super) const SEVERAL: usize = 3;
/// Hexadecimal digits from which on a segment is an id and not a word (`/cafe`, `/added`).
const LONG_HEX: usize = 12;

/// The path of a logged request as expressions see it.
pub(super) fn path_of(entry: &AttackLine) -> Vec<u8> {
    normalise(entry.uri.as_bytes()).path
}

/// The paths for which an exclusion holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PathScope {
    /// On this path.
    Path(Vec<u8>),
    /// On paths of this shape.
    Shape(Shape),
}

/// A path in which some segments are ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shape(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Segment {
    Word(String),
    Number,
    Uuid,
    Hexadecimal,
}

impl Segment {
    fn of(text: &str) -> Self {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Number
        } else if is_uuid(text) {
            Self::Uuid
        } else if is_hex && text.len() >= LONG_HEX && text.bytes().any(|byte| byte.is_ascii_digit()) {
            Self::Hexadecimal
        } else {
            Self::Word(text.to_owned())
        }
    }

    fn pattern(&self) -> String {
        match self {
            Self::Word(text) => text.chars().map(literal).collect(),
            Self::Number => "[0-9]+".to_owned(),
            Self::Uuid => "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}".to_owned(),
            Self::Hexadecimal => format!("[0-9a-fA-F]{{{LONG_HEX},}}"),
        }
    }
}

/// A character in a pattern. Those that would need a backslash, which strings of expressions read
/// in their own way, stand in brackets.
fn literal(character: char) -> String {
    if character.is_ascii_alphanumeric() || "_-~%".contains(character) {
        character.to_string()
    } else {
        format!("[{character}]")
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

impl Shape {
    /// The shape of a path; `None` if no id stands in it, or if a pattern cannot say the rest.
    pub fn of(path: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(path).ok()?;
        if text.contains(|character: char| "^[]\\\"'".contains(character) || character.is_control()) {
            return None;
        }
        let segments: Vec<Segment> = text.split('/').map(Segment::of).collect();
        let has_id = segments.iter().any(|segment| !matches!(segment, Segment::Word(_)));
        has_id.then_some(Self(segments))
    }

    fn pattern(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(Segment::pattern).collect();
        format!("^{}$", parts.join("/"))
    }
}

impl PathScope {
    /// Every place that a path is.
    pub fn of(path: Vec<u8>) -> Vec<Self> {
        let shape = Shape::of(&path).map(Self::Shape);
        std::iter::once(Self::Path(path)).chain(shape).collect()
    }

    /// As an expression.
    pub fn expression(&self) -> String {
        match self {
            Self::Path(path) => format!("http.request.uri.path eq {}", quoted(path)),
            Self::Shape(shape) => format!("http.request.uri.path matches \"{}\"", shape.pattern()),
        }
    }
}

/// A string of an expression: printable ASCII and UTF-8 as they are, all else as `\xff`.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                other if other.is_control() => {
                    other.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
                }
                other => out.push(other),
            }
        }
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_words() {
        for (path, pattern) in [
            ("/orders/17/edit", Some("^/orders/[0-9]+/edit$")),
            ("/cafe/added", None),
            ("/f/0123456789abcdef.txt", None),
            ("/f/0123456789abcdef", Some("^/f/[0-9a-fA-F]{12,}$")),
            ("/v1.0/7", Some("^/v1[.]0/[0-9]+$")),
            (
                "/u/123e4567-e89b-12d3-a456-426614174000",
                Some("^/u/[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
            ),
            ("/a[1]/7", None),
        ] {
            assert_eq!(Shape::of(path.as_bytes()).map(|shape| shape.pattern()).as_deref(), pattern, "{path}");
        }
    }

    #[test]
    fn any_path_can_be_said() {
        let place = |path: &[u8]| PathScope::Path(path.to_vec()).expression();
        assert_eq!(place(b"/a\"b\\c"), r#"http.request.uri.path eq "/a\"b\\c""#);
        assert_eq!(place(b"/\xff\n\xc3\xa4"), "http.request.uri.path eq \"/\\xff\\x0aä\"");
    }
}
