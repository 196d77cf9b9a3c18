//! The trie of path segments of one site, and the walk that collects what may match a path.

use std::rc::Rc;

use crate::{
    map::{self, Map},
    path::{
        End, Segment,
        ranked::{Cursor, Ranked},
    },
    route::RouteEntry,
};

/// The number of candidate lists kept on the stack; a path with more of them costs an allocation.
const MAX_LISTS: usize = 24;
/// Nodes that one walk visits at most: only templates that overlap in exponentially many ways need more. What is past
/// it is not found; the most literal paths come first.
const MAX_VISITS: usize = 4096;

#[derive(Clone, Debug)]
struct Node {
    children: Map<Box<[u8]>, Rc<Node>>,
    param: Option<Rc<Node>>,
    /// Paths that end at this node.
    here: Ranked,
    /// Prefixes that end at this node.
    below: Ranked,
    /// Templates whose rest begins after this node's slash.
    rest: Ranked,
    /// Expressions whose literal segments end at this node.
    open: Ranked,
}

impl Node {
    fn new() -> Self {
        Self {
            children: map::empty(),
            param: None,
            here: Ranked::default(),
            below: Ranked::default(),
            rest: Ranked::default(),
            open: Ranked::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty()
            && self.param.is_none()
            && [&self.here, &self.below, &self.rest, &self.open].into_iter().all(Ranked::is_empty)
    }

    fn list(&mut self, end: &End) -> &mut Ranked {
        match end {
            End::Here => &mut self.here,
            End::Below => &mut self.below,
            End::Rest(_) => &mut self.rest,
            End::Regex(_) => &mut self.open,
        }
    }

    fn insert(&mut self, segments: &[Segment], route: &Rc<RouteEntry>) {
        let Some((first, rest)) = segments.split_first() else {
            return self.list(&route.path().end).insert(route);
        };
        match first {
            Segment::Param(_) => {
                Rc::make_mut(self.param.get_or_insert_with(|| Rc::new(Self::new()))).insert(rest, route)
            }
            Segment::Literal(name) => match self.children.get_mut(name) {
                Some(child) => Rc::make_mut(child).insert(rest, route),
                None => {
                    let mut child = Self::new();
                    child.insert(rest, route);
                    self.children.insert_mut(name.clone(), Rc::new(child));
                }
            },
        }
    }

    fn remove(&mut self, segments: &[Segment], route: &Rc<RouteEntry>) {
        let Some((first, rest)) = segments.split_first() else {
            return self.list(&route.path().end).remove(route);
        };
        let child = match first {
            Segment::Param(_) => self.param.as_mut(),
            Segment::Literal(name) => self.children.get_mut(name),
        };
        let Some(child) = child.map(Rc::make_mut) else { return };
        child.remove(rest, route);
        if child.is_empty() {
            match first {
                Segment::Param(_) => self.param = None,
                Segment::Literal(name) => _ = self.children.remove_mut(name),
            }
        }
    }
}

/// Routes of a site by their paths. Clones share their contents.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    root: Rc<Node>,
}

impl Trie {
    pub fn new() -> Self {
        Self { root: Rc::new(Node::new()) }
    }

    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Adds a new route.
    pub fn insert(&mut self, route: &Rc<RouteEntry>) {
        Rc::make_mut(&mut self.root).insert(&route.path().segments, route);
    }

    /// Removes a route.
    pub fn remove(&mut self, route: &Rc<RouteEntry>) {
        Rc::make_mut(&mut self.root).remove(&route.path().segments, route);
    }

    /// The routes whose segments fit a path, best first. Those of expressions may not match yet.
    pub fn walk(&self, path: &[u8]) -> Walk<'_> {
        let mut walk = Walk { lists: [Cursor::END; MAX_LISTS], count: 0, more: Vec::new(), visits: 0 };
        if let Some(rest) = path.strip_prefix(b"/") {
            walk.visit(&self.root, Some(rest));
        }
        walk
    }
}

/// Merged lists of candidates.
pub(crate) struct Walk<'t> {
    lists: [Cursor<'t>; MAX_LISTS],
    count: usize,
    more: Vec<Cursor<'t>>,
    visits: usize,
}

impl<'t> Walk<'t> {
    /// Collects the lists of a node and of those below that fit. `rest` is what follows the node and its slash; `None`
    /// if the path ended. Recursion is at most as deep as the trie ([`crate::MAX_SEGMENTS`]).
    fn visit(&mut self, mut node: &'t Node, mut rest: Option<&[u8]>) {
        loop {
            self.visits += 1;
            if self.visits > MAX_VISITS {
                return;
            }
            self.add(&node.below);
            self.add(&node.open);
            let Some(path) = rest else { return self.add(&node.here) };
            self.add(&node.rest);
            let (segment, after) = match path.iter().position(|byte| *byte == b'/') {
                Some(slash) => (&path[..slash], Some(&path[slash + 1..])),
                None => (path, None),
            };
            let param = node.param.as_deref().filter(|_| !segment.is_empty());
            match (node.children.get(segment), param) {
                (Some(child), Some(param)) => {
                    self.visit(child, after);
                    node = param;
                }
                (Some(child), None) => node = child,
                (None, Some(param)) => node = param,
                (None, None) => return,
            }
            rest = after;
        }
    }

    fn add(&mut self, list: &'t Ranked) {
        if list.is_empty() {
            return;
        }
        match self.lists.get_mut(self.count) {
            Some(place) => *place = list.cursor(),
            None => self.more.push(list.cursor()),
        }
        self.count += 1;
    }
}

impl<'t> Iterator for Walk<'t> {
    type Item = &'t Rc<RouteEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kept, more) = (self.count.min(MAX_LISTS), &mut self.more);
        let mut cursors = self.lists[..kept].iter_mut().chain(more);
        let mut best = cursors.next()?;
        for cursor in cursors {
            if cursor.is_before(best) {
                best = cursor;
            }
        }
        let route = best.peek()?;
        best.advance();
        Some(route)
    }
}
