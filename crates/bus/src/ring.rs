//! One ring: bytes from one sender to one receiver, in order, without a lock.
//!
//! A message is written behind `tail` and becomes visible when `tail` is stored (Release; the receiver loads it with
//! Acquire), so one that its sender did not finish was never there: the successor writes over it. It is given back by
//! storing `head` after its handler returned, so one whose receiver died in between is delivered again to the successor.
//! Messages are contiguous: where one does not fit before the ring's end, the rest of the ring is skipped. That wastes
//! some bytes; the alternative, the ring mapped twice, costs more.
//!
//! The other side is not trusted. Each index and each first word of a message is read once, and whatever they are, a call
//! reads within the ring, ends, and hands over at most one message. Its bytes may change as long as they lie in the ring:
//! the receiver copies them before it looks at them.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::address::{MessageKind, RequestId, Topic};
use crate::layout::Indices;
use crate::limits::{DELIVERIES_MAX, MESSAGE_MAX, RING_BYTES};

const _: () = assert!(RING_BYTES.is_power_of_two() && MESSAGE_MAX <= RING_BYTES / 4 && MESSAGE_MAX < 1 << 16);

/// The top byte of the word before each message: a sign that there is one.
const MARK: u64 = 0xb5 << 56;
const ONEWAY: u64 = 1;
const REQUEST: u64 = 2;
const REPLY: u64 = 3;
/// No message: go on at the ring's begin.
const SKIP: u64 = 4;

/// A message before it is sent.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) kind: MessageKind,
    pub(crate) topic: Topic,
    pub(crate) key: &'a [u8],
    pub(crate) payload: &'a [u8],
}

/// Meaning of the first word of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Head {
    kind: u64,
    topic: u16,
    key: usize,
    payload: usize,
}

impl Head {
    fn of(message: &Message<'_>) -> (Self, Option<RequestId>) {
        let (kind, id) = match message.kind {
            MessageKind::Oneway => (ONEWAY, None),
            MessageKind::Request(id) => (REQUEST, Some(id)),
            MessageKind::Reply(id) => (REPLY, Some(id)),
        };
        (Self { kind, topic: message.topic.0, key: message.key.len(), payload: message.payload.len() }, id)
    }

    fn word(self) -> u64 {
        MARK | self.kind << 48 | u64::from(self.topic) << 32 | (self.key as u64) << 16 | self.payload as u64
    }

    fn parse(word: u64) -> Option<Self> {
        let head = Self {
            kind: word >> 48 & 0xff,
            topic: (word >> 32) as u16,
            key: (word >> 16 & 0xffff) as usize,
            payload: (word & 0xffff) as usize,
        };
        (word & 0xff << 56 == MARK && (ONEWAY..=SKIP).contains(&head.kind)).then_some(head)
    }

    /// Words before key and payload: this one, and the id if there is one.
    fn prefix(self) -> u64 {
        if self.kind == ONEWAY { 1 } else { 2 }
    }

    fn words(self) -> u64 {
        self.prefix() + (self.key + self.payload).div_ceil(8) as u64
    }
}

/// Obstacles to reading a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Popped<'a> {
    /// Nothing there.
    Empty,
    /// A message.
    Message { kind: MessageKind, topic: Topic, key: &'a [u8], payload: &'a [u8], end: u64 },
    /// A message that has killed too many receivers. It is given back already.
    Abandoned,
    /// No message can look like this. Everything is thrown away.
    Damaged,
}

/// A ring in the region.
pub(crate) struct Ring<'r> {
    pub(crate) indices: &'r Indices,
    /// The first of its bytes, aligned to a page.
    pub(crate) bytes: *mut u8,
    /// Its length in words, a power of two. Indices count words, not bytes, so that none is ever unaligned.
    pub(crate) words: u64,
}

impl<'r> Ring<'r> {
    /// Appends a message; false if there is no room. Only for the pair's sender, one thread at a time. The ring has its
    /// blocks, and the message is no longer than [`MESSAGE_MAX`].
    pub(crate) fn push(&self, message: &Message<'_>) -> bool {
        let producer = &self.indices.producer;
        let (head, id) = Head::of(message);
        let tail = producer.tail.load(Relaxed);
        let to_end = self.words - tail % self.words;
        let skipped = if to_end < head.words() { to_end } else { 0 };
        if !self.has_room(tail, skipped + head.words()) {
            return false;
        }
        if skipped > 0 {
            self.write_word(tail, MARK | SKIP << 48);
        }
        let at = tail.wrapping_add(skipped);
        self.write_word(at, head.word());
        if let Some(id) = id {
            self.write_word(at.wrapping_add(1), id.0);
        }
        let bytes = at.wrapping_add(head.prefix());
        self.write(bytes, 0, message.key);
        self.write(bytes, message.key.len(), message.payload);
        producer.tail.store(at.wrapping_add(head.words()), Release);
        true
    }

    fn has_room(&self, tail: u64, words: u64) -> bool {
        let producer = &self.indices.producer;
        let free = |head: u64| self.words.saturating_sub(tail.wrapping_sub(head));
        if free(producer.seen_head.load(Relaxed)) >= words {
            return true;
        }
        // Acquire: the receiver has read everything before `head`, so it can be written over.
        let head = self.indices.consumer.head.load(Acquire);
        producer.seen_head.store(head, Relaxed);
        free(head) >= words
    }

    /// The next message. Only for the pair's receiver, one thread at a time. Its slices are valid until
    /// [`give_back`](Ring::give_back); what they hold may change, so only copies of them can be checked.
    pub(crate) fn peek(&self) -> Popped<'r> {
        let head = self.indices.consumer.head.load(Relaxed);
        let tail = self.indices.producer.tail.load(Acquire);
        match self.parse(head, tail) {
            Popped::Message { end, .. } if self.take_in_hand(head) > DELIVERIES_MAX => {
                self.give_back(end);
                Popped::Abandoned
            }
            Popped::Damaged => {
                self.give_back(tail);
                Popped::Damaged
            }
            other => other,
        }
    }

    /// Counts how often the message at `head` was handed over, this time included.
    fn take_in_hand(&self, head: u64) -> u32 {
        let consumer = &self.indices.consumer;
        let again = consumer.in_hand.load(Relaxed) == head.wrapping_add(1);
        let deliveries = if again { consumer.deliveries.load(Relaxed).saturating_add(1) } else { 1 };
        consumer.deliveries.store(deliveries, Relaxed);
        consumer.in_hand.store(head.wrapping_add(1), Relaxed);
        deliveries
    }

    fn parse(&self, mut at: u64, tail: u64) -> Popped<'r> {
        if tail.wrapping_sub(at) > self.words {
            return Popped::Damaged;
        }
        // A skip is followed by a message: both are published together.
        for _ in 0..2 {
            if at == tail {
                return Popped::Empty;
            }
            let Some(head) = Head::parse(self.read_word(at)) else { return Popped::Damaged };
            if head.kind != SKIP {
                return self.message(at, tail, head).unwrap_or(Popped::Damaged);
            }
            let to_end = self.words - at % self.words;
            if to_end > tail.wrapping_sub(at) {
                return Popped::Damaged;
            }
            at = at.wrapping_add(to_end);
        }
        Popped::Damaged
    }

    fn message(&self, at: u64, tail: u64, head: Head) -> Option<Popped<'r>> {
        if head.words() > tail.wrapping_sub(at) || head.words() > self.words - at % self.words {
            return None;
        }
        let kind = match head.kind {
            ONEWAY => MessageKind::Oneway,
            REQUEST => MessageKind::Request(RequestId(self.read_word(at.wrapping_add(1)))),
            _ => MessageKind::Reply(RequestId(self.read_word(at.wrapping_add(1)))),
        };
        // Both slices lie within the message's words: `words` rounds up.
        let bytes = self.read(at, 8 * head.words() as usize);
        let (_, bytes) = bytes.split_at(8 * head.prefix() as usize);
        let (key, bytes) = bytes.split_at(head.key);
        let (payload, _) = bytes.split_at(head.payload);
        Some(Popped::Message { kind, topic: Topic(head.topic), key, payload, end: at.wrapping_add(head.words()) })
    }

    /// Gives back everything before `end`.
    pub(crate) fn give_back(&self, end: u64) {
        self.indices.consumer.head.store(end, Release);
    }

    fn place(&self, at: u64) -> *mut u8 {
        // SAFETY: the word with this index lies within the ring.
        unsafe { self.bytes.add(8 * (at % self.words) as usize) }
    }

    fn write_word(&self, at: u64, word: u64) {
        // SAFETY: words are aligned. This one is behind `tail` and in front of `head` plus its length, where only the sender goes.
        unsafe { self.place(at).cast::<u64>().write(word) };
    }

    fn write(&self, at: u64, offset: usize, bytes: &[u8]) {
        // SAFETY: the message was placed where it does not cross the ring's end, in room that is the sender's.
        unsafe { self.place(at).add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn read_word(&self, at: u64) -> u64 {
        // SAFETY: words are aligned. It is atomic, because a sender that does not keep to the rules may write to it.
        unsafe { AtomicU64::from_ptr(self.place(at).cast()) }.load(Relaxed)
    }

    fn read(&self, at: u64, length: usize) -> &'r [u8] {
        // SAFETY: `message` has checked that this lies before `tail` and before the ring's end; a sender that keeps to
        // the rules does not write to it until it is given back, and any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.place(at), length) }
    }
}

#[cfg(test)]
mod tests;
