//! An upstream, and the selection of the member for the next request.
//!
//! Changes of a member (weight, health, drain, ejection) are all the same to balancing: its effective weight in a tree
//! of sums and on the circles of consistent hashing changes, in O(log n).

mod pool;
mod ring;
mod weight_tree;

use std::{cell::Cell, ops::Deref, rc::Rc};

use crate::{
    frame_digest,
    map::{self, ById},
    member::Member,
    resource::{self, Balance},
    upstream::pool::{Pool, expected_wait, in_flight},
};

/// The largest weight of a member.
pub const MAX_WEIGHT: u32 = 1000;

/// The inputs of the selection of a member.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'c> {
    /// The time in ms, of the same clock as in [`crate::MemberState::finish`].
    pub now_ms: u64,
    /// For consistent hashing ([`crate::hash_key`] of the upstream's `balance`); without it, members take turns.
    pub key: Option<u64>,
    /// A random number, evenly spread over all 64 bits.
    pub random: u64,
    /// Members that were tried for this request, by [`Member::identity`]; they are not picked again.
    pub tried: &'c [u64],
}

impl Choice<'_> {
    fn may_use(&self, member: &Member) -> bool {
        member.state.ejected_until().is_none() && !self.tried.contains(&member.identity())
    }
}

/// A selected member, and its upstream (the requested one, or a fallback).
#[derive(Clone, Debug)]
pub struct Picked {
    /// The upstream.
    pub upstream: Rc<Upstream>,
    /// The member.
    pub member: Rc<Member>,
}

impl Deref for Picked {
    type Target = Rc<Member>;

    fn deref(&self) -> &Rc<Member> {
        &self.member
    }
}

/// The reason why no member was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// There is no upstream with this id.
    #[error("there is no such upstream")]
    NoUpstream,
    /// Neither the upstream nor its fallbacks have an available member.
    #[error("no member is available")]
    NoMember,
    /// All available members have been tried.
    #[error("all members were tried")]
    AllTried,
}

/// An upstream. Clones share their contents.
#[derive(Clone, Debug)]
pub struct Upstream {
    spec: Rc<resource::Upstream>,
    pub(crate) digest: u64,
    /// XOR of the members' digests.
    pub(crate) members_digest: u64,
    members: ById<Entry>,
    primaries: Pool,
    backups: Pool,
    /// The turn of round robin, shared by all revisions.
    turn: Rc<Cell<u64>>,
}

#[derive(Clone, Debug)]
struct Entry {
    member: Rc<Member>,
    slot: u32,
    digest: u64,
}

impl Upstream {
    pub(crate) fn new(spec: resource::Upstream, digest: u64) -> Self {
        let hashes = matches!(spec.balance, Balance::Hash(_));
        Self {
            turn: Rc::new(Cell::new(frame_digest(spec.id.as_bytes()))),
            spec: Rc::new(spec),
            digest,
            members_digest: 0,
            members: map::empty(),
            primaries: Pool::new(hashes),
            backups: Pool::new(hashes),
        }
    }

    /// The resource as configured.
    #[must_use]
    pub fn spec(&self) -> &resource::Upstream {
        &self.spec
    }

    /// Its members, in arbitrary order.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Rc<Member>> {
        self.members.values().map(|entry| &entry.member)
    }

    /// A member.
    #[must_use]
    pub fn member(&self, id: &str) -> Option<&Rc<Member>> {
        self.members.get(id).map(|entry| &entry.member)
    }

    /// Whether any member is available.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.primaries.total() + self.backups.total() > 0
    }

    /// Picks a member: of the primaries, or if none of these may be used, of the backups. Takes O(log n), allocates
    /// nothing.
    #[must_use]
    pub fn pick(self: &Rc<Self>, choice: &Choice<'_>) -> Option<Picked> {
        let pools = [&self.primaries, &self.backups].into_iter().filter(|pool| pool.total() > 0);
        let member = pools.filter_map(|pool| self.pick_from(pool, choice)).next()?;
        Some(Picked { upstream: self.clone(), member: member.clone() })
    }

    fn pick_from<'p>(&self, pool: &'p Pool, choice: &Choice<'_>) -> Option<&'p Rc<Member>> {
        let slow_start = self.spec.slow_start_ms;
        match (&self.spec.balance, choice.key) {
            (Balance::Hash(_), Some(key)) => pool.by_key(key, choice),
            (Balance::Hash(_), None) | (Balance::RoundRobin, _) => pool.in_turn(&self.turn, slow_start, choice),
            (Balance::LeastConnections, _) => pool.cheapest(in_flight, slow_start, choice),
            (Balance::Ewma, _) => pool.cheapest(expected_wait, slow_start, choice),
        }
    }

    /// Replaces the resource; members stay. If it begins to balance by hash, [`Self::settle`] is to be called.
    pub(crate) fn replace(&mut self, spec: resource::Upstream, digest: u64) {
        let hashes = matches!(spec.balance, Balance::Hash(_));
        self.primaries.set_hashes(hashes);
        self.backups.set_hashes(hashes);
        self.spec = Rc::new(spec);
        self.digest = digest;
    }

    /// Prepares at most `most` more members for lookup by key, 1 µs each; returns whether any are left.
    pub(crate) fn settle(&mut self, most: u32) -> bool {
        self.primaries.settle(most) > 0 || self.backups.settle(most) > 0
    }

    /// Adds or replaces a member; returns the digest of the one before.
    pub(crate) fn put_member(&mut self, spec: resource::Member, digest: u64) -> Option<u64> {
        let before = self.members.get(&*spec.id);
        let old = before.map(|entry| entry.digest);
        let member = Member::new(spec, before.map(|entry| &*entry.member));
        self.place(member, digest);
        old
    }

    /// Changes the state of a member; `false` if there is no such member.
    pub(crate) fn change_member(&mut self, id: &str, change: impl FnOnce(&mut Member)) -> bool {
        let Some(entry) = self.members.get(id) else { return false };
        let (mut member, digest) = ((*entry.member).clone(), entry.digest);
        change(&mut member);
        self.place(member, digest);
        true
    }

    /// Removes a member; returns its digest.
    pub(crate) fn delete_member(&mut self, id: &str) -> Option<u64> {
        let entry = self.members.get(id)?.clone();
        self.pool(entry.member.spec.backup).remove(entry.slot);
        self.members.remove_mut(id);
        self.members_digest ^= entry.digest;
        Some(entry.digest)
    }

    /// Whether a member is the only available one.
    pub(crate) fn is_last(&self, id: &str) -> bool {
        let weight = self.member(id).map_or(0, |member| u64::from(member.weight()));
        self.primaries.total() + self.backups.total() <= weight
    }

    fn pool(&mut self, backup: bool) -> &mut Pool {
        if backup { &mut self.backups } else { &mut self.primaries }
    }

    /// Puts a member into its pool.
    fn place(&mut self, member: Member, digest: u64) {
        let (id, backup): (Rc<str>, _) = (member.spec.id.as_str().into(), member.spec.backup);
        let member = Rc::new(member);
        let before = self.members.get(&id).cloned();
        let slot = match &before {
            Some(before) if before.member.spec.backup == backup => {
                self.pool(backup).set(before.slot, &member);
                before.slot
            }
            Some(before) => {
                self.pool(!backup).remove(before.slot);
                self.pool(backup).insert(&member)
            }
            None => self.pool(backup).insert(&member),
        };
        self.members_digest ^= digest ^ before.map_or(0, |before| before.digest);
        self.members.insert_mut(id, Entry { member, slot, digest });
    }
}

#[cfg(test)]
mod tests;
