//! Consistent hashing: the same member for the same key, whatever the order in which members came.
//!
//! Multi-probe consistent hashing (Appleton and O'Reilly, "Multi-probe consistent hashing", arXiv:1505.00062): a key
//! asks for the next point after each of 16 places on a circle, and the nearest has it. So a few points for a member do
//! what takes 160 on a ring with one place for a key, and changes are as much cheaper.
//!
//! Weights: a weight is a sum of powers of two; each power has a circle of its own, where a distance counts divided by
//! it. All points of a circle weigh the same, so that the next one is the nearest, and adding, removing or re-weighting
//! a member moves only keys to it or from it. What lost: rendezvous hashing down a tree of sums. There a key that
//! enters a subtree, since one member of it has grown, may end at another; and slots depend on history, so that two
//! workers would disagree.
//!
//! A circle is a persistent trie of the 16 digits of a point; what it says depends only on the points that are on it.

use std::rc::Rc;

use crate::{digest::pair, frame_digest, member::Member, teardown::Shared, upstream::MAX_WEIGHT};

/// The number of places that a key probes.
const PROBES: u64 = 16;
/// Points of a member on a circle. A share is off by 9 % (standard deviation) for a member that is on one circle only.
const POINTS: u64 = 4;
/// Circles: one for each bit of a weight.
const CIRCLES: usize = MAX_WEIGHT.ilog2() as usize + 1;
/// The number of points that a probe skips because their members were tried.
const MAX_SKIPS: usize = 8;

/// The circles of an upstream. Clones share their contents.
#[derive(Clone, Debug)]
pub(crate) struct Rings {
    circles: Rc<[Option<Shared<Node>>; CIRCLES]>,
}

impl Rings {
    pub fn new() -> Self {
        Self { circles: Rc::default() }
    }

    /// Puts a member, of a weight of at most [`MAX_WEIGHT`], on its circles.
    pub fn insert(&mut self, weight: u32, member: &Rc<Member>) {
        let id = frame_digest(member.spec().id.as_bytes());
        for (n, circle) in circles(&mut self.circles, weight) {
            let node = Shared::make_mut(circle.get_or_insert_default());
            places(id, n).for_each(|at| node.insert(0, Point { at, member: member.clone() }));
        }
    }

    /// Removes a member from the circles of the weight with which it was put.
    pub fn remove(&mut self, weight: u32, member: &Rc<Member>) {
        let id = frame_digest(member.spec().id.as_bytes());
        for (n, circle) in circles(&mut self.circles, weight) {
            let Some(node) = circle else { continue };
            places(id, n).for_each(|at| Shared::make_mut(node).remove(0, at, member));
            if node.children.is_empty() {
                *circle = None;
            }
        }
    }

    /// The member of a key, among those that `usable` accepts.
    pub fn get(&self, key: u64, usable: &dyn Fn(&Member) -> bool) -> Option<&Rc<Member>> {
        // The nearest member is nearly always usable; checking all near ones would touch their memory in vain.
        self.nearest(key, &|_| true).filter(|member| usable(member)).or_else(|| self.nearest(key, usable))
    }

    fn nearest(&self, key: u64, usable: &dyn Fn(&Member) -> bool) -> Option<&Rc<Member>> {
        let mut best: Option<(u64, &Rc<Member>)> = None;
        for (n, circle) in self.circles.iter().enumerate() {
            let Some(circle) = circle else { continue };
            for probe in 0..PROBES {
                let start = pair(key, probe << 8 | n as u64);
                let Some(point) = circle.next(start, usable) else { break };
                let distance = point.at.wrapping_sub(start) >> n;
                if best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, &point.member));
                }
            }
        }
        best.map(|(_, member)| member)
    }
}

/// The circles of the bits of a weight, with their numbers.
fn circles(
    all: &mut Rc<[Option<Shared<Node>>; CIRCLES]>,
    weight: u32,
) -> impl Iterator<Item = (usize, &mut Option<Shared<Node>>)> {
    Rc::make_mut(all).iter_mut().enumerate().filter(move |(n, _)| weight >> n & 1 == 1)
}

/// Where a member's points are: by its id, so that all workers agree. Two points in the same place (64 bits) would be
/// one; the first has it.
fn places(id: u64, circle: usize) -> impl Iterator<Item = u64> {
    (0..POINTS).map(move |n| pair(id, n << 8 | circle as u64))
}

#[derive(Clone, Debug)]
struct Point {
    at: u64,
    member: Rc<Member>,
}

/// Children by the digit at the node's depth, those that are there.
#[derive(Clone, Debug, Default)]
struct Node {
    digits: u16,
    children: Vec<Child>,
}

#[derive(Clone, Debug)]
enum Child {
    Point(Point),
    Node(Shared<Node>),
}

fn digit(at: u64, depth: u32) -> u32 {
    (at >> (60 - 4 * depth.min(15))) as u32 & 15
}

impl Node {
    /// The position of the child of a digit, existing or not.
    fn index(&self, digit: u32) -> usize {
        (self.digits & ((1u16 << digit) - 1)).count_ones() as usize
    }

    fn has(&self, digit: u32) -> bool {
        self.digits >> digit & 1 == 1
    }

    fn insert(&mut self, depth: u32, point: Point) {
        let digit = digit(point.at, depth);
        let n = self.index(digit);
        if !self.has(digit) {
            self.digits |= 1 << digit;
            self.children.insert(n, Child::Point(point));
            return;
        }
        match &mut self.children[n] {
            Child::Node(node) => Shared::make_mut(node).insert(depth + 1, point),
            Child::Point(known) if known.at == point.at => {
                if known.member.spec().id == point.member.spec().id {
                    *known = point;
                }
            }
            Child::Point(known) => {
                let mut node = Self::default();
                node.insert(depth + 1, known.clone());
                node.insert(depth + 1, point);
                self.children[n] = Child::Node(Shared::new(node));
            }
        }
    }

    fn remove(&mut self, depth: u32, at: u64, member: &Member) {
        let digit = digit(at, depth);
        let n = self.index(digit);
        if !self.has(digit) {
            return;
        }
        match &mut self.children[n] {
            Child::Point(point) => {
                if point.at == at && point.member.spec().id == member.spec().id {
                    self.children.remove(n);
                    self.digits &= !(1 << digit);
                }
            }
            Child::Node(node) => {
                let below = Shared::make_mut(node);
                below.remove(depth + 1, at, member);
                // A node with a single point is that point.
                if let [Child::Point(only)] = &below.children[..] {
                    self.children[n] = Child::Point(only.clone());
                }
            }
        }
    }

    /// The next usable point, around the circle.
    fn next(&self, start: u64, usable: &dyn Fn(&Member) -> bool) -> Option<&Point> {
        let mut from = start;
        for _ in 0..MAX_SKIPS {
            let point = self.at_or_after(0, from).or_else(|| self.at_or_after(0, 0))?;
            if usable(&point.member) {
                return Some(point);
            }
            from = point.at.wrapping_add(1);
        }
        None
    }

    fn at_or_after(&self, depth: u32, at: u64) -> Option<&Point> {
        let digit = digit(at, depth);
        let n = self.index(digit);
        if self.has(digit) {
            let found = match &self.children[n] {
                Child::Point(point) => (point.at >= at).then_some(point),
                Child::Node(node) => node.at_or_after(depth + 1, at),
            };
            if found.is_some() {
                return found;
            }
        }
        // Digits above it: their least point.
        let mut child = self.children.get(n + usize::from(self.has(digit)))?;
        loop {
            match child {
                Child::Point(point) => return Some(point),
                Child::Node(node) => child = node.children.first()?,
            }
        }
    }
}

#[cfg(test)]
mod tests;
