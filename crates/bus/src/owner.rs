//! The owner table: which worker has claimed a key. Open addressing with linear probing over a bounded window, one entry
//! two words: the key's hash, and its owner.
//!
//! No lock, and a process can be killed at any instruction. The owner word holds the worker, its incarnation, and the
//! generation of the claim, so an entry is over when its owner's incarnation is over; no process has to clean up. A claim
//! goes through *reserving* (the entry is taken, its hash not yet written), *ready* (the hash is written; all other
//! entries are looked through for the same one) and *owned*. Of two that are ready for the same key, each sees the other
//! or is seen by it, and the one further back gives way. An entry that was ever used is never quite empty again, so a
//! search ends at the first one that is, and what is placed is always placed before it.
//!
//! A compare-and-swap of 128 bits would do without the middle states, but stable Rust has none for memory that is shared
//! between processes; a lock that is broken when its holder dies would hold up every process while a holder is stopped.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use crate::address::Address;
use crate::error::OwnerError;
use crate::limits::{OWNER_WINDOW, WORKERS_MAX};

/// Claims of one key that may get in each other's way before one of them gets the error that the key is taken.
const ATTEMPTS: usize = 16;

const _: () = assert!(WORKERS_MAX <= 256);

/// An entry; all zeros if it was never used.
#[repr(C)]
pub(crate) struct Entry {
    owner: AtomicU64,
    hash: AtomicU64,
}

/// The claim of an entry, in one word: generation (40 bits), incarnation (14), worker (8), step (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner(u64);

const FREE: u64 = 0;
const RESERVING: u64 = 1;
const READY: u64 = 2;
const OWNED: u64 = 3;

const INCARNATION_MASK: u32 = (1 << 14) - 1;
const GENERATION_MAX: u64 = (1 << 40) - 1;

impl Owner {
    const NEVER: Owner = Owner(0);

    fn new(by: Claimant, generation: u64, step: u64) -> Self {
        let who = u64::from(by.incarnation & INCARNATION_MASK) << 10 | u64::from(by.worker) << 2;
        Self(generation << 24 | who | step)
    }

    fn step(self) -> u64 {
        self.0 & 3
    }

    fn at(self, step: u64) -> Self {
        Self(self.0 & !3 | step)
    }

    fn worker(self) -> u16 {
        (self.0 >> 2 & 0xff) as u16
    }

    fn incarnation(self) -> u32 {
        (self.0 >> 10) as u32 & INCARNATION_MASK
    }

    fn generation(self) -> u64 {
        self.0 >> 24
    }

    fn is_of(self, by: Claimant) -> bool {
        self.worker() == by.worker && self.incarnation() == by.incarnation & INCARNATION_MASK
    }
}

/// The worker that claims.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimant {
    pub(crate) worker: u16,
    pub(crate) incarnation: u32,
}

/// The incarnation of a worker that takes part at the moment, if any does.
pub(crate) type Living<'l> = &'l dyn Fn(u16) -> Option<u32>;

/// The table, and what it needs to know.
pub(crate) struct Owners<'r> {
    /// A power of two of them.
    pub(crate) entries: &'r [Entry],
    /// The last generation given out.
    pub(crate) claims: &'r AtomicU64,
    pub(crate) living: Living<'r>,
}

/// The result of comparing an entry that is ready with others.
enum Rivals {
    None,
    Owned(Owner),
    /// Someone further in front is ready as well.
    InFront(Owner),
}

impl Owners<'_> {
    /// Claims the key with this hash. A worker that has it already keeps its generation.
    pub(crate) fn claim(&self, by: Claimant, hash: u64) -> Result<u64, OwnerError> {
        let mut refusal = OwnerError::TableFull;
        for _ in 0..ATTEMPTS {
            match self.find(hash) {
                Some((_, owner)) if owner.is_of(by) => return Ok(owner.generation()),
                Some((_, owner)) => return Err(taken(owner)),
                None => {}
            }
            let (at, reserved) = self.reserve(by, hash)?;
            self.entries[at].hash.store(hash, SeqCst);
            // SeqCst, as are the loads in `rivals`: of two that become ready, at least one sees the other.
            if !self.step(at, reserved, READY) {
                continue;
            }
            let ready = reserved.at(READY);
            match self.rivals(at, hash) {
                Rivals::None if self.step(at, ready, OWNED) => return Ok(ready.generation()),
                Rivals::None => {}
                Rivals::Owned(by) => {
                    self.step(at, ready, FREE);
                    return Err(taken(by));
                }
                Rivals::InFront(by) => {
                    self.step(at, ready, FREE);
                    refusal = taken(by);
                }
            }
        }
        Err(refusal)
    }

    /// Gives the key back; false if it was not the claimant's.
    pub(crate) fn release(&self, by: Claimant, hash: u64) -> bool {
        self.find(hash).is_some_and(|(at, owner)| owner.is_of(by) && self.step(at, owner, FREE))
    }

    /// The worker that owns the key with this hash.
    pub(crate) fn owner(&self, hash: u64) -> Option<u16> {
        self.find(hash).map(|(_, owner)| owner.worker())
    }

    /// Frees what earlier incarnations of this worker have left, so that a number that comes round again means nothing.
    pub(crate) fn forget(&self, worker: u16) {
        if self.claims.load(Relaxed) == 0 {
            return;
        }
        for (at, entry) in self.entries.iter().enumerate() {
            let owner = Owner(entry.owner.load(Acquire));
            if owner.step() != FREE && owner.worker() == worker {
                self.step(at, owner, FREE);
            }
        }
    }

    fn find(&self, hash: u64) -> Option<(usize, Owner)> {
        self.window(hash).find(|&(at, owner)| owner.step() == OWNED && self.holds(at, owner, hash) && self.lives(owner))
    }

    /// Takes the first entry that no living worker has.
    fn reserve(&self, by: Claimant, hash: u64) -> Result<(usize, Owner), OwnerError> {
        let generation = self.claims.fetch_add(1, Relaxed) + 1;
        if generation > GENERATION_MAX {
            return Err(OwnerError::TableFull);
        }
        let mine = Owner::new(by, generation, RESERVING);
        for step in 0..OWNER_WINDOW {
            let at = self.place(hash, step);
            let there = Owner(self.entries[at].owner.load(SeqCst));
            let free = there.step() == FREE || !self.lives(there);
            if free && self.swap(at, there, mine) {
                return Ok((at, mine));
            }
        }
        Err(OwnerError::TableFull)
    }

    /// Looks for others with the same hash, and takes those back that are ready further behind.
    fn rivals(&self, mine: usize, hash: u64) -> Rivals {
        let distance = |at: usize| at.wrapping_sub(self.place(hash, 0)) % self.entries.len();
        for (at, mut owner) in self.window(hash).filter(|&(at, _)| at != mine) {
            // Goes round again only if another process has made a step in this entry meanwhile. One that becomes owned
            // between two loads must not be passed over: it may have looked around before this claim was ready.
            while owner.step() >= READY && self.lives(owner) {
                let same = self.entries[at].hash.load(SeqCst) == hash;
                let now = Owner(self.entries[at].owner.load(SeqCst));
                if now != owner {
                    owner = now;
                    continue;
                }
                match owner.step() {
                    _ if !same => break,
                    OWNED => return Rivals::Owned(owner),
                    _ if distance(at) < distance(mine) => return Rivals::InFront(owner),
                    _ if self.step(at, owner, FREE) => break,
                    _ => owner = Owner(self.entries[at].owner.load(SeqCst)),
                }
            }
        }
        Rivals::None
    }

    /// The entries in which a key with this hash can be, up to the first that was never used.
    fn window(&self, hash: u64) -> impl Iterator<Item = (usize, Owner)> {
        (0..OWNER_WINDOW)
            .map(move |step| self.place(hash, step))
            .map(|at| (at, Owner(self.entries[at].owner.load(SeqCst))))
            .take_while(|&(_, owner)| owner != Owner::NEVER)
    }

    /// Whether this owner has the entry for this hash. The hash is written by the worker that reserves, so it belongs to a word
    /// in a later step if that word is still there afterwards: generations make words unique.
    fn holds(&self, at: usize, owner: Owner, hash: u64) -> bool {
        let entry = &self.entries[at];
        owner.step() >= READY && entry.hash.load(SeqCst) == hash && entry.owner.load(SeqCst) == owner.0
    }

    fn place(&self, hash: u64, step: usize) -> usize {
        (hash as usize).wrapping_add(step) & (self.entries.len() - 1)
    }

    fn lives(&self, owner: Owner) -> bool {
        (self.living)(owner.worker()).is_some_and(|now| now & INCARNATION_MASK == owner.incarnation())
    }

    fn step(&self, at: usize, owner: Owner, to: u64) -> bool {
        self.swap(at, owner, owner.at(to))
    }

    fn swap(&self, at: usize, from: Owner, to: Owner) -> bool {
        self.entries[at].owner.compare_exchange(from.0, to.0, SeqCst, SeqCst).is_ok()
    }
}

fn taken(owner: Owner) -> OwnerError {
    OwnerError::Taken { by: Address::Worker(owner.worker()) }
}

#[cfg(test)]
mod tests;
