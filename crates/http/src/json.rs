//! JSON bodies flattened to `path = scalar` pairs, such as `items.0.price = 12.50`.
//!
//! A tokenizer with a bounded stack instead of a tree: no unnecessary structure is built, nesting cannot exhaust the
//! stack, and strings without escapes and top-level names are borrowed. Only paths could cost more than the length of
//! the body (one long path over many leaves), so their total has a budget that grows with the body.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_DEPTH, MAX_ITEMS, MAX_PATH_BYTES, max_path_arena};
use crate::json_token::{Fault, Tokens};
use crate::{Anomalies, Pair};

/// The scalars of `body` with their paths, in order; a top-level scalar has the path "". Duplicate
/// names yield both values. Malformed JSON keeps everything before the error and raises
/// [`Anomalies::INVALID_JSON`]; an empty body has no scalars and is not malformed.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, body: &'a [u8], extent: Extent, anomalies: &mut Anomalies) -> &'a [Pair<'a>] {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    *anomalies |= check_encoding(body, extent);
    // A body has at most one more scalar than commas.
    let mut flattener = Flattener {
        tokens: Tokens::new(arena, body),
        arena,
        pairs: Vec::with_capacity_in((memchr::memchr_iter(b',', body).count() + 1).min(MAX_ITEMS), arena),
        path: Vec::new_in(arena),
        levels: Vec::with_capacity_in(16, arena),
        path_budget: max_path_arena(body.len()),
        found: Anomalies::empty(),
    };
    flattener.tokens.skip_space();
    if !flattener.tokens.at_end()
        && let Err(stop) = flattener.document()
    {
        *anomalies |= match stop {
            EarlyEnd::Fault(Fault::Invalid) => Anomalies::INVALID_JSON,
            EarlyEnd::Fault(Fault::End) => extent.ends_too_soon(Anomalies::INVALID_JSON),
            EarlyEnd::Bound(bound) => bound,
        };
    }
    *anomalies |= flattener.found | flattener.tokens.found;
    flattener.pairs.into_bump_slice()
}

/// JSON is UTF-8 (RFC 8259, section 8.1).
fn check_encoding(body: &[u8], extent: Extent) -> Anomalies {
    if body.is_ascii() {
        return Anomalies::empty();
    }
    match std::str::from_utf8(body) {
        Err(error) if extent == Extent::Whole || error.error_len().is_some() => Anomalies::INVALID_UTF8,
        _ => Anomalies::empty(),
    }
}

/// The reason why flattening ended before the document did.
enum EarlyEnd {
    Fault(Fault),
    Bound(Anomalies),
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
    /// Length of the container's path.
    path: usize,
}

struct Flattener<'a> {
    tokens: Tokens<'a>,
    arena: &'a Bump,
    pairs: Vec<'a, Pair<'a>>,
    path: Vec<'a, u8>,
    levels: Vec<'a, OpenContainer>,
    path_budget: usize,
    found: Anomalies,
}

impl<'a> Flattener<'a> {
    /// Reads one value, after which the body must end.
    fn document(&mut self) -> Result<(), EarlyEnd> {
        let mut name: &'a [u8] = b""; // the last name read, to borrow paths of one name
        loop {
            // A value begins here.
            match self.tokens.peek()? {
                open @ (b'{' | b'[') => {
                    self.tokens.advance();
                    self.open(open == b'{')?;
                    if self.tokens.accept(if open == b'{' { b'}' } else { b']' })? {
                        self.close();
                    } else {
                        name = self.element()?;
                        continue;
                    }
                }
                _ => {
                    let value = self.tokens.scalar()?;
                    self.push(name, value)?;
                }
            }
            // A value has ended here.
            loop {
                let Some(level) = self.levels.last_mut() else {
                    self.tokens.skip_space();
                    return if self.tokens.at_end() { Ok(()) } else { Err(Fault::Invalid.into()) };
                };
                if self.tokens.accept(b',')? {
                    level.index = level.index.saturating_add(1);
                    name = self.element()?;
                    break;
                }
                let end = if level.object { b'}' } else { b']' };
                if !self.tokens.accept(end)? {
                    return Err(Fault::Invalid.into());
                }
                self.close();
            }
        }
    }

    fn open(&mut self, object: bool) -> Result<(), EarlyEnd> {
        if self.levels.len() == MAX_DEPTH {
            return Err(EarlyEnd::Bound(Anomalies::TOO_DEEP));
        }
        self.levels.push(OpenContainer { object, index: 0, path: self.path.len() });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.path.truncate(level.path);
        }
    }

    /// Begins an element of the innermost container: reads its name or takes its index, and sets
    /// the path to it. Returns the name.
    fn element(&mut self) -> Result<&'a [u8], EarlyEnd> {
        let level = self.levels.last().expect("an element is within a container");
        let (object, index) = (level.object, level.index);
        self.path.truncate(level.path);
        if self.levels.len() > 1 {
            self.extend_path(b".");
        }
        if object {
            let name = self.tokens.name()?;
            self.extend_path(name);
            Ok(name)
        } else {
            let mut digits = [0; 10];
            let name = decimal(index, &mut digits);
            self.extend_path(name);
            Ok(b"")
        }
    }

    fn extend_path(&mut self, piece: &[u8]) {
        let room = MAX_PATH_BYTES - self.path.len();
        if piece.len() > room {
            self.found |= Anomalies::TOO_DEEP;
        }
        self.path.extend_from_slice_copy(&piece[..piece.len().min(room)]);
    }

    /// Adds a scalar under the current path. `name` is the last name read; if it is the whole path, it is borrowed.
    fn push(&mut self, name: &'a [u8], value: &'a [u8]) -> Result<(), EarlyEnd> {
        if self.pairs.len() == MAX_ITEMS {
            return Err(EarlyEnd::Bound(Anomalies::TOO_MANY_ITEMS));
        }
        let name = if self.levels.len() <= 1 && name.len() == self.path.len() {
            name
        } else {
            let Some(left) = self.path_budget.checked_sub(self.path.len()) else {
                return Err(EarlyEnd::Bound(Anomalies::TOO_MANY_ITEMS));
            };
            self.path_budget = left;
            self.arena.alloc_slice_copy(&self.path)
        };
        self.pairs.push(Pair { name, value });
        Ok(())
    }
}

/// `number` in decimal digits.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
