//! Messages for plugins of a worker: what they listen to, and what waits for them.
//!
//! A listener has a bounded queue that its plugin reads when it likes, and a wake that says there is something in it. A
//! plugin that does not read loses the newest messages, which are counted: only it is late, and neither other plugins nor
//! senders are held up.

use std::collections::{HashMap, VecDeque};

use crate::subscriptions::Subscriptions;
use crate::topic::{TopicFilter, TopicName};

/// Meaning of a message among plugins, as streams know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// For all that listen to the topic; clients, too.
    Published = 1,
    /// For the owner of a key, which is the topic.
    ToOwner = 2,
    /// As `Published`, and the sender waits for a reply.
    Question = 3,
    /// As `ToOwner`, and the sender waits for a reply.
    QuestionToOwner = 4,
    /// For a worker, and the sender waits for a reply.
    QuestionToWorker = 5,
    /// The reply to the question of this id.
    Reply = 6,
    /// A subscriber has come to the topic; its id is its number, and the message its name.
    Joined = 7,
    /// It has left.
    Left = 8,
    /// A worker, whose slot is the id, asks for all members.
    Asked = 9,
}

impl Kind {
    /// The kind of this number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        use Kind::{Asked, Joined, Left, Published, Question, QuestionToOwner, QuestionToWorker, Reply, ToOwner};
        let all = [Published, ToOwner, Question, QuestionToOwner, QuestionToWorker, Reply, Joined, Left, Asked];
        all.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether the sender waits for a reply.
    #[must_use]
    pub fn is_question(self) -> bool {
        matches!(self, Self::Question | Self::QuestionToOwner | Self::QuestionToWorker)
    }
}

/// A message for a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What it is.
    pub kind: Kind,
    /// Topic or key.
    pub topic: Box<[u8]>,
    /// The message.
    pub payload: Box<[u8]>,
    /// The number of a question: that of the follower that asks in the upper 8 bits, then one of its own.
    pub id: u64,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hears {
    /// Topics that a filter matches; `group` if one of all listeners of the group is to get each message.
    Topics(Box<str>),
    /// Messages to the owner of a key.
    Key(Box<[u8]>),
    /// Questions to this worker on a topic.
    Worker(Box<[u8]>),
    /// The reply to a question.
    Reply(u64),
}

/// A listener of a plugin; `W` wakes it.
#[derive(Debug)]
struct Listener<W> {
    hears: Hears,
    group: Option<usize>,
    wake: W,
    queue: VecDeque<Delivery>,
    bytes: usize,
    limit: usize,
    dropped: u64,
}

/// The listeners of a worker.
#[derive(Debug)]
pub struct Listeners<W> {
    all: HashMap<u64, Listener<W>>,
    topics: Subscriptions<u64>,
    keys: HashMap<Box<[u8]>, u64>,
    workers: HashMap<Box<[u8]>, u64>,
    replies: HashMap<u64, u64>,
    last: u64,
    found: Vec<u64>,
    awake: Vec<u64>,
}

impl<W> Default for Listeners<W> {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            topics: Subscriptions::default(),
            keys: HashMap::new(),
            workers: HashMap::new(),
            replies: HashMap::new(),
            last: 0,
            found: Vec::new(),
            awake: Vec::new(),
        }
    }
}

impl<W> Listeners<W> {
    /// Whether nobody listens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn add(&mut self, hears: Hears, group: Option<usize>, limit: usize, wake: W) -> u64 {
        self.last += 1;
        let listener = Listener { hears, group, wake, queue: VecDeque::new(), bytes: 0, limit, dropped: 0 };
        self.all.insert(self.last, listener);
        self.last
    }

    /// Listens to topics. At most `limit` bytes wait.
    pub fn topics(&mut self, filter: TopicFilter<'_>, group: Option<usize>, limit: usize, wake: W) -> u64 {
        let listener = self.add(Hears::Topics(filter.as_str().into()), group, limit, wake);
        self.topics.add(filter, listener);
        listener
    }

    /// Listens to messages to the owner of a key; none if someone in this worker does already.
    pub fn key(&mut self, key: &[u8], limit: usize, wake: W) -> Option<u64> {
        if self.keys.contains_key(key) {
            return None;
        }
        let listener = self.add(Hears::Key(key.into()), None, limit, wake);
        self.keys.insert(key.into(), listener);
        Some(listener)
    }

    /// Listens to questions to this worker on a topic; none if someone in this worker does already.
    pub fn worker(&mut self, topic: TopicName<'_>, limit: usize, wake: W) -> Option<u64> {
        let topic = topic.as_str().as_bytes();
        if self.workers.contains_key(topic) {
            return None;
        }
        let listener = self.add(Hears::Worker(topic.into()), None, limit, wake);
        self.workers.insert(topic.into(), listener);
        Some(listener)
    }

    /// Listens to the reply to a question.
    pub fn reply(&mut self, id: u64, limit: usize, wake: W) -> u64 {
        let listener = self.add(Hears::Reply(id), None, limit, wake);
        self.replies.insert(id, listener);
        listener
    }

    /// Stops listening. Returns the key, if it was one.
    pub fn remove(&mut self, listener: u64) -> Option<Box<[u8]>> {
        match self.all.remove(&listener)?.hears {
            Hears::Topics(filter) => {
                if let Ok(filter) = TopicFilter::new(filter.as_bytes()) {
                    self.topics.remove(filter, listener);
                }
                None
            }
            Hears::Key(key) => {
                self.keys.remove(&key);
                Some(key)
            }
            Hears::Worker(topic) => {
                self.workers.remove(&topic);
                None
            }
            Hears::Reply(id) => {
                self.replies.remove(&id);
                None
            }
        }
    }

    /// The next message of a listener.
    pub fn next(&mut self, listener: u64) -> Option<Delivery> {
        let listener = self.all.get_mut(&listener)?;
        let delivery = listener.queue.pop_front()?;
        listener.bytes -= delivery.bytes();
        Some(delivery)
    }

    /// Messages that a listener has lost because it did not read.
    #[must_use]
    pub fn dropped(&self, listener: u64) -> u64 {
        self.all.get(&listener).map_or(0, |listener| listener.dropped)
    }

    /// Puts a message before those that it is for. `take` says whether this worker is the one that gets it for a group.
    pub fn deliver(&mut self, kind: Kind, id: u64, topic: &[u8], payload: &[u8], take: &dyn Fn(usize) -> bool) {
        self.found.clear();
        match kind {
            Kind::Published | Kind::Question => {
                let Ok(name) = TopicName::new(topic) else { return };
                let found = &mut self.found;
                self.topics.for_each_match(name, |listener| found.push(listener));
            }
            Kind::ToOwner | Kind::QuestionToOwner => self.found.extend(self.keys.get(topic)),
            Kind::QuestionToWorker => self.found.extend(self.workers.get(topic)),
            Kind::Reply => self.found.extend(self.replies.get(&id)),
            Kind::Joined | Kind::Left | Kind::Asked => {}
        }
        let mut taken: Vec<(usize, bool)> = Vec::new();
        for n in &self.found {
            let Some(listener) = self.all.get_mut(n) else { continue };
            if let Some(group) = listener.group {
                // The first listener of the group in this worker gets it, if this worker does.
                let is_ours = match taken.iter_mut().find(|(known, _)| *known == group) {
                    Some((_, is_ours)) => std::mem::take(is_ours),
                    None => {
                        taken.push((group, false));
                        take(group)
                    }
                };
                if !is_ours {
                    continue;
                }
            }
            let delivery = Delivery { kind, topic: topic.into(), payload: payload.into(), id };
            // The first one always has room.
            if listener.bytes > 0 && listener.bytes + delivery.bytes() > listener.limit {
                listener.dropped += 1;
                continue;
            }
            listener.bytes += delivery.bytes();
            listener.queue.push_back(delivery);
            self.awake.push(*n);
        }
    }

    /// The wakes of listeners that have got something since the last call, one for each message.
    pub fn take_awake(&mut self) -> Vec<W>
    where
        W: Clone,
    {
        let awake = std::mem::take(&mut self.awake);
        awake.iter().filter_map(|n| self.all.get(n)).map(|listener| listener.wake.clone()).collect()
    }
}

impl Delivery {
    /// Bytes that it counts for.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.topic.len() + self.payload.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> TopicFilter<'_> {
        TopicFilter::new(text.as_bytes()).unwrap()
    }

    fn publish(listeners: &mut Listeners<u32>, topic: &str, text: &str, take: bool) {
        listeners.deliver(Kind::Published, 0, topic.as_bytes(), text.as_bytes(), &|_| take);
    }

    #[test]
    fn messages_reach_those_they_are_for() {
        let mut listeners = Listeners::default();
        let exact = listeners.topics(filter("a/b"), None, 1000, 1);
        let wild = listeners.topics(filter("a/#"), None, 1000, 2);
        let key = listeners.key(b"k", 1000, 3).unwrap();
        let reply = listeners.reply(7, 1000, 4);
        assert_eq!(listeners.key(b"k", 1000, 5), None);
        publish(&mut listeners, "a/b", "1", true);
        publish(&mut listeners, "a/c", "2", true);
        listeners.deliver(Kind::ToOwner, 0, b"k", b"3", &|_| true);
        listeners.deliver(Kind::Reply, 7, b"", b"4", &|_| true);
        listeners.deliver(Kind::Reply, 8, b"", b"of another question", &|_| true);
        let mut awake = listeners.take_awake();
        awake.sort_unstable();
        assert_eq!(awake, [1, 2, 2, 3, 4]);
        for (listener, texts) in [(exact, &["1"][..]), (wild, &["1", "2"]), (key, &["3"]), (reply, &["4"])] {
            for text in texts {
                assert_eq!(&*listeners.next(listener).unwrap().payload, text.as_bytes());
            }
            assert_eq!(listeners.next(listener), None);
        }
        assert_eq!(listeners.remove(key).as_deref(), Some(&b"k"[..]));
        assert_eq!(listeners.remove(key), None);
    }

    #[test]
    fn one_of_a_group_gets_each_message() {
        let mut listeners = Listeners::default();
        let (one, two) =
            (listeners.topics(filter("a"), Some(3), 1000, 1), listeners.topics(filter("#"), Some(3), 1000, 2));
        let all = listeners.topics(filter("a"), None, 1000, 3);
        publish(&mut listeners, "a", "ours", true);
        publish(&mut listeners, "a", "another worker's", false);
        let count = |listeners: &mut Listeners<u32>, n| std::iter::from_fn(|| listeners.next(n)).count();
        assert_eq!(count(&mut listeners, one) + count(&mut listeners, two), 1);
        assert_eq!(count(&mut listeners, all), 2);
    }

    #[test]
    fn a_plugin_that_does_not_read_loses_the_newest() {
        let mut listeners = Listeners::default();
        let slow = listeners.topics(filter("a"), None, 1000, 1);
        (0..100).for_each(|n| publish(&mut listeners, "a", &format!("{n:0100}"), true));
        let kept = std::iter::from_fn(|| listeners.next(slow)).count() as u64;
        assert!(kept > 2 && kept + listeners.dropped(slow) == 100, "{kept}");
        publish(&mut listeners, "a", "again", true);
        assert_eq!(&*listeners.next(slow).unwrap().payload, b"again");
    }
}
