//! Paths of routes: parsed, ranked, and kept in a trie.
//!
//! Each way to match a path begins with literal segments, which is where the trie keeps it: an exact path and a prefix
//! are nothing else, a template continues with segments of any kind, an expression with what its literal beginning
//! does not say. So one of 10,000 routes is found, and changed, at the cost of one of 10.

mod ranked;
mod trie;

use std::sync::Arc;

pub(crate) use ranked::Rank;
pub(crate) use trie::Trie;

use crate::{matched::Params, pattern::Regex, refusal::Refusal, resource::PathMatch};

/// The largest number of segments of a route's path.
pub const MAX_SEGMENTS: usize = 64;
/// The largest number of names in a template.
pub const MAX_PARAMS: usize = 8;

/// A piece of a path between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// A literal segment.
    Literal(Box<[u8]>),
    /// Any segment that is not empty, with a name.
    Param(Box<str>),
}

/// The end of a path after its segments.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The path ends here.
    Here,
    /// The path ends here or anywhere below.
    Below,
    /// The path ends below; the rest, which may be only the slash, has this name.
    Rest(Box<str>),
    /// The expression decides (it matches the whole path).
    Regex(Arc<Regex>),
}

/// A path of a route, ready to match.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub segments: Box<[Segment]>,
    pub end: End,
}

impl Path {
    /// Parses a path. `regex` finds the compiled form of an expression.
    pub fn parse(path: &PathMatch, regex: impl FnOnce(&str) -> Result<Arc<Regex>, Refusal>) -> Result<Self, Refusal> {
        let parsed = match path {
            PathMatch::Exact(text) => Self { segments: literals(absolute(text)?).collect(), end: End::Here },
            PathMatch::Prefix(text) => {
                let text = absolute(text)?.trim_end_matches('/');
                let segments = if text.is_empty() { Box::default() } else { literals(text).collect() };
                Self { segments, end: End::Below }
            }
            PathMatch::Template(text) => template(absolute(text)?)?,
            PathMatch::Regex(text) => {
                let regex = regex(text)?;
                // Only whole segments: what follows the last slash may go on.
                let prefix = regex.prefix().strip_prefix(b"/").unwrap_or_default();
                let known =
                    prefix.iter().rposition(|byte| *byte == b'/').map_or(&prefix[..0], |slash| &prefix[..slash]);
                let pieces = known.split(|byte| *byte == b'/').filter(|_| prefix.contains(&b'/'));
                let segments = pieces.take(MAX_SEGMENTS).map(|piece| Segment::Literal(piece.into())).collect();
                Self { segments, end: End::Regex(regex) }
            }
        };
        let params = parsed.param_names().count();
        match parsed.segments.len() {
            length if length > MAX_SEGMENTS => {
                Err(invalid(path, &format!("{length} segments; {MAX_SEGMENTS} are allowed")))
            }
            _ if params > MAX_PARAMS => Err(invalid(path, &format!("{params} names; {MAX_PARAMS} are allowed"))),
            _ => Ok(parsed),
        }
    }

    /// Parses a path that is not an expression.
    pub fn parse_plain(path: &PathMatch) -> Result<Self, Refusal> {
        Self::parse(path, |_| Err(invalid(path, "an expression")))
    }

    /// Names of the template, in order.
    pub fn param_names(&self) -> impl Iterator<Item = &str> {
        let named = self.segments.iter().filter_map(|segment| match segment {
            Segment::Param(name) => Some(&**name),
            Segment::Literal(_) => None,
        });
        named.chain(match &self.end {
            End::Rest(name) => Some(&**name),
            _ => None,
        })
    }

    /// The positions of the names in a matching `path`.
    pub fn params(&self, path: &[u8]) -> Params {
        let mut params = Params::default();
        let mut from = 1;
        for segment in &self.segments {
            let to = end_of_segment(path, from);
            if let Segment::Param(_) = segment {
                params.push(from..to);
            }
            from = to + 1;
        }
        if let End::Rest(_) = self.end {
            params.push(from.min(path.len())..path.len());
        }
        params
    }

    /// The length of the prefix in a matching `path`, without the part below it.
    pub fn matched_length(&self, path: &[u8]) -> usize {
        let whole = !matches!(self.end, End::Below | End::Rest(_));
        let mut to = if whole { path.len() } else { 0 };
        if !whole {
            for _ in &self.segments {
                to = end_of_segment(path, to + 1);
            }
        }
        to
    }
}

/// The end of the segment that begins at `from`.
fn end_of_segment(path: &[u8], from: usize) -> usize {
    let from = from.min(path.len());
    path[from..].iter().position(|byte| *byte == b'/').map_or(path.len(), |length| from + length)
}

fn literals(text: &str) -> impl Iterator<Item = Segment> {
    text[1..].split('/').map(|piece| Segment::Literal(piece.as_bytes().into()))
}

fn absolute(text: &str) -> Result<&str, Refusal> {
    if text.starts_with('/') {
        Ok(text)
    } else {
        Err(Refusal::Invalid(format!("path `{text}`: it must begin with `/`")))
    }
}

fn template(text: &str) -> Result<Path, Refusal> {
    let wrong = |why: &str| Refusal::Invalid(format!("path template `{text}`: {why}"));
    let mut segments = Vec::new();
    let mut pieces = text[1..].split('/').peekable();
    let mut names: Vec<&str> = Vec::new();
    while let Some(piece) = pieces.next() {
        let Some(name) = piece.strip_prefix('{').and_then(|name| name.strip_suffix('}')) else {
            if piece.contains(['{', '}']) {
                return Err(wrong("a name in braces stands for a whole segment"));
            }
            segments.push(Segment::Literal(piece.as_bytes().into()));
            continue;
        };
        let (name, rest) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(wrong("names are made of letters, digits and `_`"));
        }
        if names.contains(&name) {
            return Err(wrong("each name may be there once"));
        }
        names.push(name);
        match rest {
            false => segments.push(Segment::Param(name.into())),
            true if pieces.peek().is_some() => return Err(wrong("only the last segment may stand for the rest")),
            true => return Ok(Path { segments: segments.into(), end: End::Rest(name.into()) }),
        }
    }
    Ok(Path { segments: segments.into(), end: End::Here })
}

fn invalid(path: &PathMatch, why: &str) -> Refusal {
    let (PathMatch::Exact(text) | PathMatch::Prefix(text) | PathMatch::Template(text) | PathMatch::Regex(text)) = path;
    Refusal::Invalid(format!("path `{text}` has {why}"))
}

#[cfg(test)]
mod tests;
