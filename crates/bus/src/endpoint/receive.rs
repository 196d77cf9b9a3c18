//! Receiving: what an event loop does when its bell has rung.
//!
//! Clear the bell, take the bits, and read each ring whose bit was set until it is empty. No wake-up is lost: setting a
//! bit and taking the bits are read-modify-writes of one word, so either the sender's comes first, and its message is
//! seen; or it finds the bit clear, and rings a bell that was cleared before. (Reading the rings first, so that no sender
//! rings meanwhile, and then once more after taking the bits was measured and is no better: see ADR 008.)
//!
//! A handler sees a copy of the message: its sender may be a worker that was taken over, and could otherwise change the
//! bytes between a check and their use ([ADR 015](../../../../docs/adr/015-workers-are-not-trusted.md)).

use std::sync::atomic::Ordering::AcqRel;

use super::Endpoint;
use crate::address::{Address, MessageKind, Received};
use crate::limits::BATCH;
use crate::ring::{Popped, Ring};
use crate::slot::PENDING_WORDS;

impl Endpoint {
    /// Hands all messages that are there to `f`, in order for each sender, and returns how many these were. At most
    /// [`BATCH`] of one sender in one call; if more are there, the bell rings again.
    ///
    /// Call it whenever the bell is readable, before looking at anything that someone may have woken this participant
    /// for. It clears the bell, but not control's: see [`ControlBell`](crate::ControlBell). If `f` panics, the message
    /// counts as not received and comes again, [`DELIVERIES_MAX`](crate::DELIVERIES_MAX) times at most. Called by `f`
    /// itself it does nothing.
    pub fn receive(&self, f: &mut dyn FnMut(Received<'_>)) -> usize {
        let Some(_receiving) = Receiving::begin(self) else { return 0 };
        if self.address != Address::Control {
            self.region.bell(self.me).clear();
        }
        let pending = &self.slot().pending;
        let mut handed = 0;
        let mut unfinished = [0u64; PENDING_WORDS];
        for (word, unfinished) in unfinished.iter_mut().enumerate() {
            // Acquire: what a sender has published before it set its bit is visible.
            for sender in senders(word, pending[word].swap(0, AcqRel)) {
                let read = self.drain(sender, BATCH, f);
                handed += read;
                *unfinished |= u64::from(read == BATCH) << (sender % 64);
            }
        }
        self.come_back(unfinished);
        self.slot().received.add(handed as u64);
        handed
    }

    /// Sets the bits of rings that were not read to their end, and rings the own bell for them.
    fn come_back(&self, unfinished: [u64; PENDING_WORDS]) {
        for (word, bits) in unfinished.into_iter().enumerate().filter(|&(_, bits)| bits != 0) {
            self.slot().pending[word].fetch_or(bits, AcqRel);
            self.ring_self();
        }
    }

    /// Hands over at most `limit` messages of one sender and returns how many.
    fn drain(&self, sender: usize, limit: usize, f: &mut dyn FnMut(Received<'_>)) -> usize {
        if sender >= self.region.participants() {
            return 0;
        }
        let ring = self.region.ring(sender, self.me);
        let from = self.region.address(sender);
        let mut copy = self.copy.take();
        let handed = self.drain_into(&mut copy, &ring, from, limit, f);
        self.copy.set(copy);
        handed
    }

    fn drain_into(
        &self,
        copy: &mut Vec<u8>,
        ring: &Ring<'_>,
        from: Address,
        limit: usize,
        f: &mut dyn FnMut(Received<'_>),
    ) -> usize {
        for handed in 0..limit {
            match ring.peek() {
                Popped::Empty => return handed,
                Popped::Abandoned => self.slot().abandoned.add(1),
                Popped::Damaged => self.slot().damaged.add(1),
                Popped::Message { kind, topic, key, payload, end } => {
                    let key_bytes = key.len();
                    copy.clear();
                    copy.extend_from_slice(key);
                    copy.extend_from_slice(payload);
                    let (key, payload) = copy.split_at(key_bytes);
                    match kind {
                        MessageKind::Reply(id) if !id.is_of(self.incarnation) => self.slot().stale_replies.add(1),
                        _ => f(Received { from, kind, topic, key, payload }),
                    }
                    ring.give_back(end);
                }
            }
        }
        limit
    }
}

/// The senders whose bits are set in this word.
fn senders(word: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(word * 64 + bit)
    })
}

/// That a handler is at work; over when it is dropped, also by a panic.
struct Receiving<'e>(&'e Endpoint);

impl<'e> Receiving<'e> {
    fn begin(endpoint: &'e Endpoint) -> Option<Self> {
        (!endpoint.receiving.replace(true)).then_some(Self(endpoint))
    }
}

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        self.0.receiving.set(false);
        if std::thread::panicking() {
            // The bits were taken, and not all of their rings were read.
            self.0.come_back([u64::MAX; PENDING_WORDS]);
        }
    }
}
