//! One stream: messages of any number of senders in one order, in memory that is used in turn. A reader that falls
//! behind by more than the memory holds is told so.
//!
//! A sender reserves room by advancing the tail, writes its message there, and makes it visible by one store. There is no
//! lock, and a sender can be killed or stopped at any instruction. The tail holds begin *and* length of the last
//! reservation. The next sender, before it advances the tail, writes that length into the header of the message in front
//! of it, unless its sender has done so. So every reservation has a header that says how long it is, and a reader can
//! always step over one that never becomes a message: after [`PATIENCE_MS`] it declares it abandoned, and the sender, if
//! it was only slow, gets an error instead of a success that nobody sees.
//!
//! Readers copy, then look whether the tail has come so far that what they copied may have been written over. A sender
//! that stops in the middle of its message while the others use all of the memory once could spoil one of theirs, and a
//! worker that was taken over can write anything: the checksum, seeded with epoch and position, finds that.
//!
//! A lock that is broken when its holder dies was the alternative; it makes all senders wait for a holder that is
//! stopped. A ring for each pair of processes (`ring.rs`) copies a message once for each receiver, has no history, and
//! needs as many rings as pairs, of two cycles during a reload.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;

use super::layout::{GRANULE, GRANULE_WORDS, GROUPS, head};
use crate::journal::checksum::checksum;

/// How long a reservation may take to become a message, in milliseconds: 16 MiB are copied in 5, and a process that does
/// not get a processor for this long has worse problems.
pub const PATIENCE_MS: u64 = 100;

/// Bits of a length in granules: up to 32 MiB.
const LENGTH_BITS: u32 = 19;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
/// Bits of a position in the header of a message; the tail has two more. 2^43 granules are 512 TiB.
const TAG_MASK: u64 = (1 << 43) - 1;
const STATE_BITS: u32 = 2;

/// Words before topic and payload: state, groups, checksum, time, lengths, id.
const META_WORDS: usize = 6;

/// The longest topic, in bytes.
pub const TOPIC_MAX: usize = 256;

/// The longest payload, in bytes, of a stream that is large enough: a message takes an eighth of its stream at most.
pub const PAYLOAD_MAX: usize = 16 << 20;

/// A message to be published.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The meaning of the message; up to its senders and receivers.
    pub kind: u8,
    /// The slot of the follower that it is for, or 255 for all; up to receivers to heed.
    pub target: u8,
    /// A number of the sender's.
    pub id: u64,
    /// The topic, at most [`TOPIC_MAX`] bytes.
    pub topic: &'a [u8],
    /// The message.
    pub payload: &'a [u8],
}

/// A message that was read, with where it lies in the buffer that it was read to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// As published.
    pub kind: u8,
    /// As published.
    pub target: u8,
    /// As published.
    pub id: u64,
    /// When it was published, in milliseconds since 1970.
    pub time_ms: u64,
    topic: usize,
    payload: usize,
}

impl Incoming {
    /// The topic in the buffer.
    pub fn topic<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        buffer.get(..self.topic).unwrap_or_default()
    }

    /// The payload in the buffer.
    pub fn payload<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        buffer.get(self.topic..self.topic + self.payload).unwrap_or_default()
    }
}

/// A message was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Topic or payload are too long.
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// Bytes of topic and payload that fit.
        max: usize,
    },
    /// This process was held up for longer than [`PATIENCE_MS`] while it wrote.
    #[error("the message took longer to write than {PATIENCE_MS} ms")]
    TooSlow,
}

/// What a reader finds at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Nothing yet.
    End,
    /// A message that is being written: look again soon, and after [`PATIENCE_MS`] call [`Stream::abandon`].
    Unfinished,
    /// A message, in the buffer; the next one is at `next`.
    Message(Incoming, u64),
    /// No message, and there never was one: its sender died or was too slow. Go on at the position.
    Hole(u64),
    /// What was a message has been damaged. Go on at the position.
    Damaged(u64),
    /// The position is not in the stream any more, or never was. The oldest message that is there is at this position.
    Overrun(u64),
}

/// A stream of a file.
#[derive(Clone, Copy)]
pub struct Stream<'m> {
    pub(super) head: &'m [AtomicU64],
    pub(super) data: &'m [AtomicU64],
    pub(super) epoch: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Reserved = 1,
    Complete = 2,
    Abandoned = 3,
}

/// The first word of a message.
fn word(position: u64, length: u64, state: State) -> u64 {
    (position & TAG_MASK) << (LENGTH_BITS + STATE_BITS) | length << STATE_BITS | state as u64
}

/// Length and state in the first word of the message at a position; none if the word belongs to another one.
fn parse(word: u64, position: u64) -> Option<(u64, State)> {
    let state = match word & 3 {
        1 => State::Reserved,
        2 => State::Complete,
        3 => State::Abandoned,
        _ => return None,
    };
    let length = word >> STATE_BITS & LENGTH_MASK;
    (word >> (LENGTH_BITS + STATE_BITS) == position & TAG_MASK && length > 0).then_some((length, state))
}

impl Stream<'_> {
    /// Bytes of topic and payload of the longest message.
    pub fn message_max(&self) -> usize {
        let granules = (self.granules() / 8).min(LENGTH_MASK);
        (granules as usize * GRANULE - 8 * META_WORDS).min(PAYLOAD_MAX + TOPIC_MAX)
    }

    /// Messages that the stream can hold at most.
    pub fn messages_max(&self) -> usize {
        self.granules() as usize
    }

    /// Appends a message and returns the position behind it. The time is in milliseconds since 1970.
    pub fn publish(&self, message: &Outgoing<'_>, time_ms: u64) -> Result<u64, PublishError> {
        let bytes = message.topic.len() + message.payload.len();
        if bytes > self.message_max() || message.topic.len() > TOPIC_MAX {
            return Err(PublishError::TooLong { max: self.message_max() });
        }
        let length = (8 * META_WORDS + bytes).div_ceil(GRANULE) as u64;
        let position = self.reserve(length);
        let lengths = (message.topic.len() as u64) << 48
            | u64::from(message.kind) << 40
            | u64::from(message.target) << 32
            | message.payload.len() as u64;
        let sum = self.checksum(position, [time_ms, lengths, message.id], message.topic, message.payload);
        let groups = (position & TAG_MASK) << GROUPS;
        for (n, value) in [groups, sum, time_ms, lengths, message.id].into_iter().enumerate() {
            self.at(position, 1 + n).store(value, Relaxed);
        }
        self.write(position, message.topic, message.payload);
        let reserved = word(position, length, State::Reserved);
        let complete = word(position, length, State::Complete);
        if self.at(position, 0).compare_exchange(reserved, complete, Release, Relaxed).is_err() {
            self.count(head::ABANDONED);
            return Err(PublishError::TooSlow);
        }
        self.count(head::PUBLISHED);
        Ok(position + length)
    }

    /// Messages published so far, and those that were given up.
    pub fn counts(&self) -> (u64, u64) {
        (self.head[head::PUBLISHED].load(Relaxed), self.head[head::ABANDONED].load(Relaxed))
    }

    /// The position behind the last message.
    pub fn end(&self) -> u64 {
        let (begin, length) = self.tail();
        begin + length
    }

    /// The position of the oldest message that is known to be there, or the end.
    pub fn oldest(&self) -> u64 {
        let end = self.end();
        let from = end.saturating_sub(self.granules());
        let sectors = self.head[head::SECTORS..][..head::SECTOR_COUNT].iter().map(|sector| sector.load(Acquire));
        let begun = if from == 0 { Some(0) } else { None };
        sectors.filter(|at| (from..end).contains(at) && *at > 0).chain(begun).min().unwrap_or(end)
    }

    /// Reads the message at a position that an earlier call has given, from `oldest` on; its topic and payload go to
    /// `buffer`.
    pub fn read(&self, position: u64, buffer: &mut Vec<u8>) -> Read {
        let (begin, last) = self.tail();
        let end = begin + last;
        if position == end {
            return Read::End;
        }
        if position > end || end - position > self.granules() {
            return Read::Overrun(self.oldest());
        }
        // A header that is not there yet is the last one's, whose length is in the tail.
        let found = parse(self.at(position, 0).load(Acquire), position);
        let Some((length, state)) = found.or((position == begin).then_some((last, State::Reserved))) else {
            return self.lost(position);
        };
        match state {
            State::Reserved => Read::Unfinished,
            State::Abandoned => self.checked(position, Read::Hole(position + length)),
            State::Complete => {
                let read = self.message(position, length, buffer);
                self.checked(
                    position,
                    read.map_or(Read::Damaged(position + length), |found| Read::Message(found, position + length)),
                )
            }
        }
    }

    /// Takes the message at a position for a group: true for one caller of each group.
    pub fn take(&self, position: u64, group: usize) -> bool {
        let cell = self.at(position, 1);
        let mut seen = cell.load(Acquire);
        loop {
            let is_taken = seen >> group & 1 != 0;
            // Other bits than its position's: it has been written over.
            if is_taken || seen >> GROUPS != position & TAG_MASK || group >= GROUPS {
                return false;
            }
            match cell.compare_exchange(seen, seen | 1 << group, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Declares the message at a position, which was found unfinished for [`PATIENCE_MS`], never to be finished.
    pub fn abandon(&self, position: u64) {
        let (begin, last) = self.tail();
        let seen = self.at(position, 0).load(Acquire);
        let length = match parse(seen, position) {
            Some((length, State::Reserved)) => length,
            None if position == begin => last,
            _ => return,
        };
        let abandoned = word(position, length, State::Abandoned);
        // If it fails, the sender has finished after all, or another reader was first.
        let _ = self.at(position, 0).compare_exchange(seen, abandoned, AcqRel, Relaxed);
    }

    /// What was found at a position, unless it may have been written over meanwhile.
    fn checked(&self, position: u64, found: Read) -> Read {
        fence(Acquire);
        if self.end().wrapping_sub(position) > self.granules() { Read::Overrun(self.oldest()) } else { found }
    }

    /// No header where there should be one: it was written over, or damaged.
    fn lost(&self, position: u64) -> Read {
        self.checked(position, Read::Overrun(self.end()))
    }

    fn message(&self, position: u64, length: u64, buffer: &mut Vec<u8>) -> Option<Incoming> {
        let [sum, time_ms, lengths, id] = [2, 3, 4, 5].map(|n| self.at(position, n).load(Relaxed));
        let (topic, payload) = ((lengths >> 48) as usize, lengths as u32 as usize);
        let room = (length as usize * GRANULE).checked_sub(8 * META_WORDS)?;
        if topic + payload > room || topic > TOPIC_MAX {
            return None;
        }
        self.copy(position, topic + payload, buffer);
        let (head, rest) = buffer.split_at(topic);
        let found =
            Incoming { kind: (lengths >> 40) as u8, target: (lengths >> 32) as u8, id, time_ms, topic, payload };
        (sum == self.checksum(position, [time_ms, lengths, id], head, rest)).then_some(found)
    }

    /// Room for a message, behind all others.
    fn reserve(&self, length: u64) -> u64 {
        let tail = &self.head[head::TAIL];
        loop {
            let seen = tail.load(Acquire);
            let (begin, last) = (seen >> LENGTH_BITS, seen & LENGTH_MASK);
            if last > 0 {
                self.label(begin, last);
            }
            let position = begin + last;
            // AcqRel: what is written from here on is written after readers could see that it would be.
            if tail.compare_exchange(seen, position << LENGTH_BITS | length, AcqRel, Acquire).is_ok() {
                fence(AcqRel);
                self.label(position, length);
                self.mark_sector(begin, position);
                return position;
            }
        }
    }

    /// Writes the header of a reservation, unless it is there.
    fn label(&self, position: u64, length: u64) {
        let cell = self.at(position, 0);
        let seen = cell.load(Acquire);
        if parse(seen, position).is_none() {
            let _ = cell.compare_exchange(seen, word(position, length, State::Reserved), AcqRel, Acquire);
        }
    }

    fn mark_sector(&self, before: u64, position: u64) {
        let each = self.granules().div_ceil(head::SECTOR_COUNT as u64);
        let sector = |at: u64| at / each;
        if sector(before) != sector(position) {
            self.head[head::SECTORS + (sector(position) % head::SECTOR_COUNT as u64) as usize].store(position, Release);
        }
    }

    fn tail(&self) -> (u64, u64) {
        let tail = self.head[head::TAIL].load(Acquire);
        (tail >> LENGTH_BITS, tail & LENGTH_MASK)
    }

    fn granules(&self) -> u64 {
        (self.data.len() / GRANULE_WORDS) as u64
    }

    /// A word of the message at a position.
    fn at(&self, position: u64, word: usize) -> &AtomicU64 {
        let first = (position % self.granules()) as usize * GRANULE_WORDS;
        &self.data[(first + word) % self.data.len()]
    }

    fn write(&self, position: u64, topic: &[u8], payload: &[u8]) {
        let mut words = self.words(position);
        let mut put = |chunk: [u8; 8]| _ = words.next().map(|word| word.store(u64::from_le_bytes(chunk), Relaxed));
        // The word in which the topic ends and the payload begins is put together.
        let (whole, rest) = topic.as_chunks::<8>();
        whole.iter().for_each(|chunk| put(*chunk));
        let (joint, payload) = payload.split_at(payload.len().min((8 - rest.len()) % 8));
        if !rest.is_empty() {
            let mut chunk = [0; 8];
            chunk[..rest.len()].copy_from_slice(rest);
            chunk[rest.len()..][..joint.len()].copy_from_slice(joint);
            put(chunk);
        }
        let (whole, rest) = payload.as_chunks::<8>();
        whole.iter().for_each(|chunk| put(*chunk));
        if !rest.is_empty() {
            let mut chunk = [0; 8];
            chunk[..rest.len()].copy_from_slice(rest);
            put(chunk);
        }
    }

    fn copy(&self, position: u64, bytes: usize, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.reserve(bytes + 8);
        for word in self.words(position).take(bytes.div_ceil(8)) {
            buffer.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        buffer.truncate(bytes);
    }

    /// The words behind the meta data of a message, around the end of the stream.
    fn words(&self, position: u64) -> impl Iterator<Item = &AtomicU64> {
        let first = ((position % self.granules()) as usize * GRANULE_WORDS + META_WORDS) % self.data.len();
        self.data[first..].iter().chain(&self.data[..first])
    }

    fn checksum(&self, position: u64, meta: [u64; 3], topic: &[u8], payload: &[u8]) -> u64 {
        let [time, lengths, id] = meta;
        let of_topic = checksum(self.epoch ^ time, position ^ id, (lengths >> 32) as u32, topic);
        checksum(of_topic, lengths, 0, payload)
    }

    fn count(&self, what: usize) {
        self.head[what].fetch_add(1, Relaxed);
    }
}
