//! Equivalent members: the primaries of an upstream, or its backups; and the selection among them.

use std::{cell::Cell, rc::Rc};

use crate::{
    digest::pair,
    member::Member,
    upstream::{Choice, ring::Rings, weight_tree::WeightTree},
};

/// Up to this number, all members are compared; of more, [`DRAWS`] drawn by weight.
const MAX_COMPARED: u32 = 32;
/// How many are drawn and compared ("power of two choices" and then some, since a pool may be uneven).
const DRAWS: u64 = 8;
/// The number of draws that may be refused by slow start or meet members that were tried.
const MAX_REDRAWS: u64 = 3;
/// The number of slots that are examined in order if draws met only members that were tried.
const MAX_SCANNED: u32 = 64;
/// The latency in µs of a member that has not answered yet: low, so that it gets requests, but not 0, to not get all.
const UNKNOWN_LATENCY_US: f64 = 1000.0;
/// 2^64 divided by the golden ratio: its multiples spread evenly (Weyl's sequence), however many are taken.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Members with their weights. Clones share their contents.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    tree: WeightTree<Rc<Member>>,
    /// Only for consistent hashing.
    rings: Option<Rings>,
    /// Slots below this one are on the rings: all, except for a while after lookups by key begin.
    settled: u32,
}

/// The cost of a member; the cheapest is selected.
pub(crate) type Cost = fn(&Member) -> f64;

/// Requests in flight, this one included.
pub(crate) fn in_flight(member: &Member) -> f64 {
    f64::from(member.state().active()) + 1.0
}

/// Expected wait: latency times requests in flight. One that has never been asked is asked at once, and then left alone
/// until it has answered.
pub(crate) fn expected_wait(member: &Member) -> f64 {
    let latency = member.state().ewma_us();
    if latency > 0.0 {
        return in_flight(member) * latency;
    }
    f64::from(member.state().active()) * UNKNOWN_LATENCY_US
}

impl Pool {
    /// `hashes` states whether members are looked up by key.
    pub fn new(hashes: bool) -> Self {
        Self { tree: WeightTree::new(), rings: hashes.then(Rings::new), settled: 0 }
    }

    /// Changes whether members are looked up by key. If they were not and shall be, [`Self::settle`] is to be called.
    pub fn set_hashes(&mut self, hashes: bool) {
        if hashes != self.rings.is_some() {
            (self.rings, self.settled) = (hashes.then(Rings::new), 0);
        }
    }

    /// Puts members of at most `most` slots on the rings; returns the number of slots left.
    pub fn settle(&mut self, most: u32) -> u32 {
        let Some(rings) = &mut self.rings else { return 0 };
        let length = self.tree.length();
        let to = length.min(self.settled.saturating_add(most));
        let slots = (self.settled..to).filter_map(|slot| self.tree.get(slot));
        slots.for_each(|(weight, member)| rings.insert(weight, member));
        self.settled = to;
        length - to
    }

    /// Adds a member with its weight as of now; returns its slot.
    pub fn insert(&mut self, member: &Rc<Member>) -> u32 {
        let weight = member.weight();
        let whole = self.settled == self.tree.length();
        let slot = self.tree.insert(weight, member.clone());
        if whole && self.rings.is_some() {
            self.settled = self.tree.length();
        }
        self.onto_the_rings(slot, weight, member);
        slot
    }

    /// Replaces the member in a slot.
    pub fn set(&mut self, slot: u32, member: &Rc<Member>) {
        let weight = member.weight();
        self.off_the_rings(slot);
        self.onto_the_rings(slot, weight, member);
        self.tree.set(slot, weight, member.clone());
    }

    pub fn remove(&mut self, slot: u32) {
        self.off_the_rings(slot);
        self.tree.remove(slot);
    }

    /// The sum of weights of members that are available.
    pub fn total(&self) -> u64 {
        self.tree.total()
    }

    fn onto_the_rings(&mut self, slot: u32, weight: u32, member: &Rc<Member>) {
        if let Some(rings) = self.rings.as_mut().filter(|_| slot < self.settled) {
            rings.insert(weight, member);
        }
    }

    fn off_the_rings(&mut self, slot: u32) {
        let Some(rings) = self.rings.as_mut().filter(|_| slot < self.settled) else { return };
        if let Some((weight, before)) = self.tree.get(slot) {
            rings.remove(weight, before);
        }
    }

    /// The member of a key.
    pub fn by_key(&self, key: u64, choice: &Choice<'_>) -> Option<&Rc<Member>> {
        let found = self.rings.as_ref().and_then(|rings| rings.get(key, &|member| choice.may_use(member)));
        found.or_else(|| self.scan(choice))
    }

    /// The next member in turn. `turn` is shared by all revisions.
    pub fn in_turn(&self, turn: &Cell<u64>, slow_start_ms: u64, choice: &Choice<'_>) -> Option<&Rc<Member>> {
        let tries = MAX_REDRAWS + (choice.tried.len() as u64).min(MAX_REDRAWS);
        let mut refused = None;
        for n in 0..=tries {
            let member = self.draw(turn.replace(turn.get().wrapping_add(GOLDEN)))?;
            if !choice.may_use(member) {
                continue;
            }
            let share = member.state().share(choice.now_ms, slow_start_ms);
            if share >= 1.0 || (pair(choice.random, n) as f64) < share * u64::MAX as f64 {
                return Some(member);
            }
            refused = Some(member);
        }
        refused.or_else(|| self.scan(choice))
    }

    /// The cheapest member relative to its weight; chance decides between equals.
    pub fn cheapest<'p>(&'p self, cost: Cost, slow_start_ms: u64, choice: &Choice<'_>) -> Option<&'p Rc<Member>> {
        let mut best: Option<(f64, &Rc<Member>)> = None;
        let mut equals = 0;
        let mut compare = |weight: u32, member: &'p Rc<Member>| {
            let share = member.state().share(choice.now_ms, slow_start_ms);
            let cost = cost(member) / (f64::from(weight) * share);
            let least = best.map_or(f64::INFINITY, |(least, _)| least);
            equals = if cost < least { 1 } else { equals + u64::from(cost == least) };
            if cost < least || (cost == least && pair(choice.random, equals).is_multiple_of(equals)) {
                best = Some((cost, member));
            }
        };
        if self.tree.length() <= MAX_COMPARED {
            let all = (0..self.tree.length()).filter_map(|slot| self.tree.get(slot));
            all.filter(|(weight, member)| *weight > 0 && choice.may_use(member)).for_each(|(w, m)| compare(w, m));
        } else {
            // The weight has determined the draw: it must not count twice.
            let drawn = (0..DRAWS).filter_map(|n| self.draw(pair(choice.random, n)));
            drawn.filter(|member| choice.may_use(member)).for_each(|member| compare(1, member));
        }
        best.map(|(_, member)| member).or_else(|| self.scan(choice))
    }

    /// By weight: the member at this part of 2^64 of the total.
    fn draw(&self, part: u64) -> Option<&Rc<Member>> {
        self.tree.at(((u128::from(part) * u128::from(self.tree.total())) >> 64) as u64)
    }

    /// Any usable member, from a random slot on.
    fn scan(&self, choice: &Choice<'_>) -> Option<&Rc<Member>> {
        let length = self.tree.length();
        let start = choice.random.checked_rem(u64::from(length))? as u32;
        let slots = (0..length.min(MAX_SCANNED)).map(|n| (start + n) % length);
        let mut members = slots.filter_map(|slot| self.tree.get(slot));
        members.find(|(weight, member)| *weight > 0 && choice.may_use(member)).map(|(_, member)| member)
    }
}
