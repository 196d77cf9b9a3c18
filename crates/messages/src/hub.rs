//! A worker's subscribers, and the streams that it follows for them.
//!
//! A message is read from its stream once in each worker, put into a frame once for each form, and that frame is what all
//! subscribers of the form are written. A subscriber that does not read as fast as messages come is not fed any more
//! when its bound is reached, and reads on in the history when it has room: memory is bounded, and it loses nothing that
//! the history holds. Where there is no history, it has to go.

mod plugins;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use weir_bus::BusError;
use weir_bus::streams::{BUS, Follower, Outgoing, PATIENCE_MS, PublishError, Read, Streams, TOPIC_MAX};

use crate::cursor::Cursor;
use crate::frame;
use crate::history::{Bounds, History};
use crate::listener::{Kind, Listeners};
use crate::sse;
use crate::subscriber::{Form, Leaving, Subscriber};
use crate::subscriptions::Subscriptions;
use crate::topic::{TopicError, TopicFilter, TopicName};
use crate::websocket::{Opcode, encode};

pub use plugins::To;

/// Messages of a stream that one call of [`Hub::receive`] delivers before the event loop goes on.
const BATCH: usize = 256;

/// Messages of the past that are looked at for one subscriber before others have their turn.
const SCAN: usize = 1024;

/// Bytes of the past that are put before a subscriber at a time.
const REFILL_BYTES: usize = 64 << 10;

/// The feed of plugins.
const PLUGINS: u64 = 0;

/// For all followers.
const EVERYBODY: u8 = u8::MAX;

/// A set of topics as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSet {
    /// Its id, which names its stream.
    pub id: String,
    /// The topics that belong to it, as filters.
    pub filters: Vec<String>,
    /// The past that is kept.
    pub history: Bounds,
    /// The longest message, in bytes.
    pub max_message: usize,
}

/// A subscriber of a hub. Keys of subscribers that have left are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    n: u32,
    generation: u32,
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the next message.
    Now,
    /// With the oldest message of the history.
    Oldest,
    /// Behind the message with this id.
    After(Cursor),
}

/// A request of a client that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The topics are not configured, or there is no room for them.
    #[error("the topics of this route are not available")]
    Unavailable,
    /// Not a topic, or not a filter.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A topic that the route does not have.
    #[error("`{0}` is not among the topics of this route")]
    Foreign(String),
    /// Too many topics over one connection.
    #[error("a connection may have {0} topics; unsubscribe from some, or open another connection")]
    TooMany(usize),
    /// The message is longer than topics allow.
    #[error("the message is longer than {0} bytes")]
    TooLong(usize),
    /// Memory was not written in time.
    #[error("the message could not be written in time; try again")]
    TooSlow,
    /// Nobody has claimed the key.
    #[error("the key has no owner")]
    NoOwner,
    /// There is no such worker.
    #[error("there is no worker of this number")]
    NoWorker,
    /// A key that is empty or too long.
    #[error("a key has 1 to {TOPIC_MAX} bytes")]
    Key,
    /// Someone has the key, or listens already.
    #[error("the key is owned by another worker, or by another plugin of this one")]
    Taken,
    /// No more keys, or no more groups.
    #[error("{0}")]
    Full(&'static str),
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
}

impl Feed {
    fn filters(&self) -> impl Iterator<Item = TopicFilter<'_>> {
        self.set.filters.iter().filter_map(|filter| TopicFilter::new(filter.as_bytes()).ok())
    }
}

/// The frames of one message, made when first needed.
#[derive(Default)]
struct Frames([Option<Rc<[u8]>>; Form::COUNT]);

impl Frames {
    fn of(&mut self, form: Form, topic: TopicName<'_>, cursor: Cursor, payload: &[u8]) -> &Rc<[u8]> {
        self.0[form.number()].get_or_insert_with(|| message_frame(form, topic, cursor, payload).into())
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
            },
            stream: BUS,
            position: streams.stream(BUS).end(),
            stuck: None,
            history: History::default(),
            subscriptions: Subscriptions::default(),
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
            if let Some(feed) = self.by_id.get(&set.id).and_then(|number| self.feeds.get_mut(number)) {
                feed.history.set_bounds(set.history);
                feed.set = set.clone();
            } else if let Some(feed) = self.begin(set, &names, now_ms) {
                self.last_feed += 1;
                self.feeds.insert(self.last_feed, feed);
                self.by_id.insert(set.id.clone(), self.last_feed);
            } else {
                left_out.push(set.id.clone());
            }
        }
        left_out
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
                    if let Ok(topic) = std::str::from_utf8(message.topic(&self.buffer)) {
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
        })
    }

    /// Publishes a message to the set of this id, and returns its cursor.
    ///
    /// # Errors
    /// If the topic is not one of the set, or the message is too long.
    pub fn publish(&mut self, id: &str, name: &str, payload: &[u8], now_ms: u64) -> Result<Cursor, Refusal> {
        let name = TopicName::new(name.as_bytes())?;
        let feed = self.by_id.get(id).and_then(|number| self.feeds.get(number)).ok_or(Refusal::Unavailable)?;
        if !feed.filters().any(|filter| filter.matches(name)) {
            return Err(Refusal::Foreign(name.as_str().to_owned()));
        }
        if payload.len() > feed.set.max_message {
            return Err(Refusal::TooLong(feed.set.max_message));
        }
        let topic = name.as_str().as_bytes();
        let message = Outgoing { kind: Kind::Published as u8, target: EVERYBODY, id: 0, topic, payload };
        self.put(feed.stream, &message, now_ms)
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
        Some(self.feeds.get(self.by_id.get(id)?)?.set.max_message)
    }

    /// Adds a subscriber of the set of this id, without topics yet.
    ///
    /// # Errors
    /// If the set is not there.
    pub fn join(&mut self, id: &str, form: Form, limit: usize, owner: T) -> Result<Key, Refusal> {
        let number = *self.by_id.get(id).ok_or(Refusal::Unavailable)?;
        let cursor = self.feeds.get(&number).ok_or(Refusal::Unavailable)?.position;
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
    /// can be said once for each subscriber, before it has topics.
    ///
    /// # Errors
    /// If one is not a filter, or not of the set, or if there are too many.
    pub fn subscribe(&mut self, key: Key, filters: &[&str], start: Start, most: usize) -> Result<Cursor, Refusal> {
        let Some(subscriber) = find(&mut self.subscribers, key) else { return Err(Refusal::Unavailable) };
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
        let is_first = subscriber.filters.is_empty();
        for filter in new {
            // The same one may be in the list twice.
            if subscriber.filters().all(|known| known != *filter) {
                subscriber.filters.push((*filter).into());
                feed.subscriptions.add(TopicFilter::new(filter.as_bytes())?, key.n);
            }
        }
        let epoch = self.follower.streams().epoch();
        let now = Cursor { epoch, position: feed.position };
        if !is_first {
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
        if subscriber.is_behind {
            self.set_due(key.n);
        }
        Ok(Cursor { epoch, position: begin })
    }

    /// Gives topics up; those that the subscriber does not have are no error.
    pub fn unsubscribe(&mut self, key: Key, filters: &[&str]) {
        let Some(subscriber) = find(&mut self.subscribers, key) else { return };
        let Some(feed) = self.feeds.get_mut(&subscriber.feed) else { return };
        for filter in filters {
            if let Some(at) = subscriber.filters.iter().position(|known| **known == **filter) {
                subscriber.filters.swap_remove(at);
                if let Ok(filter) = TopicFilter::new(filter.as_bytes()) {
                    feed.subscriptions.remove(filter, key.n);
                }
            }
        }
    }

    /// Removes a subscriber.
    pub fn leave(&mut self, key: Key) -> Option<T> {
        find(&mut self.subscribers, key)?;
        let subscriber = self.subscribers.get_mut(key.n as usize)?.take()?;
        if let Some(feed) = self.feeds.get_mut(&subscriber.feed) {
            feed.subscriptions.remove_subscriber(key.n);
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

    /// The next subscriber that has something to be written, or has to leave; its past is put before it.
    pub fn next_due(&mut self, now_ms: u64) -> Option<Key> {
        loop {
            let n = self.due.pop()?;
            let Some(one) = self.subscribers.get_mut(n as usize).and_then(Option::as_mut) else { continue };
            one.is_due = false;
            let key = Key { n, generation: one.generation };
            self.refill(key, now_ms);
            return Some(key);
        }
    }

    /// Appends a frame of the owner's to what waits for a subscriber.
    pub fn say(&mut self, key: Key, frame: Vec<u8>) {
        if let Some(subscriber) = self.subscriber(key) {
            subscriber.force(frame.into());
            self.set_due(key.n);
        }
    }

    /// Notes that a subscriber has room again.
    pub fn has_room(&mut self, key: Key) {
        self.set_due(key.n);
    }

    /// Reads what was published, and puts it before subscribers. To be called when the bell has rung, or after `Rest` has
    /// asked for it.
    pub fn receive(&mut self, now_ms: u64) -> Rest {
        self.follower.clear();
        let mut rest = Rest::Nothing;
        let numbers: Vec<u64> = self.feeds.keys().copied().collect();
        for number in numbers {
            rest = match (rest, self.receive_from(number, now_ms)) {
                (Rest::More, _) | (_, Rest::More) => Rest::More,
                (Rest::Later(a), Rest::Later(b)) => Rest::Later(a.min(b)),
                (Rest::Later(a), _) | (_, Rest::Later(a)) => Rest::Later(a),
                _ => Rest::Nothing,
            };
        }
        rest
    }

    fn receive_from(&mut self, number: u64, now_ms: u64) -> Rest {
        let streams = Arc::clone(self.follower.streams());
        let epoch = streams.epoch();
        let Some(feed) = self.feeds.get_mut(&number) else { return Rest::Nothing };
        let stream = streams.stream(feed.stream);
        if number == PLUGINS && self.listeners.is_empty() {
            feed.position = stream.end();
            return Rest::Nothing;
        }
        for _ in 0..BATCH {
            let position = feed.position;
            match stream.read(position, &mut self.buffer) {
                Read::End => {
                    feed.history.trim(streams.oldest(feed.stream), now_ms);
                    return Rest::Nothing;
                }
                Read::Unfinished => {
                    let (at, since) = *feed.stuck.get_or_insert((position, now_ms));
                    if at != position {
                        feed.stuck = Some((position, now_ms));
                    } else if now_ms.saturating_sub(since) >= PATIENCE_MS {
                        stream.abandon(position);
                        continue;
                    }
                    return Rest::Later(PATIENCE_MS);
                }
                Read::Hole(next) => feed.position = next,
                Read::Damaged(next) | Read::Overrun(next) => {
                    feed.position = next;
                    feed.history.restart(next);
                    self.matched.clear();
                    let all = self.subscribers.iter_mut().enumerate();
                    for (n, one) in all.filter_map(|(n, one)| one.as_mut().map(|one| (n, one))) {
                        if one.feed == number && !one.is_behind && one.cursor <= next {
                            one.gap_from.get_or_insert(position);
                            one.cursor = next;
                            one.is_behind = true;
                            self.matched.push(n as u32);
                        }
                    }
                    mark_due(&mut self.subscribers, &mut self.due, &self.matched);
                }
                Read::Message(message, next) => {
                    feed.position = next;
                    let Some(kind) = Kind::of(message.kind) else { continue };
                    if message.target != EVERYBODY && usize::from(message.target) != self.follower.slot() {
                        continue;
                    }
                    if !self.listeners.is_empty() {
                        let (topic, payload) = (message.topic(&self.buffer), message.payload(&self.buffer));
                        self.listeners.deliver(kind, message.id, topic, payload, &|group| stream.take(position, group));
                    }
                    let Ok(topic) = TopicName::new(message.topic(&self.buffer)) else { continue };
                    if number == PLUGINS || kind != Kind::Published {
                        continue;
                    }
                    feed.history.push(position, next, topic.as_str(), message.time_ms);
                    let matched = &mut self.matched;
                    matched.clear();
                    feed.subscriptions.for_each_match(topic, |n| matched.push(n));
                    let mut frames = Frames::default();
                    let payload = message.payload(&self.buffer);
                    for n in &*matched {
                        let Some(one) = self.subscribers[*n as usize].as_mut() else { continue };
                        if one.is_behind || position < one.cursor {
                            continue;
                        }
                        if one.push(frames.of(one.form, topic, Cursor { epoch, position: next }, payload)) {
                            one.cursor = next;
                        } else if feed.history.is_kept() {
                            one.cursor = position;
                            one.is_behind = true;
                        } else {
                            one.leaving = Some(Leaving::Slow);
                        }
                    }
                    mark_due(&mut self.subscribers, &mut self.due, &self.matched);
                }
            }
        }
        Rest::More
    }

    /// Puts messages of the past before a subscriber that is behind, as many as it has room for.
    fn refill(&mut self, key: Key, now_ms: u64) {
        let streams = Arc::clone(self.follower.streams());
        let epoch = streams.epoch();
        let Some(one) = find(&mut self.subscribers, key) else { return };
        if !one.is_behind || one.waiting() > 0 {
            return;
        }
        let Some(feed) = self.feeds.get(&one.feed) else { return };
        let stream = streams.stream(feed.stream);
        if one.cursor < feed.history.floor() || one.cursor > stream.end() {
            one.gap_from.get_or_insert(one.cursor);
            one.cursor = feed.history.floor();
        }
        let room = one.limit.min(REFILL_BYTES);
        let mut looked = 0;
        for past in feed.history.from(one.cursor, now_ms) {
            if looked == SCAN || one.waiting() >= room {
                mark_due(&mut self.subscribers, &mut self.due, &[key.n]);
                return;
            }
            looked += 1;
            if let Ok(topic) = TopicName::new(past.topic.as_bytes())
                && one.wants(topic)
            {
                let read = if past.is_kept { stream.read(past.position, &mut self.buffer) } else { Read::End };
                match read {
                    Read::Message(message, _) => {
                        tell_gap(one, epoch);
                        let cursor = Cursor { epoch, position: past.next };
                        let frame = message_frame(one.form, topic, cursor, message.payload(&self.buffer));
                        one.force(frame.into());
                    }
                    _ => _ = one.gap_from.get_or_insert(past.position),
                }
            }
            one.cursor = past.next;
        }
        one.cursor = one.cursor.max(feed.position);
        tell_gap(one, epoch);
        one.is_behind = false;
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

/// Tells a subscriber that messages are missing, up to its cursor.
fn tell_gap<T>(one: &mut Subscriber<T>, epoch: u64) {
    let Some(from) = one.gap_from.take() else { return };
    let (from, to) = (Cursor { epoch, position: from }, Cursor { epoch, position: one.cursor });
    let mut object = Vec::new();
    frame::gap("*", from, to, &mut object);
    one.force(dress(one.form, Some("gap"), to, object).into());
}

fn message_frame(form: Form, topic: TopicName<'_>, cursor: Cursor, payload: &[u8]) -> Vec<u8> {
    if let Form::Events { is_json: false, .. } = form {
        return dress(form, None, cursor, payload.to_vec());
    }
    let mut object = Vec::with_capacity(payload.len() + 128);
    frame::message(topic, cursor, payload, &mut object);
    dress(form, None, cursor, object)
}

/// What a connection of this form is written for some data.
fn dress(form: Form, name: Option<&str>, cursor: Cursor, data: Vec<u8>) -> Vec<u8> {
    match form {
        Form::Events { is_chunked, .. } => {
            let mut event = Vec::with_capacity(data.len() + 64);
            sse::event(&sse::Event { id: Some(cursor), name, data: &data }, &mut event);
            chunked(is_chunked, event)
        }
        Form::WebSocket => text_frame(&data),
        Form::Poll => data,
    }
}

/// A text frame of a WebSocket.
#[must_use]
pub fn text_frame(text: &[u8]) -> Vec<u8> {
    [&encode(Opcode::Text, text.len())[..], text].concat()
}

/// Bytes of an event stream, as a chunk of HTTP/1.1 (RFC 9112, section 7.1) where the connection needs them to be one.
#[must_use]
pub fn chunked(is_chunked: bool, bytes: Vec<u8>) -> Vec<u8> {
    if is_chunked { [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat() } else { bytes }
}

#[cfg(test)]
mod tests;
