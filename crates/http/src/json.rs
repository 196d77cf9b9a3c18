//! JSON bodies flattened to `path = scalar` pairs, such as `items.0.price = 12.50`.
//!
//! A tokenizer with a bounded stack instead of a tree: no unnecessary structure is built, nesting cannot exhaust the
//! stack, and strings without escapes and top-level names are borrowed. Only paths could cost more than the length of
//! the body (one long path over many leaves), so their total has a budget that grows with the body. Both kinds of
//! rules read the same scalars; only the [spelling](Paths) of the paths differs.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_DEPTH, MAX_ITEMS, MAX_PATH_BYTES, max_path_arena};
use crate::encoding::UnicodeForm;
use crate::fault::Faults;
use crate::json_token::{Fault, Tokens};
use crate::{Anomalies, Pair};

/// The spelling of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// `items.0.price`; "" for a scalar that is the whole document.
    Dotted,
    /// `json.items.array_0.price`, as in ModSecurity; `null` has an empty value.
    SecLang,
}

/// How a body is read.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The spelling of paths.
    pub paths: Paths,
    /// Maximum nesting, at most [`MAX_DEPTH`].
    pub depth: usize,
    /// Maximum number of scalars, at most [`MAX_ITEMS`].
    pub items: usize,
    /// Whether the body is complete.
    pub extent: Extent,
    /// Whether there may be several documents.
    pub has_documents: bool,
}

impl Settings {
    /// Everything within the bounds of this crate.
    #[must_use]
    pub const fn new(paths: Paths, extent: Extent) -> Self {
        Self { paths, depth: MAX_DEPTH, items: MAX_ITEMS, extent, has_documents: false }
    }
}

/// The scalars of `body` with their paths, in order. Duplicate names yield both values. What some
/// parsers accept beyond JSON (other encodings, words such as `NaN`, comments, several documents) is
/// read as they do and raises [`Anomalies::INVALID_JSON`], as do errors, before which everything is
/// kept. An empty body has no scalars and is not malformed.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, body: &'a [u8], settings: Settings, faults: &mut Faults) -> &'a [Pair<'a>] {
    let (form, text) = UnicodeForm::to_utf8(arena, body);
    let mut own = Faults::default();
    check_encoding(form, text, settings.extent, &mut own);
    let mut tokens = Tokens::new(arena, text, settings.extent);
    tokens.faults = own;
    // A body has at most one more scalar than commas.
    let capacity = (memchr::memchr_iter(b',', text).count() + 1).min(settings.items);
    let mut flattener = Flattener {
        tokens,
        arena,
        settings,
        pairs: Vec::with_capacity_in(capacity, arena),
        path: Vec::new_in(arena),
        added: 0,
        levels: Vec::with_capacity_in(16, arena),
        path_budget: max_path_arena(text.len()),
    };
    if settings.paths == Paths::SecLang {
        flattener.add_to_path(b"json");
    }
    flattener.documents();
    faults.merge(flattener.tokens.faults);
    flattener.pairs.into_bump_slice()
}

/// JSON is UTF-8 (RFC 8259, section 8.1).
fn check_encoding(form: UnicodeForm, text: &[u8], extent: Extent, faults: &mut Faults) {
    if !matches!(form, UnicodeForm::Utf8) {
        faults.add(Anomalies::INVALID_JSON, 0, "JSON in UTF-16 or UTF-32");
    }
    if !text.is_ascii()
        && let Err(error) = std::str::from_utf8(text)
        && (extent == Extent::Whole || error.error_len().is_some())
    {
        faults.add(Anomalies::INVALID_JSON | Anomalies::INVALID_UTF8, error.valid_up_to(), "JSON that is not UTF-8");
    }
}

/// The reason why flattening ended before the document did.
enum EarlyEnd {
    Fault(Fault),
    Bound(Anomalies, &'static str),
}

impl From<Fault> for EarlyEnd {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

struct OpenContainer {
    object: bool,
    /// Index of the current array element.
    index: u32,
    /// Length of the container's path, and of what SecLang's spelling adds to it.
    path: usize,
    added: usize,
}

struct Flattener<'a> {
    tokens: Tokens<'a>,
    arena: &'a Bump,
    settings: Settings,
    pairs: Vec<'a, Pair<'a>>,
    path: Vec<'a, u8>,
    /// Bytes of `path` that SecLang's spelling adds: bounds hold for the rest, so that both kinds of rules reach them together.
    added: usize,
    levels: Vec<'a, OpenContainer>,
    path_budget: usize,
}

impl<'a> Flattener<'a> {
    /// Reads all documents of the body; there should be one.
    fn documents(&mut self) {
        self.tokens.skip_space();
        let mut first = true;
        while !self.tokens.at_end() {
            if !std::mem::replace(&mut first, false) && !self.settings.has_documents {
                self.tokens.invalid("text after the document");
            }
            if let Err(stop) = self.document() {
                match stop {
                    EarlyEnd::Fault(Fault::Invalid(reason)) => self.tokens.invalid(reason),
                    EarlyEnd::Fault(Fault::End) if self.settings.extent == Extent::Beginning => {}
                    EarlyEnd::Fault(Fault::End) => self.tokens.invalid("end of the body within the document"),
                    EarlyEnd::Bound(bound, reason) => self.tokens.add(bound, reason),
                }
                return;
            }
            self.tokens.skip_space();
        }
    }

    /// Reads one value.
    fn document(&mut self) -> Result<(), EarlyEnd> {
        let seclang = self.settings.paths == Paths::SecLang;
        let mut name: &'a [u8] = if seclang { b"json" } else { b"" }; // the last name read, to borrow paths of one name
        loop {
            // A value begins here.
            match self.tokens.peek()? {
                open @ (b'{' | b'[') => {
                    self.tokens.advance();
                    self.open(open == b'{')?;
                    if self.tokens.accept(if open == b'{' { b'}' } else { b']' })? {
                        self.close();
                        // The names on the way to an empty container would not be seen otherwise.
                        if self.levels.iter().any(|level| level.object) {
                            self.push(name, b"")?;
                        }
                    } else {
                        name = self.element()?;
                        continue;
                    }
                }
                _ => {
                    let value = self.tokens.scalar()?;
                    self.push(name, if seclang && value == b"null" { b"" } else { value })?;
                }
            }
            // A value has ended here.
            loop {
                let Some(level) = self.levels.last_mut() else { return Ok(()) };
                if self.tokens.accept(b',')? {
                    level.index = level.index.saturating_add(1);
                    name = self.element()?;
                    break;
                }
                let end = if level.object { b'}' } else { b']' };
                if !self.tokens.accept(end)? {
                    return Err(Fault::Invalid("neither a comma nor the end of the object or array").into());
                }
                self.close();
            }
        }
    }

    fn open(&mut self, object: bool) -> Result<(), EarlyEnd> {
        if self.levels.len() >= self.settings.depth.min(MAX_DEPTH) {
            return Err(EarlyEnd::Bound(Anomalies::TOO_DEEP, "JSON nested too deep"));
        }
        self.levels.push(OpenContainer { object, index: 0, path: self.path.len(), added: self.added });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.path.truncate(level.path);
            self.added = level.added;
        }
    }

    /// Begins an element of the innermost container: reads its name or takes its index, and sets
    /// the path to it. Returns the name.
    fn element(&mut self) -> Result<&'a [u8], EarlyEnd> {
        let level = self.levels.last().expect("an element is within a container");
        let (object, index) = (level.object, level.index);
        self.path.truncate(level.path);
        self.added = level.added;
        let seclang = self.settings.paths == Paths::SecLang;
        if self.levels.len() > 1 {
            self.extend_path(b".");
        } else if seclang {
            self.add_to_path(b".");
        }
        if object {
            let name = self.tokens.name()?;
            if seclang && name.is_empty() {
                self.add_to_path(b"empty-key");
                return Ok(b"empty-key");
            }
            self.extend_path(name);
            Ok(name)
        } else {
            if seclang {
                self.add_to_path(b"array_");
            }
            self.extend_path(itoa::Buffer::new().format(index).as_bytes());
            Ok(b"")
        }
    }

    fn extend_path(&mut self, piece: &[u8]) {
        let room = MAX_PATH_BYTES - (self.path.len() - self.added);
        if piece.len() > room {
            self.tokens.add(Anomalies::TOO_DEEP, "JSON path of more than 2,048 bytes");
        }
        self.path.extend_from_slice_copy(&piece[..piece.len().min(room)]);
    }

    fn add_to_path(&mut self, piece: &[u8]) {
        self.path.extend_from_slice_copy(piece);
        self.added += piece.len();
    }

    /// Adds a scalar under the current path. `name` is the last name read; if it is the whole path,
    /// or if there is no room for paths any more, it is borrowed.
    fn push(&mut self, name: &'a [u8], value: &'a [u8]) -> Result<(), EarlyEnd> {
        if self.pairs.len() >= self.settings.items {
            return Err(EarlyEnd::Bound(Anomalies::TOO_MANY_ITEMS, "too many JSON scalars"));
        }
        let is_top = self.levels.len() <= 1 && self.levels.last().is_none_or(|level| level.object);
        let cost = if is_top { 0 } else { self.path.len() - self.added };
        let name = if is_top && name.len() == self.path.len() {
            name
        } else if let Some(left) = self.path_budget.checked_sub(cost) {
            self.path_budget = left;
            self.arena.alloc_slice_copy(&self.path)
        } else {
            self.tokens.add(Anomalies::TOO_DEEP, "JSON with too many long paths");
            name
        };
        self.pairs.push(Pair { name, value });
        Ok(())
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
