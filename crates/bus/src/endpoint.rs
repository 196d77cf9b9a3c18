//! One participant's end of the bus: sending, owning keys, acknowledging revisions. Receiving is in
//! `endpoint/receive.rs`.
//!
//! A send takes no system call when the receiver is known to be awake: the message is published, then the sender sets
//! its bit in the receiver's bitmap, and rings only if the bit was clear.

use std::cell::Cell;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::address::{Address, MessageKind, Received, Recipient, RequestId, Ticket, Topic};
use crate::bell::Ringer;
use crate::broadcast::Broadcast;
use crate::error::{OwnerError, SendError};
use crate::limits::MESSAGE_MAX;
use crate::owner::Claimant;
use crate::region::{Region, now_ms};
use crate::ring::Message;
use crate::slot::{Slot, State};

mod receive;

/// A participant's end of the bus. It belongs to one thread at a time; for others there is [`Endpoint::ringer`].
/// Dropping it leaves the bus: its slot is gone, what it owned is free.
pub struct Endpoint {
    region: Arc<Region>,
    me: usize,
    address: Address,
    incarnation: u32,
    /// Whether a handler is at work.
    receiving: Cell<bool>,
    /// The message that a handler sees.
    copy: Cell<Vec<u8>>,
    _one_thread: PhantomData<Cell<()>>,
}

impl Endpoint {
    pub(crate) fn attach(region: Arc<Region>, address: Address, me: usize) -> Self {
        let slot = region.participant(me);
        if let Address::Worker(n) = address {
            region.owners(&[], |owners, _| owners.forget(n));
        }
        let incarnation = slot.occupy(now_ms());
        let all = (0..region.participants()).map(|other| (other, region.participant(other)));
        for (other, slot) in all {
            // Messages that the predecessor has sent without ringing, and those that it had not read.
            slot.mark(me);
            region.participant(me).mark(other);
            region.bell(other).ring();
        }
        Self {
            region,
            me,
            address,
            incarnation,
            receiving: Cell::new(false),
            copy: Cell::default(),
            _one_thread: PhantomData,
        }
    }

    /// For epoll: readable when [`receive`](Endpoint::receive) has something to do. All endpoints of control have the
    /// same one, see [`ControlBell`](crate::ControlBell).
    pub fn bell(&self) -> RawFd {
        self.region.bell(self.me).fd()
    }

    /// Address of this participant.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Number of processes that have had this address, including this one.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// The region it belongs to.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Makes the own bell ring, so that the event loop calls again.
    pub fn ring_self(&self) {
        self.region.bell(self.me).ring();
    }

    /// Rings the own bell from any thread.
    pub fn ringer(&self) -> Ringer {
        Ringer(Arc::clone(self.region.bell(self.me)))
    }

    /// Sends a message of at most [`MESSAGE_MAX`] bytes, and at most a quarter of the pair's ring. When it returns, the
    /// message is in the receiver's ring: it outlives the sender, and if the receiver dies before it has read it, its
    /// successor will. Between two participants messages keep their order.
    pub fn send(&self, to: Address, topic: Topic, payload: &[u8]) -> Result<(), SendError> {
        self.post(self.index(to)?, &Message { kind: MessageKind::Oneway, topic, key: &[], payload })
    }

    /// Sends a message to all workers that take part, but not to the sender.
    pub fn broadcast(&self, topic: Topic, payload: &[u8]) -> Broadcast {
        let mut outcome = Broadcast::default();
        let message = Message { kind: MessageKind::Oneway, topic, key: &[], payload };
        for to in (0..self.region.workers()).filter(|&to| to != self.me) {
            if self.region.participant(to).life().receives() {
                outcome.record(to, self.post(to, &message));
            }
        }
        outcome
    }

    /// Sends a message that wants an answer; the key of an owner travels with it. The answer arrives as
    /// [`MessageKind::Reply`] with the same id, or never: timing out is the caller's.
    pub fn request(&self, to: Recipient<'_>, topic: Topic, payload: &[u8]) -> Result<RequestId, SendError> {
        let (to, key) = match to {
            Recipient::One(to) => (self.index(to)?, &[][..]),
            Recipient::Owner(key) => (self.owner_index(key)?, key),
        };
        let id = RequestId::new(self.incarnation, self.slot().next_serial());
        self.post(to, &Message { kind: MessageKind::Request(id), topic, key, payload })?;
        Ok(id)
    }

    /// Answers a request.
    pub fn reply(&self, to: &Received<'_>, payload: &[u8]) -> Result<(), SendError> {
        self.reply_to(to.ticket().ok_or(SendError::NotARequest)?, payload)
    }

    /// Answers a request whose message is gone. If the asker died meanwhile, its successor drops and counts the answer.
    pub fn reply_to(&self, to: Ticket, payload: &[u8]) -> Result<(), SendError> {
        self.post(self.index(to.to)?, &Message { kind: MessageKind::Reply(to.id), topic: to.topic, key: &[], payload })
    }

    /// Claims a key for this worker. The generation grows with every claim of the region, so that a process that meets two
    /// owners of a key can tell the later one. Claiming again what one has already gives the same generation.
    pub fn claim(&self, key: &[u8]) -> Result<u64, OwnerError> {
        let by = self.claimant().ok_or(OwnerError::NotAWorker)?;
        self.region.owners(key, |owners, hash| owners.claim(by, hash))
    }

    /// Gives a key back; false if it was not this worker's.
    pub fn release(&self, key: &[u8]) -> bool {
        self.claimant().is_some_and(|by| self.region.owners(key, |owners, hash| owners.release(by, hash)))
    }

    /// The worker that owns a key.
    pub fn owner(&self, key: &[u8]) -> Option<Address> {
        self.region.owners(key, |owners, hash| owners.owner(hash)).map(Address::Worker)
    }

    /// Tells control that this worker serves the revision now, and wakes it.
    pub fn acknowledge(&self, revision: u64, digest: u64) {
        self.slot().acknowledge(revision, digest);
        self.wake(Address::Control);
    }

    /// Tells control that this worker does not take the revision. The slot says so in any case; the reason (cut to what
    /// a message holds) is lost if control's ring is full or control has left.
    pub fn refuse(&self, revision: u64, reason: &str) -> Result<(), SendError> {
        self.slot().refuse(revision);
        self.report(Topic::REFUSED, &revision.to_le_bytes(), reason)
    }

    /// Tells control what this worker has left out of its state, a line for each resource; empty if nothing.
    pub fn left_out(&self, lines: &str) -> Result<(), SendError> {
        self.report(Topic::LEFT_OUT, &[], lines)
    }

    /// Sends control a text, cut to what a message holds.
    fn report(&self, topic: Topic, before: &[u8], text: &str) -> Result<(), SendError> {
        let end = text.floor_char_boundary(MESSAGE_MAX - before.len());
        let sent = self.send(Address::Control, topic, &[before, &text.as_bytes()[..end]].concat());
        self.ring_control();
        sent
    }

    /// Tells that a change has held the event loop for so long; the slot keeps the longest.
    pub fn held(&self, ns: u64) {
        self.slot().held(ns);
    }

    /// Tells where this participant is in its life; false if it has a successor already.
    pub fn set_state(&self, state: State) -> bool {
        self.slot().set_state(self.incarnation, state)
    }

    /// Rings control's bell, whether it is awake or not.
    pub fn ring_control(&self) {
        self.region.bell(self.region.workers()).ring();
    }

    /// Makes a participant call [`receive`](Endpoint::receive) once more and then look at what was changed before: the
    /// journal, a slot. Without a system call if it was woken by this participant and has not looked yet.
    pub fn wake(&self, who: Address) {
        if let Some(index) = self.region.index(who) {
            self.wake_index(index);
        }
    }

    /// Wakes all workers that take part, but not the caller.
    pub fn wake_workers(&self) {
        for to in (0..self.region.workers()).filter(|&to| to != self.me) {
            if self.region.participant(to).life().receives() {
                self.wake_index(to);
            }
        }
    }

    fn wake_index(&self, to: usize) {
        if self.region.participant(to).mark(self.me) {
            self.region.bell(to).ring();
        }
    }

    fn post(&self, to: usize, message: &Message<'_>) -> Result<(), SendError> {
        let max = MESSAGE_MAX.min(self.region.ring_bytes(self.me, to) / 4);
        if message.key.len() + message.payload.len() > max {
            return Err(SendError::TooLong { max });
        }
        if !self.region.participant(to).life().receives() {
            return Err(SendError::Gone);
        }
        if !self.region.ring(self.me, to).push(message) {
            self.slot().full.add(1);
            return Err(SendError::Full);
        }
        self.slot().sent.add(1);
        self.wake_index(to);
        Ok(())
    }

    fn slot(&self) -> &Slot {
        self.region.participant(self.me)
    }

    fn index(&self, to: Address) -> Result<usize, SendError> {
        self.region.index(to).ok_or(SendError::Gone)
    }

    fn owner_index(&self, key: &[u8]) -> Result<usize, SendError> {
        let owner = self.region.owners(key, |owners, hash| owners.owner(hash));
        owner.map(usize::from).ok_or(SendError::NoOwner)
    }

    fn claimant(&self) -> Option<Claimant> {
        match self.address {
            Address::Worker(worker) => Some(Claimant { worker, incarnation: self.incarnation }),
            Address::Control => None,
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.set_state(State::Gone);
        // Control would otherwise learn it by asking.
        self.wake(Address::Control);
    }
}

#[cfg(test)]
mod tests;
