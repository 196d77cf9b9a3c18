//! YAML, from the events of `saphyr-parser`, without recursion.
//!
//! Merge keys (`<<: *base`, <https://yaml.org/type/merge.html>) are resolved here: what comes out has the merged keys
//! like its own, each with the place where it was written.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::{Kind, MAX_DEPTH, MAX_NODES, Node, Style, SyntaxError};
use crate::source::Source;

/// A container that is still open.
struct Frame {
    at: usize,
    anchor: usize,
    is_mapping: bool,
    children: Vec<Rc<Node>>,
}

struct Builder<'s> {
    source: &'s Source,
    open: Vec<Frame>,
    anchors: HashMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
    documents: usize,
    /// Pairs that merge keys have looked at: with all aliases expanded there may be no more than nodes.
    merged: usize,
}

/// A key and its value.
type Pair = (Rc<Node>, Rc<Node>);

/// Reads the one document of a YAML file.
pub(super) fn parse(source: &Source) -> Result<Rc<Node>, SyntaxError> {
    let mut builder =
        Builder { source, open: Vec::new(), anchors: HashMap::new(), root: None, documents: 0, merged: 0 };
    let mut parser = Parser::new_from_str(&source.text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => {
                let at = source.offset(error.marker().index());
                return Err(syntax(source, at, error.info()));
            }
        }
    }
    builder.root.ok_or_else(empty)
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let at = self.source.offset(span.start.index());
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(SyntaxError::new(
                        at,
                        "a second document begins here; a policy is one document",
                        Some("remove the `---` line or split the file"),
                    ));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                refuse_tag(at, tag.as_deref())?;
                let node = Node::scalar(at, text.into_owned(), style_of(style));
                self.add(node, anchor)?;
            }
            Event::SequenceStart(anchor, tag) => self.open(at, anchor, tag.as_deref(), false)?,
            Event::MappingStart(anchor, tag) => self.open(at, anchor, tag.as_deref(), true)?,
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node =
                    node.ok_or_else(|| SyntaxError::new(at, "an alias inside the value that it repeats", None))?;
                self.add(node, 0)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, at: usize, anchor: usize, tag: Option<&Tag>, is_mapping: bool) -> Result<(), SyntaxError> {
        refuse_tag(at, tag)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(at));
        }
        self.open.push(Frame { at, anchor, is_mapping, children: Vec::new() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let frame = self.open.pop().expect("the parser closes only what it opened");
        let mut children = frame.children;
        let kind = if frame.is_mapping {
            let mut pairs = Vec::with_capacity(children.len() / 2);
            let mut rest = children.drain(..);
            while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
                pairs.push((key, value));
            }
            drop(rest);
            Kind::Mapping(if pairs.iter().any(is_merge) { self.merge(pairs)? } else { pairs })
        } else {
            Kind::Sequence(children)
        };
        // A block mapping's event has the place of its first key; so has an empty flow mapping's.
        let node = Node::container(frame.at, kind)?;
        self.add(node, frame.anchor)
    }

    /// The pairs of a mapping with those that its merge key names: its own keys win over merged ones, and earlier
    /// merged mappings over later ones.
    fn merge(&mut self, pairs: Vec<Pair>) -> Result<Vec<Pair>, SyntaxError> {
        let (merges, mut all): (Vec<_>, Vec<_>) = pairs.into_iter().partition(is_merge);
        if let [_, (second, _), ..] = merges.as_slice() {
            let hint = Some("merge several mappings by a list: `<<: [*first, *second]`");
            return Err(SyntaxError::new(second.at, "`<<` is given twice in a mapping", hint));
        }
        let mut seen: HashSet<String> = all.iter().filter_map(|(key, _)| Some(key.as_scalar()?.text.clone())).collect();
        for (key, value) in merges {
            let sources = match &value.kind {
                Kind::Sequence(items) => items.as_slice(),
                Kind::Mapping(_) | Kind::Scalar(_) => std::slice::from_ref(&value),
            };
            for source in sources {
                let Kind::Mapping(pairs) = &source.kind else {
                    let message = format!("`<<` merges a mapping or a list of mappings, found {}", source.describe());
                    let hint = Some("name one by its anchor: `base: &base {...}`, and then `<<: *base`");
                    return Err(SyntaxError::new(key.at, message, hint));
                };
                self.merged = self.merged.saturating_add(pairs.len());
                if self.merged > MAX_NODES {
                    return Err(SyntaxError::new(key.at, format!("merge keys add more than {MAX_NODES} values"), None));
                }
                let is_new = |(key, _): &&Pair| key.as_scalar().is_none_or(|key| seen.insert(key.text.clone()));
                all.extend(pairs.iter().filter(is_new).cloned());
            }
        }
        Ok(all)
    }

    fn add(&mut self, node: Rc<Node>, anchor: usize) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        match self.open.last_mut() {
            Some(frame) => frame.children.push(node),
            None if node.is_null() => return Err(empty()),
            None => self.root = Some(node),
        }
        Ok(())
    }
}

/// Whether a pair is a merge key; in quotes it is a key like others.
fn is_merge((key, _): &Pair) -> bool {
    key.as_scalar().is_some_and(|key| key.style == Style::Plain && key.text == "<<")
}

fn empty() -> SyntaxError {
    SyntaxError::new(
        0,
        "the file is empty; expected a document",
        Some("the smallest policy is a list `policies:` with one policy in it"),
    )
}

fn refuse_tag(at: usize, tag: Option<&Tag>) -> Result<(), SyntaxError> {
    match tag {
        None => Ok(()),
        Some(tag) => Err(SyntaxError::new(
            at,
            format!("YAML tags are not supported, found `{tag}`"),
            Some("remove the tag; quote the value if it begins with `!`"),
        )),
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

/// The scanner's message, with advice for what people trip over most.
fn syntax(source: &Source, at: usize, info: &str) -> SyntaxError {
    let line = source.line_at(at);
    let hint = if line.trim_start_matches(' ').starts_with('\t') {
        Some("YAML is indented with spaces, never with tabs")
    } else if line.contains(": *") || line.contains(": %") || line.contains(": @") || line.contains(": `") {
        Some("a text that begins with one of * & % @ ` needs quotes")
    } else if line.contains(": \"") || line.contains(": '") {
        Some("write expressions in single quotes ('...', a single quote inside is doubled) or as a block after `|`")
    } else {
        None
    };
    SyntaxError::new(at, format!("not valid YAML: {info}"), hint)
}
