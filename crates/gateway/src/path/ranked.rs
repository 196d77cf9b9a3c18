//! Routes at one position of the trie, best first.
//!
//! A sorted array in chunks: a change copies one chunk and the list of chunks, and reading needs neither allocation nor
//! comparison. A persistent tree costs an allocation to iterate; a flat array costs 30 µs to change at 10,000 routes.

use std::{
    cmp::{Ordering, Reverse},
    rc::Rc,
};

use crate::{
    path::{End, Path, Segment},
    resource::{PathMatch, RequestMatch, Route},
    route::RouteEntry,
    teardown::Shared,
};

/// The largest chunk; a larger one is split in two.
const CHUNK: usize = 64;

/// The order of routes that match a path: smaller is better. Ties go to the smaller id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u64, Reverse<u32>);

/// Bits for how specific a path is within its kind.
const SPECIFIC_BITS: u32 = 30;

impl Rank {
    /// Priority (high first), kind (exact, template, expression, prefix), then the more specific: literal segments and
    /// named ones of a template, bytes of the others; then the one with more conditions. Expressions go before prefixes
    /// as in nginx, where `^~` is what a higher priority is here.
    /// `path` is not needed of expressions.
    pub fn new(route: &Route, path: Option<&Path>) -> Self {
        let segments = path.map_or(&[][..], |path| &path.segments);
        let literals = segments.iter().filter(|segment| matches!(segment, Segment::Literal(_))).count();
        let whole = usize::from(path.is_some_and(|path| matches!(path.end, End::Here)));
        let (kind, specific) = match &route.matches.path {
            PathMatch::Exact(_) => (0, 0),
            PathMatch::Template(_) => (1, literals << 16 | (segments.len() - literals) << 1 | whole),
            PathMatch::Regex(text) => (2, text.len()),
            PathMatch::Prefix(text) => (3, text.trim_end_matches('/').len()),
        };
        let most = (1u64 << SPECIFIC_BITS) - 1;
        let priority = (i64::from(i32::MAX) - i64::from(route.priority)) as u64;
        let RequestMatch { methods, headers, query, cookies, .. } = &route.matches;
        let conditions = headers.len() + query.len() + cookies.len() + usize::from(!methods.is_empty());
        let place = priority << 32 | kind << SPECIFIC_BITS | (most - (specific as u64).min(most));
        Self(place, Reverse(u32::try_from(conditions).unwrap_or(u32::MAX)))
    }
}

fn order(a: &RouteEntry, b: &RouteEntry) -> Ordering {
    (a.rank(), &a.spec().id).cmp(&(b.rank(), &b.spec().id))
}

/// Routes, best first; at least one, at most [`CHUNK`].
type Chunk = Shared<Vec<Rc<RouteEntry>>>;

/// Routes in the order of their ranks. Clones share their contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    chunks: Option<Shared<Vec<Chunk>>>,
}

impl Ranked {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_none()
    }

    /// Adds a new route.
    pub fn insert(&mut self, route: &Rc<RouteEntry>) {
        let chunks = Shared::make_mut(self.chunks.get_or_insert_default());
        if chunks.is_empty() {
            chunks.push(Shared::default());
        }
        let n = chunk_of(chunks, route);
        let chunk = Shared::make_mut(&mut chunks[n]);
        let at = chunk.partition_point(|known| order(known, route).is_lt());
        chunk.insert(at, route.clone());
        if chunk.len() > CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            chunks.insert(n + 1, Shared::new(upper));
        }
    }

    /// Removes a route.
    pub fn remove(&mut self, route: &Rc<RouteEntry>) {
        let Some(chunks) = &mut self.chunks else { return };
        let chunks = Shared::make_mut(chunks);
        let n = chunk_of(chunks, route);
        let chunk = Shared::make_mut(&mut chunks[n]);
        if let Ok(at) = chunk.binary_search_by(|known| order(known, route)) {
            chunk.remove(at);
        }
        if chunk.is_empty() {
            chunks.remove(n);
        }
        if chunks.is_empty() {
            self.chunks = None;
        }
    }

    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { chunks: self.chunks.as_ref().map_or(&[], |chunks| &chunks[..]), at: 0 }
    }
}

/// The chunk of a route: the last one that does not begin after it.
fn chunk_of(chunks: &[Chunk], route: &RouteEntry) -> usize {
    let before = |chunk: &Chunk| chunk.first().is_some_and(|first| order(first, route).is_le());
    chunks.partition_point(before).saturating_sub(1)
}

/// A position in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'r> {
    chunks: &'r [Chunk],
    at: usize,
}

impl<'r> Cursor<'r> {
    pub const END: Self = Self { chunks: &[], at: 0 };

    pub fn peek(&self) -> Option<&'r Rc<RouteEntry>> {
        self.chunks.first()?.get(self.at)
    }

    pub fn advance(&mut self) {
        self.at += 1;
        if self.chunks.first().is_some_and(|chunk| self.at == chunk.len()) {
            *self = Self { chunks: &self.chunks[1..], at: 0 };
        }
    }

    /// The better of two heads.
    pub fn is_before(&self, other: &Self) -> bool {
        match (self.peek(), other.peek()) {
            (Some(a), Some(b)) => order(a, b).is_lt(),
            (a, _) => a.is_some(),
        }
    }
}
