//! Who is connected to a topic. Every worker knows all members of all workers: joining and leaving are messages of the set's
//! stream, which all read in one order, and a worker that starts asks the others for theirs.
//!
//! Members are subscribers that name the topic itself, not by a wildcard, and stay: those that poll are none. What a worker
//! that died has left behind, each of the others removes by itself.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use weir_bus::streams::Outgoing;

use super::dress::dress;
use super::{EVERYBODY, Hub, Key, PLUGINS, Refusal, find, mark_due};
use crate::frame::{self, Member};
use crate::listener::Kind;
use crate::subscriber::{Form, Leaving, Subscriber};
use crate::topic::{TopicFilter, TopicName};

/// Members that a list names; beyond it, it has their number.
pub const LISTED: usize = 1000;

/// Longest name of a member, in bytes.
const NAME_BYTES: usize = 128;

/// Bits of a member's number: its own, and above them those of the incarnation and the slot of its worker.
const OWN_BITS: u32 = 32;
const SLOT_SHIFT: u32 = 56;
const INCARNATION: u64 = 0x00ff_ffff;

/// The members of one set of topics, and who watches them.
#[derive(Debug, Default)]
pub(super) struct Presence {
    members: HashMap<Box<str>, BTreeMap<u64, Box<str>>>,
    watchers: HashMap<Box<str>, Vec<u32>>,
}

/// A change that is yet to be published.
pub(super) struct Announcement {
    feed: u64,
    kind: Kind,
    target: u8,
    id: u64,
    topic: Box<str>,
    name: Box<str>,
}

impl<T> Hub<T> {
    /// Gives a subscriber a name, before it has topics.
    pub fn set_name(&mut self, key: Key, name: &str) {
        if let Some(one) = find(&mut self.subscribers, key) {
            let end = (0..=name.len().min(NAME_BYTES)).rev().find(|end| name.is_char_boundary(*end));
            one.name = name[..end.unwrap_or(0)].into();
        }
    }

    /// Tells a subscriber who is connected to a topic, now and whenever that changes.
    ///
    /// # Errors
    /// If the set has no presence, or the topic is not one of it.
    pub fn watch(&mut self, key: Key, topic: &str) -> Result<(), Refusal> {
        let one = find(&mut self.subscribers, key).ok_or(Refusal::Unavailable)?;
        let feed = self.feeds.get_mut(&one.feed).ok_or(Refusal::Unavailable)?;
        feed.check_presence(topic)?;
        let watchers = feed.presence.watchers.entry(topic.into()).or_default();
        if !watchers.contains(&key.n) {
            watchers.push(key.n);
        }
        let mut object = Vec::new();
        feed.presence.list(topic, &mut object);
        one.force(dress(one.form, Some("presence"), None, object).into());
        self.set_due(key.n);
        Ok(())
    }

    /// Writes who is connected to a topic of a set.
    ///
    /// # Errors
    /// As for [`Hub::watch`].
    pub fn present(&self, id: &str, topic: &str, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let feed = self.by_id.get(id).and_then(|number| self.feeds.get(number)).ok_or(Refusal::Unavailable)?;
        feed.check_presence(topic)?;
        feed.presence.list(topic, out);
        Ok(())
    }

    /// Counts topics that a subscriber is about to join. Each is a message in the memory of all, so that a connection may join as
    /// many as it may have, and then one a second.
    pub(super) fn may_join(one: &mut Subscriber<T>, count: usize, most: usize, now_ms: u64) -> Result<(), Refusal> {
        let (joined, since_ms) = one.joins;
        let over_s = now_ms.saturating_sub(since_ms) / 1000;
        let joined = u64::from(joined).saturating_sub(over_s) + count as u64;
        if joined > most as u64 {
            return Err(Refusal::Joins(most));
        }
        one.joins = (joined as u32, if over_s > 0 || since_ms == 0 { now_ms } else { since_ms });
        Ok(())
    }

    /// Says that a subscriber has come to topics or left them.
    pub(super) fn announce(&mut self, kind: Kind, feed: u64, generation: u32, name: &str, filters: &[Box<str>]) {
        let has_presence = self.feeds.get(&feed).is_some_and(|feed| feed.set.presence);
        for filter in filters.iter().filter(|filter| has_presence && !filter.contains(['+', '#'])) {
            let (topic, name) = (filter.clone(), name.into());
            let id = self.member(generation);
            self.unsaid.push_back(Announcement { feed, kind, target: EVERYBODY, id, topic, name });
        }
        self.say_all();
    }

    /// Asks all workers for their members.
    pub(super) fn ask_for_members(&mut self, feed: u64) {
        let me = self.follower.slot() as u64;
        let ask =
            Announcement { feed, kind: Kind::Asked, target: EVERYBODY, id: me, topic: "-".into(), name: "".into() };
        self.unsaid.push_back(ask);
        self.say_all();
    }

    /// Publishes what is to be said. What cannot be written now is tried again with the next message, or the next second.
    fn say_all(&mut self) {
        while let Some(Announcement { feed, kind, target, id, topic, name }) = self.unsaid.front() {
            let Some(stream) = self.feeds.get(feed).map(|feed| feed.stream) else {
                self.unsaid.pop_front();
                continue;
            };
            let (topic, payload) = (topic.as_bytes(), name.as_bytes());
            let message = Outgoing { kind: *kind as u8, target: *target, id: *id, topic, payload };
            if self.put(stream, &message, self.now_ms).is_err() {
                return;
            }
            self.unsaid.pop_front();
            // It reads its own, too, in the order of all.
            self.follower.wake_self();
        }
    }

    /// A change of some worker's members has been read.
    pub(super) fn hear(&mut self, number: u64, kind: Kind, id: u64, topic: &str, name: Box<str>) {
        let Some(feed) = self.feeds.get_mut(&number).filter(|feed| feed.set.presence) else { return };
        match kind {
            Kind::Asked if id != self.follower.slot() as u64 => self.send_members(number, id as u8),
            Kind::Joined => {
                let members = feed.presence.members.entry(topic.into()).or_default();
                if members.insert(id, name).is_none() {
                    self.tell(number, topic, true, id);
                }
            }
            Kind::Left => self.lose(number, topic, id),
            _ => {}
        }
    }

    /// Sends this worker's members to the one that asks.
    pub(super) fn send_members(&mut self, number: u64, target: u8) {
        for n in 0..self.subscribers.len() {
            let Some(one) = self.subscribers[n].as_ref().filter(|one| one.feed == number && one.form != Form::Poll)
            else {
                continue;
            };
            let (generation, name) = (one.generation, one.name.clone());
            let topics: Vec<Box<str>> = one.filters.iter().filter(|one| !one.contains(['+', '#'])).cloned().collect();
            let id = self.member(generation);
            self.unsaid.extend(topics.into_iter().map(|topic| {
                let (kind, name) = (Kind::Joined, name.clone());
                Announcement { feed: number, kind, target, id, topic, name }
            }));
        }
        self.say_all();
    }

    /// Removes members of workers that are dead; tries again to say what could not be said.
    pub fn bury(&mut self) {
        self.say_all();
        let streams = self.follower.streams().clone();
        let is_dead = |id: u64| {
            let living = streams.incarnation((id >> SLOT_SHIFT) as usize);
            living.is_none_or(|living| u64::from(living) & INCARNATION != id >> OWN_BITS & INCARNATION)
        };
        let mut lost = Vec::new();
        for (number, feed) in self.feeds.iter().filter(|(n, _)| **n != PLUGINS) {
            for (topic, members) in &feed.presence.members {
                lost.extend(members.keys().filter(|id| is_dead(**id)).map(|id| (*number, topic.clone(), *id)));
            }
        }
        lost.into_iter().for_each(|(number, topic, id)| self.lose(number, &topic, id));
    }

    /// Forgets what a subscriber watches.
    pub(super) fn unwatch(&mut self, feed: u64, n: u32) {
        let Some(feed) = self.feeds.get_mut(&feed) else { return };
        feed.presence.watchers.retain(|_, watchers| {
            watchers.retain(|one| *one != n);
            !watchers.is_empty()
        });
    }

    fn member(&self, generation: u32) -> u64 {
        let incarnation = u64::from(self.follower.incarnation()) & INCARNATION;
        (self.follower.slot() as u64) << SLOT_SHIFT | incarnation << OWN_BITS | u64::from(generation)
    }

    fn lose(&mut self, number: u64, topic: &str, id: u64) {
        let Some(feed) = self.feeds.get_mut(&number) else { return };
        let Some(members) = feed.presence.members.get_mut(topic) else { return };
        if !members.contains_key(&id) {
            return;
        }
        self.tell(number, topic, false, id);
        let Some(feed) = self.feeds.get_mut(&number) else { return };
        if let Some(members) = feed.presence.members.get_mut(topic) {
            members.remove(&id);
            if members.is_empty() {
                feed.presence.members.remove(topic);
            }
        }
    }

    /// Tells those that watch a topic of a member that has come or is about to go.
    fn tell(&mut self, number: u64, topic: &str, has_joined: bool, id: u64) {
        let Some(feed) = self.feeds.get_mut(&number) else { return };
        let Some(watchers) = feed.presence.watchers.get(topic) else { return };
        let Some(members) = feed.presence.members.get(topic) else { return };
        let mut object = Vec::new();
        let member = Member { id, name: members.get(&id).map_or("", |name| name) };
        frame::presence_change(topic, has_joined, member, members.len() - usize::from(!has_joined), &mut object);
        for n in watchers {
            let Some(one) = self.subscribers[*n as usize].as_mut().filter(|one| one.leaving.is_none()) else {
                continue;
            };
            let frame: Rc<[u8]> = dress(one.form, Some("presence"), None, object.clone()).into();
            if !one.push(&frame) {
                one.leaving = Some(Leaving::Slow);
                feed.counts.slow += 1;
            }
        }
        let watchers = watchers.clone();
        mark_due(&mut self.subscribers, &mut self.due, &watchers);
    }
}

impl Presence {
    fn list(&self, topic: &str, out: &mut Vec<u8>) {
        let members = self.members.get(topic);
        let all = members.into_iter().flatten().take(LISTED).map(|(id, name)| Member { id: *id, name });
        frame::present(topic, members.map_or(0, BTreeMap::len), all.collect(), out);
    }
}

impl super::Feed {
    fn check_presence(&self, topic: &str) -> Result<(), Refusal> {
        let name = TopicName::new(topic.as_bytes())?;
        if !self.set.presence {
            return Err(Refusal::NoPresence);
        }
        let is_own = self.filters().any(|filter: TopicFilter<'_>| filter.matches(name));
        if is_own { Ok(()) } else { Err(Refusal::Foreign(topic.to_owned())) }
    }
}
