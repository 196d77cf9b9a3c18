//! A worker's subscribers, and the streams that it follows for them.
//!
//! A message is read from its stream once in each worker, put into a frame once for each form, and that frame is what all
//! subscribers of the form are written. A subscriber that does not read as fast as messages come is not fed any more
//! when its bound is reached, and reads on in the history when it has room: memory is bounded, and it loses nothing that
//! the history holds. Where there is no history, it has to go.

mod delivery;
mod dress;
mod plugins;
mod presence;
mod refusal;
mod set;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use weir_bus::BusError;
use weir_bus::streams::{BUS, Follower, Outgoing, PublishError, Read, Streams};

use crate::cursor::{Cursor, Start};
use crate::history::{Bounds, History};
use crate::listener::{Kind, Listeners};
use crate::subscriber::{Form, Leaving, Subscriber};
use crate::subscriptions::Subscriptions;
use crate::topic::{TopicFilter, TopicName};

pub use dress::{chunked, text_frame};
pub use plugins::To;
use presence::{Announcement, Presence};
pub use refusal::Refusal;
pub use set::{Counts, TopicSet};

/// The feed of plugins.
const PLUGINS: u64 = 0;

/// For all followers.
const EVERYBODY: u8 = u8::MAX;

/// A subscriber of a hub. Keys of subscribers that have left are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    n: u32,
    generation: u32,
}

/// What is left to do after a call of [`Hub::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing until the bell rings.
    Nothing,
    /// More messages are there.
    More,
    /// A message is being written; look again in so many milliseconds.
    Later(u64),
}

/// The messages of one set of topics.
struct Feed {
    set: TopicSet,
    stream: usize,
    position: u64,
    /// Since when the message at the position has been unfinished.
    stuck: Option<(u64, u64)>,
    history: History,
    subscriptions: Subscriptions<u32>,
    counts: Counts,
    presence: Presence,
}

impl Feed {
    fn filters(&self) -> impl Iterator<Item = TopicFilter<'_>> {
        self.set.filters.iter().filter_map(|filter| TopicFilter::new(filter.as_bytes()).ok())
    }
}

/// The subscribers of a worker; `T` is what the owner keeps about each.
pub struct Hub<T> {
    follower: Follower,
    feeds: HashMap<u64, Feed>,
    by_id: HashMap<String, u64>,
    last_feed: u64,
    last_generation: u32,
    subscribers: Vec<Option<Box<Subscriber<T>>>>,
    free: Vec<u32>,
    due: Vec<u32>,
    buffer: Vec<u8>,
    matched: Vec<u32>,
    listeners: Listeners<Wake>,
    /// The last question of a plugin.
    last_question: u64,
    /// Changes of members that have been read.
    heard: Vec<(Kind, u64, Box<str>, Box<str>)>,
    /// Members that others are to be told of.
    unsaid: VecDeque<Announcement>,
    /// The time of the last call that had one.
    now_ms: u64,
}

/// Wakes a plugin. Called when nothing of the hub is borrowed.
pub type Wake = Rc<dyn Fn()>;

impl<T> Hub<T> {
    /// A hub without subscribers, of the worker of this number, if it is one.
    ///
    /// # Errors
    /// If there is no place for one more follower.
    pub fn new(streams: &Arc<Streams>, worker: Option<u16>) -> Result<Self, BusError> {
        let plugins = Feed {
            set: TopicSet {
                id: String::new(),
                filters: Vec::new(),
                history: Bounds::default(),
                max_message: usize::MAX,
                presence: false,
            },
            stream: BUS,
            position: streams.stream(BUS).end(),
            stuck: None,
            history: History::default(),
            subscriptions: Subscriptions::default(),
            counts: Counts::default(),
            presence: Presence::default(),
        };
        Ok(Self {
            follower: streams.follow(worker)?,
            feeds: HashMap::from([(PLUGINS, plugins)]),
            by_id: HashMap::new(),
            last_feed: 0,
            last_generation: 0,
            subscribers: Vec::new(),
            free: Vec::new(),
            due: Vec::new(),
            buffer: Vec::new(),
            matched: Vec::new(),
            listeners: Listeners::default(),
            last_question: 0,
            heard: Vec::new(),
            unsaid: VecDeque::new(),
            now_ms: 0,
        })
    }

    /// The place among those that are woken when something is published.
    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Number of subscribers.
    pub fn len(&self) -> usize {
        self.subscribers.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys of all subscribers.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let all = self.subscribers.iter().enumerate();
        all.filter_map(|(n, one)| one.as_ref().map(|one| Key { n: n as u32, generation: one.generation }))
    }

    /// Takes over the sets of topics that are configured now. Returns those for which there is no stream. Subscribers of
    /// sets that are gone have to leave.
    pub fn configure(&mut self, sets: &[TopicSet], now_ms: u64) -> Vec<String> {
        self.now_ms = now_ms;
        let names: Vec<&str> = sets.iter().map(|set| &*set.id).collect();
        let gone: Vec<u64> = self
            .feeds
            .iter()
            .filter(|(n, feed)| **n != PLUGINS && !names.contains(&&*feed.set.id))
            .map(|(n, _)| *n)
            .collect();
        for number in gone {
            self.feeds.remove(&number);
            self.by_id.retain(|_, known| *known != number);
            for n in 0..self.subscribers.len() {
                if self.subscribers[n].as_ref().is_some_and(|one| one.feed == number) {
                    self.leave_soon(n as u32, Leaving::Removed);
                }
            }
        }
        let mut left_out = Vec::new();
        for set in sets {
            if let Some(number) = self.by_id.get(&set.id).copied() {
                let Some(feed) = self.feeds.get_mut(&number) else { continue };
                feed.history.set_bounds(set.history);
                let had_presence = std::mem::replace(&mut feed.set, set.clone()).presence;
                match (had_presence, set.presence) {
                    (false, true) => {
                        self.ask_for_members(number);
                        self.send_members(number, EVERYBODY);
                    }
                    (true, false) => feed.presence = Presence::default(),
                    _ => {}
                }
            } else if let Some(feed) = self.begin(set, &names, now_ms) {
                self.last_feed += 1;
                self.feeds.insert(self.last_feed, feed);
                self.by_id.insert(set.id.clone(), self.last_feed);
                if set.presence {
                    self.ask_for_members(self.last_feed);
                }
            } else {
                left_out.push(set.id.clone());
            }
        }
        left_out
    }

    /// Has the subscribers leave whose owners' rights have changed, to come back and be checked again.
    pub fn send_back(&mut self, has_changed: impl Fn(&T) -> bool) {
        for n in 0..self.subscribers.len() {
            if self.subscribers[n].as_ref().is_some_and(|one| has_changed(&one.owner)) {
                self.leave_soon(n as u32, Leaving::Changed);
            }
        }
    }

    /// Begins to follow the stream of a set, with what is in it.
    fn begin(&mut self, set: &TopicSet, names: &[&str], now_ms: u64) -> Option<Feed> {
        let streams = Arc::clone(self.follower.streams());
        let n = streams.claim(&set.id, names)?;
        let stream = streams.stream(n);
        let end = stream.end();
        let mut position = if set.history.count > 0 { streams.oldest(n) } else { end };
        let most = stream.messages_max();
        let mut history = History::new(set.history, position, most);
        // Bounded even if another process changes the memory meanwhile.
        for _ in 0..most {
            if position >= end {
                break;
            }
            position = match stream.read(position, &mut self.buffer) {
                Read::Message(message, next) => {
                    if let Ok(topic) = std::str::from_utf8(message.topic(&self.buffer))
                        && Kind::of(message.kind) == Some(Kind::Published)
                    {
                        history.push(position, next, topic, message.time_ms);
                    }
                    next
                }
                Read::Hole(next) | Read::Damaged(next) | Read::Overrun(next) => next,
                Read::End | Read::Unfinished => break,
            };
        }
        history.trim(0, now_ms);
        Some(Feed {
            set: set.clone(),
            stream: n,
            position,
            stuck: None,
            history,
            subscriptions: Subscriptions::default(),
            counts: Counts::default(),
            presence: Presence::default(),
        })
    }

    /// Publishes a message to the set of this id, and returns its cursor.
    ///
    /// # Errors
    /// If the topic is not one of the set, or the message is too long.
    pub fn publish(&mut self, id: &str, name: &str, payload: &[u8], now_ms: u64) -> Result<Cursor, Refusal> {
        let name = TopicName::new(name.as_bytes())?;
        let number = *self.by_id.get(id).ok_or(Refusal::Unavailable)?;
        let feed = self.feeds.get(&number).ok_or(Refusal::Unavailable)?;
        if !feed.filters().any(|filter| filter.matches(name)) {
            return Err(Refusal::Foreign(name.as_str().to_owned()));
        }
        if payload.len() > feed.set.max_message {
            return Err(Refusal::TooLong(feed.set.max_message));
        }
        let topic = name.as_str().as_bytes();
        let message = Outgoing { kind: Kind::Published as u8, target: EVERYBODY, id: 0, topic, payload };
        let cursor = self.put(feed.stream, &message, now_ms)?;
        if let Some(feed) = self.feeds.get_mut(&number) {
            feed.counts.published += 1;
        }
        Ok(cursor)
    }

    /// What was counted of each set of topics, by id.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.feeds.iter().filter(|(n, _)| **n != PLUGINS).map(|(_, feed)| (&*feed.set.id, feed.counts))
    }

    /// Writes a message to a stream, and wakes whom it is for.
    fn put(&self, stream: usize, message: &Outgoing<'_>, now_ms: u64) -> Result<Cursor, Refusal> {
        let streams = self.follower.streams();
        let position = streams.stream(stream).publish(message, now_ms).map_err(|error| match error {
            PublishError::TooLong { max } => Refusal::TooLong(max.saturating_sub(message.topic.len())),
            PublishError::TooSlow => Refusal::TooSlow,
        })?;
        match message.target {
            EVERYBODY => self.follower.wake_others(),
            one => streams.wake_one(usize::from(one)),
        }
        Ok(Cursor { epoch: streams.epoch(), position })
    }

    /// Bytes of the longest message of the set of this id.
    pub fn message_max(&self, id: &str) -> Option<usize> {
        let feed = self.feeds.get(self.by_id.get(id)?)?;
        Some(feed.set.max_message.min(self.follower.streams().stream(feed.stream).message_max()))
    }

    /// Adds a subscriber of the set of this id, without topics yet.
    ///
    /// # Errors
    /// If the set is not there.
    pub fn join(&mut self, id: &str, form: Form, limit: usize, owner: T) -> Result<Key, Refusal> {
        let number = *self.by_id.get(id).ok_or(Refusal::Unavailable)?;
        let feed = self.feeds.get_mut(&number).ok_or(Refusal::Unavailable)?;
        feed.counts.subscribers += 1;
        let cursor = feed.position;
        self.last_generation = self.last_generation.wrapping_add(1);
        let generation = self.last_generation;
        let subscriber = Box::new(Subscriber::new(owner, number, generation, form, limit, cursor));
        let n = match self.free.pop() {
            Some(n) => {
                self.subscribers[n as usize] = Some(subscriber);
                n
            }
            None => {
                self.subscribers.push(Some(subscriber));
                (self.subscribers.len() - 1) as u32
            }
        };
        Ok(Key { n, generation })
    }

    /// Subscribes to topics, all or none of them, and returns where the subscription begins. Where it begins in the past
    /// can be said until it has begun; as long as `more` topics are to come, it does not.
    ///
    /// # Errors
    /// If one is not a filter, or not of the set, or if there are too many.
    pub fn subscribe(
        &mut self,
        key: Key,
        filters: &[&str],
        start: Start,
        more: bool,
        most: usize,
    ) -> Result<Cursor, Refusal> {
        let Some(subscriber) = find(&mut self.subscribers, key) else { return Err(Refusal::Unavailable) };
        let is_first = !subscriber.has_begun || subscriber.filters.is_empty();
        if !is_first && start != Start::Now {
            return Err(Refusal::Begun);
        }
        let feed = self.feeds.get_mut(&subscriber.feed).ok_or(Refusal::Unavailable)?;
        for text in filters {
            let filter = TopicFilter::new(text.as_bytes())?;
            if !feed.filters().any(|known| known.covers(filter)) {
                return Err(Refusal::Foreign((*text).to_owned()));
            }
        }
        let new: Vec<&&str> = filters.iter().filter(|new| subscriber.filters().all(|known| known != **new)).collect();
        if subscriber.filters.len() + new.len() > most {
            return Err(Refusal::TooMany(most));
        }
        if feed.set.presence && subscriber.form != Form::Poll {
            let joins = new.iter().filter(|new| !new.contains(['+', '#'])).count();
            Self::may_join(subscriber, joins, most, self.now_ms)?;
        }
        let before = subscriber.filters.len();
        for filter in new {
            // The same one may be in the list twice.
            if subscriber.filters().all(|known| known != *filter) {
                subscriber.filters.push((*filter).into());
                feed.subscriptions.add(TopicFilter::new(filter.as_bytes())?, key.n);
            }
        }
        if feed.set.presence && subscriber.form != Form::Poll {
            let (number, name, new) = (subscriber.feed, subscriber.name.clone(), subscriber.filters[before..].to_vec());
            self.announce(Kind::Joined, number, key.generation, &name, &new);
        }
        let Some(subscriber) = find(&mut self.subscribers, key) else { return Err(Refusal::Unavailable) };
        let feed = self.feeds.get_mut(&subscriber.feed).ok_or(Refusal::Unavailable)?;
        let epoch = self.follower.streams().epoch();
        let now = Cursor { epoch, position: feed.position };
        if !is_first {
            return Ok(now);
        }
        subscriber.has_begun = !more;
        if more {
            subscriber.is_behind = true;
            return Ok(now);
        }
        let begin = match start {
            Start::Now => feed.position,
            Start::Oldest => feed.history.floor(),
            // Of another epoch: all that is there is new to it, and what it has missed is unknown.
            Start::After(cursor) if cursor.epoch != epoch => {
                subscriber.gap_from = Some(feed.history.floor());
                feed.history.floor()
            }
            Start::After(cursor) => cursor.position,
        };
        subscriber.cursor = begin;
        let end = self.follower.streams().stream(feed.stream).end();
        subscriber.is_behind = begin < feed.position || begin > end || subscriber.gap_from.is_some();
        subscriber.is_beginning = subscriber.is_behind && start == Start::Oldest;
        if subscriber.is_behind {
            self.set_due(key.n);
        }
        Ok(Cursor { epoch, position: begin })
    }

    /// Gives topics up; those that the subscriber does not have are no error.
    pub fn unsubscribe(&mut self, key: Key, filters: &[&str]) {
        let Some(subscriber) = find(&mut self.subscribers, key) else { return };
        let Some(feed) = self.feeds.get_mut(&subscriber.feed) else { return };
        let mut gone = Vec::new();
        for filter in filters {
            if let Some(at) = subscriber.filters.iter().position(|known| **known == **filter) {
                gone.push(subscriber.filters.swap_remove(at));
                if let Ok(filter) = TopicFilter::new(filter.as_bytes()) {
                    feed.subscriptions.remove(filter, key.n);
                }
            }
        }
        if feed.set.presence && subscriber.form != Form::Poll {
            let (number, name) = (subscriber.feed, subscriber.name.clone());
            self.announce(Kind::Left, number, key.generation, &name, &gone);
        }
    }

    /// Removes a subscriber.
    pub fn leave(&mut self, key: Key) -> Option<T> {
        find(&mut self.subscribers, key)?;
        let subscriber = self.subscribers.get_mut(key.n as usize)?.take()?;
        if self.feeds.get(&subscriber.feed).is_some_and(|feed| feed.set.presence) {
            self.unwatch(subscriber.feed, key.n);
            if subscriber.form != Form::Poll {
                self.announce(Kind::Left, subscriber.feed, key.generation, &subscriber.name, &subscriber.filters);
            }
        }
        if let Some(feed) = self.feeds.get_mut(&subscriber.feed) {
            feed.subscriptions.remove_subscriber(key.n);
            feed.counts.subscribers -= 1;
        }
        self.free.push(key.n);
        if self.is_empty() {
            self.subscribers = Vec::new();
            self.free = Vec::new();
        }
        Some(subscriber.owner)
    }

    /// A subscriber.
    pub fn subscriber(&mut self, key: Key) -> Option<&mut Subscriber<T>> {
        find(&mut self.subscribers, key)
    }

    /// The position behind the last message that was put before a subscriber.
    pub fn cursor(&mut self, key: Key) -> Option<Cursor> {
        let epoch = self.follower.streams().epoch();
        let one = find(&mut self.subscribers, key)?;
        let position = if one.is_behind { one.cursor } else { self.feeds.get(&one.feed)?.position.max(one.cursor) };
        Some(Cursor { epoch, position })
    }

    fn leave_soon(&mut self, n: u32, why: Leaving) {
        if let Some(one) = self.subscribers[n as usize].as_mut() {
            one.leaving = Some(why);
        }
        self.set_due(n);
    }

    fn set_due(&mut self, n: u32) {
        mark_due(&mut self.subscribers, &mut self.due, &[n]);
    }
}

fn find<T>(subscribers: &mut [Option<Box<Subscriber<T>>>], key: Key) -> Option<&mut Subscriber<T>> {
    subscribers.get_mut(key.n as usize)?.as_deref_mut().filter(|one| one.generation == key.generation)
}

/// Notes that there is something to be written.
fn mark_due<T>(subscribers: &mut [Option<Box<Subscriber<T>>>], due: &mut Vec<u32>, keys: &[u32]) {
    for n in keys {
        if let Some(one) = subscribers.get_mut(*n as usize).and_then(Option::as_mut).filter(|one| !one.is_due) {
            one.is_due = true;
            due.push(*n);
        }
    }
}

#[cfg(test)]
mod tests;
