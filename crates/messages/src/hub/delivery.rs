//! Reading streams, and putting what is in them before subscribers: what comes now, and what they have missed.

use std::sync::Arc;

use weir_bus::streams::{PATIENCE_MS, Read};

use super::dress::{Frames, message_frame, tell_gap};
use super::{EVERYBODY, Hub, Key, PLUGINS, Rest, find, mark_due};
use crate::cursor::Cursor;
use crate::listener::Kind;
use crate::subscriber::Leaving;
use crate::topic::TopicName;

/// Messages of a stream that one call of [`Hub::receive`] delivers before the event loop goes on.
const BATCH: usize = 256;

/// Messages of the past that are looked at for one subscriber before others have their turn.
const SCAN: usize = 1024;

/// Bytes of the past that are put before a subscriber at a time.
const REFILL_BYTES: usize = 64 << 10;

impl<T> Hub<T> {
    /// Reads what was published, and puts it before subscribers. To be called when the bell has rung, or after `Rest` has
    /// asked for it.
    pub fn receive(&mut self, now_ms: u64) -> Rest {
        self.follower.clear();
        self.now_ms = now_ms;
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
        let rest = self.read_from(number, now_ms);
        for (kind, id, topic, name) in std::mem::take(&mut self.heard) {
            self.hear(number, kind, id, &topic, name);
        }
        rest
    }

    fn read_from(&mut self, number: u64, now_ms: u64) -> Rest {
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
                        if matches!(kind, Kind::Joined | Kind::Left | Kind::Asked) && number != PLUGINS {
                            let name = String::from_utf8_lossy(message.payload(&self.buffer)).into();
                            self.heard.push((kind, message.id, topic.as_str().into(), name));
                        }
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
                        if one.is_behind || position < one.cursor || one.leaving.is_some() {
                            continue;
                        }
                        if one.push(frames.of(one.form, topic, Cursor { epoch, position: next }, payload)) {
                            one.cursor = next;
                            feed.counts.delivered += 1;
                        } else if feed.history.is_kept() {
                            one.cursor = position;
                            one.is_behind = true;
                        } else {
                            one.leaving = Some(Leaving::Slow);
                            feed.counts.slow += 1;
                        }
                    }
                    mark_due(&mut self.subscribers, &mut self.due, &self.matched);
                }
            }
        }
        Rest::More
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

    /// Puts messages of the past before a subscriber that is behind, as many as it has room for.
    pub(super) fn refill(&mut self, key: Key, now_ms: u64) {
        let streams = Arc::clone(self.follower.streams());
        let epoch = streams.epoch();
        let Some(one) = find(&mut self.subscribers, key) else { return };
        if !one.is_behind || !one.has_begun || one.waiting() > 0 {
            return;
        }
        let Some(feed) = self.feeds.get_mut(&one.feed) else { return };
        let counts = &mut feed.counts;
        let stream = streams.stream(feed.stream);
        if one.cursor < feed.history.floor() || one.cursor > stream.end() {
            one.gap_from.get_or_insert(one.cursor);
            one.cursor = feed.history.floor();
        }
        let room = one.limit.min(REFILL_BYTES);
        for (looked, past) in feed.history.from(one.cursor, now_ms).enumerate() {
            if looked == SCAN || one.waiting() >= room {
                mark_due(&mut self.subscribers, &mut self.due, &[key.n]);
                return;
            }
            if let Ok(topic) = TopicName::new(past.topic.as_bytes())
                && one.wants(topic)
            {
                let read = if past.is_kept { stream.read(past.position, &mut self.buffer) } else { Read::End };
                match read {
                    Read::Message(message, _) => {
                        counts.gaps += u64::from(tell_gap(one, epoch));
                        counts.delivered += 1;
                        let cursor = Cursor { epoch, position: past.next };
                        let frame = message_frame(one.form, topic, cursor, message.payload(&self.buffer));
                        one.force(frame.into());
                    }
                    _ if one.is_beginning && !past.is_kept => {}
                    _ => _ = one.gap_from.get_or_insert(past.position),
                }
            }
            one.cursor = past.next;
        }
        one.cursor = one.cursor.max(feed.position);
        counts.gaps += u64::from(tell_gap(one, epoch));
        one.is_behind = false;
        one.is_beginning = false;
    }
}
