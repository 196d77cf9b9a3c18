//! What plugins do with messages: publish, listen, own keys, ask and answer.

use weir_bus::OwnerError;
use weir_bus::streams::{BUS, Outgoing, TOPIC_MAX};

use super::{EVERYBODY, Hub, PLUGINS, Refusal, Wake};
use crate::cursor::Cursor;
use crate::listener::{Delivery, Kind};
use crate::topic::{TopicFilter, TopicName};

/// Bits of a question's number that are the sender's own; those above name the sender.
const SERIAL_BITS: u32 = 56;

/// Whom a message of a plugin is for.
#[derive(Clone, Copy, Debug)]
pub enum To<'a> {
    /// All that listen to the topic, clients too where the topic is one of a set.
    Topic(&'a str),
    /// The worker that has claimed the key.
    Owner(&'a [u8]),
    /// The worker of this number, on this topic.
    Worker(u16, &'a str),
}

impl<T> Hub<T> {
    /// Publishes to all that listen, or sends to the owner of a key. What is published on a topic of a set has its
    /// history, and reaches its clients.
    ///
    /// # Errors
    /// If the topic is not one, the key has no owner, or the message is too long.
    pub fn send(&mut self, to: To<'_>, payload: &[u8], now_ms: u64) -> Result<Cursor, Refusal> {
        let set = match to {
            To::Topic(topic) => self.set_of(TopicName::new(topic.as_bytes())?).map(|set| (set, topic)),
            To::Owner(_) | To::Worker(..) => None,
        };
        match set {
            Some((id, topic)) => self.publish(&id, topic, payload, now_ms),
            None => self.direct(to, 0, payload, now_ms),
        }
    }

    /// The set that a topic belongs to: the first by id, if several have it.
    fn set_of(&self, topic: TopicName<'_>) -> Option<String> {
        let sets = self.by_id.iter().filter_map(|(id, number)| Some((id, self.feeds.get(number)?)));
        sets.filter(|(_, feed)| feed.filters().any(|filter| filter.matches(topic))).map(|(id, _)| id).min().cloned()
    }

    /// Writes a message to the stream of plugins; a question if it has a number.
    fn direct(&mut self, to: To<'_>, id: u64, payload: &[u8], now_ms: u64) -> Result<Cursor, Refusal> {
        let streams = self.follower.streams();
        let (kind, target, topic) = match to {
            To::Topic(topic) => {
                let kind = if id == 0 { Kind::Published } else { Kind::Question };
                (kind, EVERYBODY, TopicName::new(topic.as_bytes())?.as_str().as_bytes())
            }
            To::Owner(key) => {
                let owner = streams.owner(check_key(key)?).ok_or(Refusal::NoOwner)?;
                (if id == 0 { Kind::ToOwner } else { Kind::QuestionToOwner }, owner as u8, key)
            }
            To::Worker(number, topic) => {
                let worker = streams.worker(number).ok_or(Refusal::NoWorker)?;
                (Kind::QuestionToWorker, worker as u8, TopicName::new(topic.as_bytes())?.as_str().as_bytes())
            }
        };
        self.put(BUS, &Outgoing { kind: kind as u8, target, id, topic, payload }, now_ms)
    }

    /// Sends a question, and returns the listener that gets the reply; the first one, if several answer.
    ///
    /// # Errors
    /// As of [`Hub::send`].
    pub fn ask(&mut self, to: To<'_>, payload: &[u8], limit: usize, wake: Wake, now_ms: u64) -> Result<u64, Refusal> {
        self.last_question = (self.last_question + 1) % (1 << SERIAL_BITS);
        let id = (self.follower.slot() as u64) << SERIAL_BITS | self.last_question.max(1);
        self.begin_to_listen();
        let listener = self.listeners.reply(id, limit, wake);
        match self.direct(to, id, payload, now_ms) {
            Ok(_) => Ok(listener),
            Err(refusal) => {
                self.listeners.remove(listener);
                Err(refusal)
            }
        }
    }

    /// Replies to a question. If the one that asked is gone, nobody gets it.
    ///
    /// # Errors
    /// If the message is too long.
    pub fn answer(&mut self, question: u64, payload: &[u8], now_ms: u64) -> Result<Cursor, Refusal> {
        let target = (question >> SERIAL_BITS) as u8;
        self.put(BUS, &Outgoing { kind: Kind::Reply as u8, target, id: question, topic: b"", payload }, now_ms)
    }

    /// Listens to topics; of all listeners with the same group, in all workers, one gets each message. At most `limit`
    /// bytes wait.
    ///
    /// # Errors
    /// If the filter is not one, or there are too many groups.
    pub fn listen(&mut self, filter: &str, group: Option<&str>, limit: usize, wake: Wake) -> Result<u64, Refusal> {
        let filter = TopicFilter::new(filter.as_bytes())?;
        let full = Refusal::Full("there are 20 groups already");
        let group = group.map(|name| self.follower.streams().group(name.as_bytes()).ok_or(full)).transpose()?;
        self.begin_to_listen();
        Ok(self.listeners.topics(filter, group, limit, wake))
    }

    /// Listens to questions to this worker on a topic.
    ///
    /// # Errors
    /// If the topic is not one, or someone in this worker listens already.
    pub fn listen_as_worker(&mut self, topic: &str, limit: usize, wake: Wake) -> Result<u64, Refusal> {
        let topic = TopicName::new(topic.as_bytes())?;
        self.begin_to_listen();
        self.listeners.worker(topic, limit, wake).ok_or(Refusal::Taken)
    }

    /// Claims a key, until the listener is removed or this worker ends, and listens to what is sent to its owner.
    ///
    /// # Errors
    /// If it is taken, or there is no room for one more.
    pub fn claim(&mut self, key: &[u8], limit: usize, wake: Wake) -> Result<u64, Refusal> {
        self.follower.claim(check_key(key)?).map_err(|error| match error {
            OwnerError::Taken { .. } | OwnerError::NotAWorker => Refusal::Taken,
            OwnerError::TableFull => Refusal::Full("no more keys can have an owner; raise weir_messages_zone"),
        })?;
        self.begin_to_listen();
        self.listeners.key(key, limit, wake).ok_or(Refusal::Taken)
    }

    /// Stops listening, and gives the key up if it was one.
    pub fn unlisten(&mut self, listener: u64) {
        if let Some(key) = self.listeners.remove(listener) {
            self.follower.release(&key);
        }
    }

    /// The next message of a listener.
    pub fn next_delivery(&mut self, listener: u64) -> Option<Delivery> {
        self.listeners.next(listener)
    }

    /// Messages that a listener has lost because it did not read.
    pub fn dropped(&self, listener: u64) -> u64 {
        self.listeners.dropped(listener)
    }

    /// The wakes of listeners that have got something since the last call.
    pub fn take_wakes(&mut self) -> Vec<Wake> {
        self.listeners.take_awake()
    }

    /// The first listener hears what comes from now on.
    fn begin_to_listen(&mut self) {
        if self.listeners.is_empty()
            && let Some(feed) = self.feeds.get_mut(&PLUGINS)
        {
            feed.position = self.follower.streams().stream(BUS).end();
        }
    }
}

fn check_key(key: &[u8]) -> Result<&[u8], Refusal> {
    if (1..=TOPIC_MAX).contains(&key.len()) { Ok(key) } else { Err(Refusal::Key) }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::Arc;

    use weir_bus::streams::{STREAMS_BYTES_MIN, Streams};

    use super::*;

    fn workers(dir: &tempfile::TempDir) -> [Hub<()>; 2] {
        let streams = Arc::new(Streams::open_or_create(dir.path(), STREAMS_BYTES_MIN, 4).unwrap());
        [0, 1].map(|n| Hub::new(&streams, Some(n)).unwrap())
    }

    fn wake() -> Wake {
        Rc::new(|| {})
    }

    fn texts(hub: &mut Hub<()>, listener: u64) -> Vec<Box<[u8]>> {
        hub.receive(0);
        std::iter::from_fn(|| hub.next_delivery(listener)).map(|delivery| delivery.payload).collect()
    }

    #[test]
    fn owners_get_what_is_sent_to_them_from_any_worker() {
        let dir = tempfile::tempdir().unwrap();
        let [mut one, mut two] = workers(&dir);
        assert_eq!(two.send(To::Owner(b"peer"), b"", 0), Err(Refusal::NoOwner));
        let peer = one.claim(b"peer", 1000, wake()).unwrap();
        assert_eq!(two.claim(b"peer", 1000, wake()), Err(Refusal::Taken));
        assert!(two.send(To::Owner(b"peer"), b"hello", 0).is_ok());
        assert_eq!(texts(&mut one, peer), [b"hello"[..].into()]);
        one.unlisten(peer);
        assert!(two.claim(b"peer", 1000, wake()).is_ok());
    }

    #[test]
    fn questions_are_answered() {
        let dir = tempfile::tempdir().unwrap();
        let [mut one, mut two] = workers(&dir);
        let all = one.listen("sum/+", Some("adders"), 1000, wake()).unwrap();
        let own = one.listen_as_worker("where", 1000, wake()).unwrap();
        let key = one.claim(b"k", 1000, wake()).unwrap();
        for (to, listener) in [(To::Topic("sum/1"), all), (To::Worker(0, "where"), own), (To::Owner(b"k"), key)] {
            let reply = two.ask(to, b"1+2", 1000, wake(), 0).unwrap();
            one.receive(0);
            let question = one.next_delivery(listener).unwrap();
            assert!(question.kind.is_question() && *question.payload == *b"1+2");
            let _ = one.answer(question.id, b"3", 0).unwrap();
            assert_eq!(texts(&mut two, reply), [b"3"[..].into()]);
            two.unlisten(reply);
        }
        assert_eq!(two.ask(To::Worker(9, "where"), b"", 1000, wake(), 0), Err(Refusal::NoWorker));
    }

    #[test]
    fn one_of_a_group_gets_each_message() {
        let dir = tempfile::tempdir().unwrap();
        let [mut one, mut two] = workers(&dir);
        let a = one.listen("job", Some("g"), 9000, wake()).unwrap();
        let b = two.listen("job", Some("g"), 9000, wake()).unwrap();
        let mut found = 0;
        for n in 0..20u8 {
            let _ = two.send(To::Topic("job"), &[n], 0).unwrap();
            if n % 3 == 0 {
                found += texts(&mut one, a).len();
            }
            if n % 4 == 0 {
                found += texts(&mut two, b).len();
            }
        }
        found += texts(&mut one, a).len() + texts(&mut two, b).len();
        assert_eq!(found, 20);
    }
}
