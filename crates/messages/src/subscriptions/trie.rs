//! Filters with wildcards, as paths of levels from one root.
//!
//! Texts of levels are numbered, and edges are one table from (node, number) to node: a name is hashed once for each of its
//! levels, however many paths it follows. A table in each node would take ten times the memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::shrink::shrink;
use super::slab::Slab;
use crate::topic::{MAX_LEVELS, TopicFilter, TopicName};

/// The node where every path begins.
const ROOT: u32 = u32::MAX;

#[cfg(test)]
thread_local! {
    /// The steps of all look-ups.
    pub static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Where a filter stands.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    node: u32,
    end: End,
}

/// How a filter ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// With the level of its node.
    Here,
    /// With `#` below its node.
    Below,
}

/// The filters, each with a number of the caller's.
#[derive(Debug, Default)]
pub struct Trie {
    root: Node,
    nodes: Slab<Node>,
    edges: HashMap<(u32, u32), u32>,
    numbers: HashMap<Arc<str>, u32>,
    levels: Slab<Level>,
}

#[derive(Debug)]
struct Level {
    text: Arc<str>,
    /// The number of edges with this text.
    uses: u32,
}

#[derive(Debug, Default)]
struct Node {
    /// The filter that ends here.
    here: Option<u32>,
    /// The filter that ends with `#` below.
    below: Option<u32>,
    /// The node that `+` leads to.
    plus: Option<u32>,
    /// The number of nodes below, without that one.
    children: u32,
    /// The node above; the root has none.
    parent: Option<u32>,
    /// The number of the level that leads here; `None` for `+`.
    level: Option<u32>,
}

impl Trie {
    /// Calls `found` with the number of each filter that matches.
    pub fn find(&self, name: TopicName<'_>, found: &mut impl FnMut(u32)) {
        if self.root.plus.is_none() && self.root.children == 0 {
            return self.root.below.into_iter().for_each(found);
        }
        let mut numbers = [None; MAX_LEVELS];
        let mut depth = 0;
        for (number, level) in numbers.iter_mut().zip(name.levels()) {
            *number = self.numbers.get(level).copied();
            depth += 1;
        }
        self.follow(ROOT, &numbers[..depth], found);
    }

    /// At most [`MAX_LEVELS`] calls deep.
    fn follow(&self, at: u32, levels: &[Option<u32>], found: &mut impl FnMut(u32)) {
        #[cfg(test)]
        STEPS.set(STEPS.get() + 1);
        let node = self.node(at);
        node.below.into_iter().for_each(&mut *found);
        let Some((level, rest)) = levels.split_first() else {
            return node.here.into_iter().for_each(found);
        };
        if let Some(next) = node.plus {
            self.follow(next, rest, found);
        }
        if node.children > 0
            && let Some(level) = level
            && let Some(next) = self.edges.get(&(at, *level))
        {
            self.follow(*next, rest, found);
        }
    }

    /// The number of a filter.
    pub fn get(&self, filter: TopicFilter<'_>) -> Option<u32> {
        let mut at = ROOT;
        for level in filter.levels() {
            at = match level {
                "#" => return self.node(at).below,
                "+" => self.node(at).plus?,
                text => *self.edges.get(&(at, *self.numbers.get(text)?))?,
            };
        }
        self.node(at).here
    }

    /// The spot of a filter, whose number is to be [set](Self::set).
    pub fn grow(&mut self, filter: TopicFilter<'_>) -> Spot {
        let mut node = ROOT;
        for level in filter.levels() {
            node = match level {
                "#" => return Spot { node, end: End::Below },
                "+" => self.node(node).plus.unwrap_or_else(|| self.sprout(node, None)),
                text => {
                    let known = self.numbers.get(text).copied();
                    let next = known.and_then(|number| self.edges.get(&(node, number)).copied());
                    next.unwrap_or_else(|| {
                        let number = known.unwrap_or_else(|| self.number(text));
                        self.sprout(node, Some(number))
                    })
                }
            };
        }
        Spot { node, end: End::Here }
    }

    /// Sets the number of the filter of a spot.
    pub fn set(&mut self, spot: Spot, number: u32) {
        *self.end_mut(spot) = Some(number);
    }

    /// Removes the filter of a spot, and the nodes that only it needed.
    pub fn clear(&mut self, spot: Spot) {
        *self.end_mut(spot) = None;
        let mut at = spot.node;
        while at != ROOT {
            let node = self.nodes.get(at);
            if node.here.or(node.below).or(node.plus).is_some() || node.children > 0 {
                break;
            }
            let Node { parent, level, .. } = self.nodes.take(at);
            at = parent.expect("only the root has none");
            match level {
                None => self.node_mut(at).plus = None,
                Some(level) => {
                    self.node_mut(at).children -= 1;
                    self.edges.remove(&(at, level));
                    self.release(level);
                }
            }
        }
        shrink(&mut self.edges);
        shrink(&mut self.numbers);
    }

    /// Adds a node below another.
    fn sprout(&mut self, parent: u32, level: Option<u32>) -> u32 {
        let place = self.nodes.put(Node { parent: Some(parent), level, ..Node::default() });
        match level {
            None => self.node_mut(parent).plus = Some(place),
            Some(level) => {
                self.node_mut(parent).children += 1;
                self.edges.insert((parent, level), place);
                self.levels.get_mut(level).uses += 1;
            }
        }
        place
    }

    /// A number for a text that has none.
    fn number(&mut self, text: &str) -> u32 {
        let text: Arc<str> = text.into();
        let number = self.levels.put(Level { text: text.clone(), uses: 0 });
        self.numbers.insert(text, number);
        number
    }

    /// One edge fewer has a text.
    fn release(&mut self, number: u32) {
        let level = self.levels.get_mut(number);
        level.uses -= 1;
        if level.uses == 0 {
            self.numbers.remove(&self.levels.take(number).text);
        }
    }

    fn node(&self, at: u32) -> &Node {
        if at == ROOT { &self.root } else { self.nodes.get(at) }
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        if at == ROOT { &mut self.root } else { self.nodes.get_mut(at) }
    }

    fn end_mut(&mut self, spot: Spot) -> &mut Option<u32> {
        let node = self.node_mut(spot.node);
        match spot.end {
            End::Here => &mut node.here,
            End::Below => &mut node.below,
        }
    }

    /// The number of edges that there is memory for.
    #[cfg(test)]
    pub fn edge_capacity(&self) -> usize {
        self.edges.capacity()
    }

    /// Nodes, edges, numbers and texts.
    #[cfg(test)]
    pub fn sizes(&self) -> [usize; 4] {
        [self.nodes.len(), self.edges.len(), self.numbers.len(), self.levels.len()]
    }
}
