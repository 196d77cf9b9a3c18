//! The public state of a participant: its process, the revision it serves, and the rings that hold messages for it.
//!
//! Each group of fields has one writer and cache lines of its own. State and incarnation share a word: a process
//! that declares a dead worker gone cannot hit its successor.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::journal_format;
use crate::limits::PARTICIPANTS_MAX;
use crate::process;

/// Words of the bitmap of senders.
pub(crate) const PENDING_WORDS: usize = PARTICIPANTS_MAX.div_ceil(64);

/// State of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Never attached.
    Free,
    /// At work. A killed worker stays in this state until its successor attaches or [`Region::reap`](crate::Region::reap)
    /// finds it dead; what is sent to it waits for the successor.
    Running,
    /// Finishes its requests and takes no new ones (nginx's graceful shutdown). It still receives.
    Draining,
    /// Left, or found dead.
    Gone,
}

impl State {
    const ALL: [State; 4] = [State::Free, State::Running, State::Draining, State::Gone];

    fn code(self) -> u64 {
        self as u64
    }
}

/// Bits of a life word below the incarnation.
const STATE_BITS: u32 = 8;

/// Incarnation and state as they were at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life(u64);

impl Life {
    pub(crate) fn incarnation(self) -> u32 {
        (self.0 >> STATE_BITS) as u32
    }

    pub(crate) fn state(self) -> State {
        State::ALL[(self.0 & 3) as usize]
    }

    pub(crate) fn receives(self) -> bool {
        matches!(self.state(), State::Running | State::Draining)
    }

    fn with(self, state: State) -> Self {
        Self(self.0 >> STATE_BITS << STATE_BITS | state.code())
    }
}

/// Counters of a participant over all of its incarnations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that were put into a ring.
    pub sent: u64,
    /// Messages that were not sent because the ring was full.
    pub full: u64,
    /// Messages that were handed to the receiver's handler.
    pub received: u64,
    /// Replies to requests of a dead predecessor, dropped.
    pub stale_replies: u64,
    /// Messages left out because [`DELIVERIES_MAX`](crate::DELIVERIES_MAX) receivers died with them in hand.
    pub abandoned: u64,
    /// Rings whose contents made no sense and were thrown away. Not 0: memory was overwritten.
    pub damaged: u64,
}

/// A counter with one writer.
#[repr(transparent)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The slot of a participant in the region. All zeros is a free slot.
#[repr(C, align(64))]
pub struct Slot {
    process: AtomicU64,
    life: AtomicU64,
    started_ms: AtomicU64,
    _line0: [u64; 5],
    /// Twice the applied revision, plus the number of the digest that belongs to it.
    applied: AtomicU64,
    digests: [AtomicU64; 2],
    refused: AtomicU64,
    held_ns: AtomicU64,
    journal_format: AtomicU64,
    _line1: [u64; 2],
    /// A bit for each sender that has put something into its ring since the receiver last looked.
    pub(crate) pending: [AtomicU64; PENDING_WORDS],
    _line2: [u64; 8 - PENDING_WORDS],
    pub(crate) sent: Counter,
    pub(crate) full: Counter,
    pub(crate) received: Counter,
    pub(crate) stale_replies: Counter,
    pub(crate) abandoned: Counter,
    pub(crate) damaged: Counter,
    serial: AtomicU64,
    _unused: AtomicU32,
}

impl Slot {
    /// The process in the slot; 0 if it never had one. It may be dead: see [`Slot::lives`].
    pub fn pid(&self) -> u32 {
        process::pid_of(self.process.load(Ordering::Acquire))
    }

    /// Whether the process in the slot is running. Asks `/proc`.
    pub fn lives(&self) -> bool {
        self.life().receives() && process::lives(self.process.load(Ordering::Acquire))
    }

    /// Number of processes that have had the slot, including this one.
    pub fn incarnation(&self) -> u32 {
        self.life().incarnation()
    }

    /// State of the participant.
    pub fn state(&self) -> State {
        self.life().state()
    }

    /// Time at which it attached, in milliseconds since 1970.
    pub fn started_ms(&self) -> u64 {
        self.started_ms.load(Ordering::Relaxed)
    }

    /// The revision that it serves; 0 before its first.
    pub fn applied(&self) -> u64 {
        self.acknowledged().0
    }

    /// The digest of the state that it serves.
    pub fn digest(&self) -> u64 {
        self.acknowledged().1
    }

    /// Revision and digest that belong together.
    pub fn acknowledged(&self) -> (u64, u64) {
        // The writer alternates between two digests, so a digest changes under a reader only if two acknowledgements
        // came in between. Should that happen again and again, any answer is as good as the next.
        let mut answer = (0, 0);
        for _ in 0..8 {
            let before = self.applied.load(Ordering::Acquire);
            let digest = self.digests[(before & 1) as usize].load(Ordering::Acquire);
            answer = (before >> 1, digest);
            if self.applied.load(Ordering::Acquire) == before {
                break;
            }
        }
        answer
    }

    /// The last revision that it refused; 0 if none.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Acquire)
    }

    /// The format of the journal that its process reads. It follows only a journal in this format.
    pub fn journal_format(&self) -> u32 {
        self.journal_format.load(Ordering::Relaxed) as u32
    }

    /// The longest time that a change held its event loop since someone took the value, in nanoseconds.
    pub fn held_ns(&self) -> u64 {
        self.held_ns.load(Ordering::Relaxed)
    }

    /// Takes the value of [`Slot::held_ns`] and resets it.
    pub fn take_held_ns(&self) -> u64 {
        self.held_ns.swap(0, Ordering::Relaxed)
    }

    /// Counters of the participant.
    pub fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.get(),
            full: self.full.get(),
            received: self.received.get(),
            stale_replies: self.stale_replies.get(),
            abandoned: self.abandoned.get(),
            damaged: self.damaged.get(),
        }
    }

    pub(crate) fn life(&self) -> Life {
        Life(self.life.load(Ordering::Acquire))
    }

    /// Makes the calling process the one in the slot and returns its incarnation.
    pub(crate) fn occupy(&self, now_ms: u64) -> u32 {
        self.started_ms.store(now_ms, Ordering::Relaxed);
        self.occupy_as(std::process::id())
    }

    pub(crate) fn occupy_as(&self, pid: u32) -> u32 {
        // The predecessor's values are reset before the incarnation changes, so that its revision is not taken for the
        // successor's.
        for cell in [&self.applied, &self.refused, &self.held_ns] {
            cell.store(0, Ordering::Relaxed);
        }
        self.digests[0].store(0, Ordering::Relaxed);
        self.journal_format.store(journal_format().into(), Ordering::Relaxed);
        self.process.store(process::identity(pid), Ordering::Release);
        let before = self.life();
        // Only `retire` can come between; it keeps the incarnation, so nothing is lost by a plain store.
        let incarnation = before.incarnation().wrapping_add(1).max(1);
        self.life.store(u64::from(incarnation) << STATE_BITS | State::Running.code(), Ordering::Release);
        incarnation
    }

    /// Changes the state of this incarnation; false if another one has the slot by now.
    pub(crate) fn set_state(&self, incarnation: u32, state: State) -> bool {
        let before = self.life();
        before.incarnation() == incarnation && self.change(before, state)
    }

    /// Declares it gone if its process is dead; true if this call did it.
    pub(crate) fn retire_if_dead(&self) -> bool {
        let before = self.life();
        let dead = before.receives() && !process::lives(self.process.load(Ordering::Acquire));
        dead && self.change(before, State::Gone)
    }

    fn change(&self, before: Life, state: State) -> bool {
        self.life.compare_exchange(before.0, before.with(state).0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn acknowledge(&self, revision: u64, digest: u64) {
        let cell = self.applied.load(Ordering::Relaxed) & 1 ^ 1;
        self.digests[cell as usize].store(digest, Ordering::Release);
        self.applied.store(revision << 1 | cell, Ordering::Release);
    }

    pub(crate) fn refuse(&self, revision: u64) {
        self.refused.store(revision, Ordering::Release);
    }

    pub(crate) fn held(&self, ns: u64) {
        self.held_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// Says that the sender with this index has put something into its ring; true if the receiver has to be woken.
    pub(crate) fn mark(&self, sender: usize) -> bool {
        let bit = 1 << (sender % 64);
        // Release: the process that swaps the bit out sees what was published before. Whether this or the swap came first is one
        // order on one word: either the swap sees the bit, or the bit was clear and the receiver is rung.
        self.pending[sender / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// A number for a request, unique in this incarnation.
    pub(crate) fn next_serial(&self) -> u64 {
        let serial = self.serial.load(Ordering::Relaxed).wrapping_add(1);
        self.serial.store(serial, Ordering::Relaxed);
        serial
    }
}
