//! Compiled rewrites of the path.

use std::sync::Arc;

use regex_automata::util::captures::Captures;

use crate::{
    expansion::Expansion, matched::Matched, path::Path, pattern::Regex, refusal::Refusal, request::RequestView,
    resource::Rewrite,
};

/// A compiled rewrite.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// Replaces the matched prefix (for a template, the part before the rest; for others, the whole path).
    Prefix(Box<[u8]>),
    /// Replaces the whole path.
    Path(Expansion),
    /// Replaces the first match of the expression.
    Regex { regex: Arc<Regex>, to: Box<[u8]> },
}

impl Program {
    /// `regex` finds the compiled form of an expression.
    pub fn new(
        rewrite: &Rewrite,
        path: &Path,
        regex: &mut dyn FnMut(&str) -> Result<Arc<Regex>, Refusal>,
    ) -> Result<Self, Refusal> {
        Ok(match rewrite {
            Rewrite::Prefix(to) => Self::Prefix(to.as_bytes().into()),
            Rewrite::Path(to) => Self::Path(Expansion::parse(to, path.param_names())?),
            Rewrite::Regex { pattern, to } => Self::Regex { regex: regex(pattern)?, to: to.as_bytes().into() },
        })
    }

    /// Appends the new path; it always begins with `/`.
    pub fn write(&self, matched: &Matched, request: &dyn RequestView, out: &mut Vec<u8>) {
        let start = out.len();
        let path = request.path();
        match self {
            Self::Prefix(to) => {
                let below = path.get(matched.route.path().matched_length(path)..).unwrap_or_default();
                let to = if below.starts_with(b"/") { to.strip_suffix(b"/").unwrap_or(to) } else { to };
                out.extend_from_slice(to);
                out.extend_from_slice(below);
            }
            Self::Path(to) => to.write(matched, request, out),
            Self::Regex { regex, to } => replace(regex, to, path, out),
        }
        if out.get(start) != Some(&b'/') {
            out.insert(start, b'/');
        }
    }
}

/// Replaces the first match. A rewrite by expression allocates for the groups.
fn replace(regex: &Regex, to: &[u8], path: &[u8], out: &mut Vec<u8>) {
    let mut groups: Captures = regex.within().create_captures();
    regex.within().captures(path, &mut groups);
    let Some(found) = groups.get_match() else { return out.extend_from_slice(path) };
    out.extend_from_slice(&path[..found.start()]);
    groups.interpolate_bytes_into(path, to, out);
    out.extend_from_slice(&path[found.end()..]);
}
