//! A policy file as a tree of nodes, each with its place; YAML and JSON give the same tree.
//!
//! The tree is our own and not `saphyr`'s: it keeps duplicate keys (which must be errors), the
//! style of each scalar (so that an error inside an expression finds its column), and shares
//! what aliases repeat, so that a "billion laughs" file costs nothing before it is refused.

mod json;
mod place;
mod value;
mod yaml;

use std::rc::Rc;

use crate::source::Source;

pub use place::place;
pub use value::{parse_document, value};

/// A longer file is refused: 10,000 rules are about 3 MB; what is larger belongs into list files.
pub const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// Nodes in a document with all aliases expanded; a policy of 10,000 rules has about 150,000.
pub const MAX_NODES: usize = 4_000_000;
/// Nesting; the deepest place of a policy (a header of an action) is at 10.
pub const MAX_DEPTH: usize = 48;

/// A value in the file.
#[derive(Debug)]
pub struct Node {
    /// Byte offset of its first byte.
    pub at: usize,
    /// What it is.
    pub kind: Kind,
    /// How many nodes it stands for, itself included, with aliases expanded.
    weight: usize,
    /// How many levels it has, itself included.
    depth: usize,
}

/// What a node is.
#[derive(Debug)]
pub enum Kind {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Rc<Node>>),
    /// Keys and values as they are written; a key may be there twice.
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
}

/// A scalar's text and how it is written.
#[derive(Debug)]
pub struct Scalar {
    /// The text that it stands for, quotes and escapes resolved.
    pub text: String,
    /// How it is written.
    pub style: Style,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'...'`.
    SingleQuoted,
    /// `"..."`.
    DoubleQuoted,
    /// `|` and `>`.
    Block,
}

/// What a scalar means by YAML's core schema, which JSON's is part of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// `~`, `null` or nothing at all.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer of 64 bits.
    Integer(i64),
    /// Any other number.
    Float,
    /// Everything else, and whatever is quoted.
    Text,
}

/// Why a file cannot be read at all.
#[derive(Debug)]
pub struct SyntaxError {
    /// Byte offset.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SyntaxError {
    fn new(at: usize, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { at, message: message.into(), hint: hint.map(str::to_owned) }
    }

    fn too_deep(at: usize) -> Self {
        Self::new(at, format!("nested deeper than {MAX_DEPTH} levels"), None)
    }
}

/// Reads a document; files named `*.json` strictly as JSON, all others as YAML.
pub fn parse(source: &Source) -> Result<Rc<Node>, SyntaxError> {
    if source.text.len() > MAX_DOCUMENT_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_DOCUMENT_BYTES} are read", source.text.len());
        return Err(SyntaxError::new(
            0,
            message,
            Some("put long lists into files of their own: `lists: {name: {kind: ..., file: ...}}`"),
        ));
    }
    if let Some(at) = source.text.find('\0') {
        let hint = Some("is it a text file? in expressions any byte can be written as \"\\xNN\"");
        return Err(SyntaxError::new(at, "a NUL byte, which texts do not have", hint));
    }
    let is_json = source.file.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
    let root = if is_json { json::parse(source) } else { yaml::parse(source) }?;
    if source.document.is_some() {
        let _ = source.root.set(Rc::clone(&root));
    }
    Ok(root)
}

impl Node {
    fn scalar(at: usize, text: String, style: Style) -> Rc<Self> {
        Rc::new(Self { at, kind: Kind::Scalar(Scalar { text, style }), weight: 1, depth: 1 })
    }

    /// A container around finished nodes; refused past the bounds.
    fn container(at: usize, kind: Kind) -> Result<Rc<Self>, SyntaxError> {
        let (mut weight, mut depth) = (1usize, 0);
        let mut add = |child: &Rc<Node>| {
            weight = weight.saturating_add(child.weight);
            depth = depth.max(child.depth);
        };
        match &kind {
            Kind::Scalar(_) => {}
            Kind::Sequence(items) => items.iter().for_each(add),
            Kind::Mapping(pairs) => pairs.iter().for_each(|(key, value)| {
                add(key);
                add(value);
            }),
        }
        if weight > MAX_NODES {
            let message = format!("the document has more than {MAX_NODES} values once its aliases are expanded");
            return Err(SyntaxError::new(at, message, Some("long lists belong into files of their own")));
        }
        if depth >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(at));
        }
        Ok(Rc::new(Self { at, kind, weight, depth: depth + 1 }))
    }

    /// A hash of what is written here, however it is laid out.
    pub(crate) fn content(&self) -> u64 {
        fn write(node: &Node, out: &mut Vec<u8>) {
            match &node.kind {
                Kind::Scalar(scalar) => out.extend_from_slice(format!("{:?}", scalar.text).as_bytes()),
                Kind::Sequence(items) => {
                    out.push(b'[');
                    items.iter().for_each(|item| write(item, out));
                    out.push(b']');
                }
                Kind::Mapping(pairs) => {
                    out.push(b'{');
                    pairs.iter().for_each(|(key, value)| [key, value].iter().for_each(|node| write(node, out)));
                    out.push(b'}');
                }
            }
        }
        let mut out = Vec::new();
        write(self, &mut out);
        weir_gateway::frame_digest(&out)
    }

    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        if let Kind::Scalar(scalar) = &self.kind { Some(scalar) } else { None }
    }

    /// Whether nothing is written here: `key:` alone, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.class() == Class::Null)
    }

    /// What it is, for messages: `a list`, `the number 5`, `nothing`.
    pub fn describe(&self) -> String {
        let scalar = match &self.kind {
            Kind::Sequence(_) => return "a list".to_owned(),
            Kind::Mapping(_) => return "a mapping".to_owned(),
            Kind::Scalar(scalar) => scalar,
        };
        match scalar.class() {
            Class::Null => "nothing".to_owned(),
            Class::Bool => format!("`{}`", scalar.text),
            Class::Integer(_) | Class::Float => format!("the number {}", scalar.text),
            Class::Text => format!("the text {}", quoted(&scalar.text)),
        }
    }
}

/// A text in quotes for a message: escaped and cut.
pub fn quoted(text: &str) -> String {
    /// Characters of a text that messages repeat.
    const SHOWN: usize = 60;
    let cut: String = text.chars().take(SHOWN).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{dots}")
}

impl Scalar {
    /// What it means.
    pub fn class(&self) -> Class {
        if self.style != Style::Plain {
            return Class::Text;
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Class::Null,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Class::Bool,
            text => number(text),
        }
    }
}

fn number(text: &str) -> Class {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_or(Class::Float, Class::Integer);
    }
    let numeric = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+');
    let is_float =
        digits.bytes().all(numeric) && digits.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok();
    if is_float { Class::Float } else { Class::Text }
}
