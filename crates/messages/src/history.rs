//! What a worker knows of the past of a stream: where its messages are, not what is in them.
//!
//! Each worker follows all messages of a stream anyhow, so each keeps an index of its own: no other process can
//! damage it, and a client that asks for what it has missed names a position that the index checks. An index in shared
//! memory would be built once instead of once per worker, and would have to be checked at each use.

use std::collections::{HashMap, VecDeque};

/// How much of the past of each topic clients can get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The last so many messages of each topic; 0 for no past.
    pub count: u32,
    /// No older than this, in milliseconds.
    pub age_ms: u64,
}

/// A message of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past<'h> {
    /// Its position.
    pub position: u64,
    /// The position behind it.
    pub next: u64,
    /// Its topic.
    pub topic: &'h str,
    /// Whether it is within the bounds.
    pub is_kept: bool,
}

#[derive(Debug)]
struct Entry {
    position: u64,
    next: u64,
    time_ms: u64,
    topic: u32,
    /// The how-manieth message of its topic it is.
    number: u32,
}

#[derive(Debug, Default)]
struct Topic {
    name: Box<str>,
    /// The number of its last message.
    last: u32,
    /// Messages in the index.
    entries: u32,
}

/// The index of a stream's messages.
#[derive(Debug, Default)]
pub struct History {
    bounds: Bounds,
    /// The most entries: as many messages as the stream can hold.
    most: usize,
    entries: VecDeque<Entry>,
    topics: Vec<Topic>,
    by_name: HashMap<Box<str>, u32>,
    free: Vec<u32>,
    floor: u64,
}

impl History {
    /// An empty history that begins at a position, of at most so many messages.
    #[must_use]
    pub fn new(bounds: Bounds, floor: u64, most: usize) -> Self {
        Self { bounds, floor, most, ..Self::default() }
    }

    /// Whether anything is kept at all.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.bounds.count > 0
    }

    /// Changes the bounds. What was outside of the earlier ones does not come back.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The position from which on messages are known.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Number of messages that are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes a message behind all others.
    pub fn push(&mut self, position: u64, next: u64, topic: &str, time_ms: u64) {
        if !self.is_kept() {
            self.floor = next;
            return;
        }
        if self.entries.len() >= self.most {
            self.forget_first();
        }
        let topic = self.topic(topic);
        let known = &mut self.topics[topic as usize];
        known.last = known.last.wrapping_add(1);
        known.entries += 1;
        let number = known.last;
        self.entries.push_back(Entry { position, next, time_ms, topic, number });
    }

    /// Forgets what the stream does not hold any more, before `oldest`, and what is out of bounds at its old end.
    pub fn trim(&mut self, oldest: u64, now_ms: u64) {
        while let Some(first) = self.entries.front() {
            if first.position >= oldest && self.is_within(first, now_ms) {
                break;
            }
            self.forget_first();
        }
        if self.entries.is_empty() {
            self.floor = self.floor.max(oldest);
        }
    }

    /// Forgets everything before a position.
    pub fn restart(&mut self, floor: u64) {
        *self = Self::new(self.bounds, floor, self.most);
    }

    /// The messages from a position on, in order.
    pub fn from(&self, position: u64, now_ms: u64) -> impl Iterator<Item = Past<'_>> {
        let first = self.entries.partition_point(|entry| entry.position < position);
        self.entries.range(first..).map(move |entry| Past {
            position: entry.position,
            next: entry.next,
            topic: &self.topics[entry.topic as usize].name,
            is_kept: self.is_within(entry, now_ms),
        })
    }

    fn is_within(&self, entry: &Entry, now_ms: u64) -> bool {
        let behind = self.topics[entry.topic as usize].last.wrapping_sub(entry.number);
        behind < self.bounds.count && now_ms.saturating_sub(entry.time_ms) <= self.bounds.age_ms
    }

    fn topic(&mut self, name: &str) -> u32 {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let topic = Topic { name: name.into(), ..Topic::default() };
        let at = match self.free.pop() {
            Some(at) => {
                self.topics[at as usize] = topic;
                at
            }
            None => {
                self.topics.push(topic);
                (self.topics.len() - 1) as u32
            }
        };
        self.by_name.insert(name.into(), at);
        at
    }

    fn forget_first(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.floor = entry.next;
        let at = entry.topic;
        let topic = &mut self.topics[at as usize];
        topic.entries -= 1;
        if topic.entries == 0 {
            self.by_name.remove(&topic.name);
            *topic = Topic::default();
            self.free.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(count: u32) -> History {
        let mut history = History::new(Bounds { count, age_ms: 1000 }, 10, 100);
        for n in 0..10u64 {
            history.push(10 + n, 11 + n, if n % 2 == 0 { "even" } else { "odd" }, n);
        }
        history
    }

    fn kept(history: &History, from: u64, now_ms: u64) -> Vec<u64> {
        history.from(from, now_ms).filter(|past| past.is_kept).map(|past| past.position).collect()
    }

    #[test]
    fn the_last_of_each_topic_are_kept() {
        let history = history(2);
        assert_eq!(kept(&history, 0, 0), [16, 17, 18, 19]);
        assert_eq!(kept(&history, 18, 0), [18, 19]);
        assert_eq!(kept(&history, 20, 0), [0; 0]);
        assert_eq!(history.from(15, 0).next().map(|past| (past.topic, past.is_kept)), Some(("odd", false)));
    }

    #[test]
    fn old_messages_are_not_kept() {
        assert_eq!(kept(&history(100), 0, 1007), [17, 18, 19]);
    }

    #[test]
    fn what_is_trimmed_is_below_the_floor() {
        let mut history = history(2);
        assert_eq!(history.floor(), 10);
        history.trim(0, 0);
        assert_eq!((history.floor(), history.len()), (16, 4));
        history.trim(19, 0);
        assert_eq!((history.floor(), history.len()), (19, 1));
        assert!(!history.by_name.contains_key("even"));
        history.trim(25, 0);
        assert_eq!((history.floor(), history.is_empty()), (25, true));
        history.push(30, 31, "again", 5000);
        assert_eq!(kept(&history, 0, 5000), [30]);
    }

    #[test]
    fn nothing_is_kept_without_a_count() {
        let history = history(0);
        assert_eq!((history.floor(), history.len()), (20, 0));
    }
}
