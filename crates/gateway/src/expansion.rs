//! Texts with names in braces, for redirects and rewrites: parsed once, written for each request.
//!
//! Text from a client cannot leave its position: in a redirect it is escaped (no line break can reach the
//! header, and `{path}` at its start cannot name another host).

use crate::{matched::Matched, names::Host, refusal::Refusal, request::RequestView};

/// The largest number of pieces of a text.
const MAX_PIECES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    /// The n-th name of the template.
    Param(usize),
    Path,
    Query,
    Host,
}

/// A text with names in braces.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    pieces: Box<[Piece]>,
}

impl Expansion {
    /// Parses a text: `{path}`, `{query}`, `{host}`, and `{name}` for the names of the template.
    pub fn parse<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Result<Self, Refusal> {
        let names: Vec<&str> = names.collect();
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let close = rest[open..].find('}').ok_or_else(|| {
                Refusal::Invalid(format!("`{text}`: a `{{` has no `}}`; names are written like `{{path}}`"))
            })? + open;
            if open > 0 {
                pieces.push(Piece::Text(rest.as_bytes()[..open].into()));
            }
            let name = &rest[open + 1..close];
            let param = names.iter().position(|known| *known == name);
            pieces.push(match (param, name) {
                (Some(n), _) => Piece::Param(n),
                (None, "path") => Piece::Path,
                (None, "query") => Piece::Query,
                (None, "host") => Piece::Host,
                (None, _) => return Err(unknown(text, name, &names)),
            });
            rest = &rest[close + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.as_bytes().into()));
        }
        if pieces.len() > MAX_PIECES {
            return Err(Refusal::Invalid(format!("`{text}` has more than {MAX_PIECES} pieces")));
        }
        Ok(Self { pieces: pieces.into() })
    }

    /// Appends the text as a decoded path, without escaping.
    pub fn write(&self, matched: &Matched, request: &dyn RequestView, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Param(n) => out.extend_from_slice(param(matched, request, *n)),
                Piece::Path => out.extend_from_slice(request.path()),
                Piece::Query => out.extend_from_slice(request.query_string()),
                Piece::Host => out.extend_from_slice(Host::new(request.host()).as_str().as_bytes()),
            }
        }
    }

    /// Appends the text as a URI; text from the request is escaped according to its position.
    pub fn write_escaped(&self, matched: &Matched, request: &dyn RequestView, out: &mut Vec<u8>) {
        let start = out.len();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => escape(text, is_uri, out),
                Piece::Param(n) => escape(param(matched, request, *n), is_path, out),
                Piece::Path => escape(request.path(), is_path, out),
                Piece::Query => escape(request.query_string(), is_uri, out),
                Piece::Host => escape(Host::new(request.host()).as_str().as_bytes(), is_host, out),
            }
        }
        self.keep_the_host(start, out);
    }

    /// Text from the client must not become the host, as in `//other.example` and `https://other.example`.
    fn keep_the_host(&self, start: usize, out: &mut Vec<u8>) {
        match self.pieces.first() {
            Some(Piece::Text(text)) if text.starts_with(b"//") => return,
            Some(Piece::Param(_) | Piece::Path) if out.get(start) != Some(&b'/') => out.insert(start, b'/'),
            _ => {}
        }
        let slashes = out[start..].iter().take_while(|byte| **byte == b'/').count();
        out.drain(start..start + slashes.saturating_sub(1));
    }
}

fn unknown(text: &str, name: &str, names: &[&str]) -> Refusal {
    let known: Vec<&str> = names.iter().copied().chain(["path", "query", "host"]).collect();
    Refusal::Invalid(format!("`{text}`: there is no `{name}`; there are {}", known.join(", ")))
}

fn param<'r>(matched: &Matched, request: &'r dyn RequestView, n: usize) -> &'r [u8] {
    matched.params.range(n).and_then(|range| request.path().get(range)).unwrap_or_default()
}

/// RFC 3986, section 3.3, and the slash.
fn is_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte)
}

/// The characters allowed in a URI, including `%`.
fn is_uri(byte: u8) -> bool {
    is_path(byte) || b"?#[]%".contains(&byte)
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte)
}

fn escape(text: &[u8], allowed: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text {
        match allowed(*byte) {
            true => out.push(*byte),
            false => out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
        }
    }
}
