//! The table: buckets in shared memory, found by a keyed hash of collection and record.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;
use weir_engine::seclang::{Collections, StoredChange};
use weir_rules::seclang::ir::Collection;

use crate::bucket::{BYTES, Bucket};
use weir_engine::lock::Hold;

/// Number of words of a bucket: the lock, the length, then the members.
const WORDS: usize = 256;
/// Number of words of the smallest table: its header and one bucket.
pub const MIN_WORDS: usize = 2 * WORDS;

/// Word indexes in the header, which is as long as a bucket.
const FORMAT: usize = 0;
const SEED: usize = 1;
const EVICTED: usize = 2;
const REFUSED: usize = 3;
const RESET: usize = 4;

/// Changes with the layout: memory left by an older version is then cleared.
const VERSION: u64 = 0x7765_6972_636f_6c01;

/// The table.
pub struct Table<'m> {
    memory: &'m [AtomicU64],
    buckets: usize,
    hasher: SeedableRandomState,
}

/// Numbers of lost members and buckets, since the memory was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Members evicted before they expired, because their bucket was full.
    pub evicted: u64,
    /// Members that were too long to be stored.
    pub refused: u64,
    /// Buckets cleared because a worker died while changing them.
    pub reset: u64,
}

impl<'m> Table<'m> {
    /// A table in `memory`, which is initially zero or already contains a table, and is shared by
    /// all users; `None` if it is shorter than [`MIN_WORDS`]. The first of them makes it before the
    /// others begin, as nginx's master does before it starts workers.
    #[must_use]
    pub fn new(memory: &'m [AtomicU64]) -> Option<Self> {
        let buckets = (memory.len() / WORDS).checked_sub(1).filter(|buckets| *buckets > 0)?;
        let fresh = foldhash::quality::RandomState::default().hash_one(0u8) | 1;
        if memory[FORMAT].load(Ordering::Acquire) != VERSION {
            // A later process finds the seed set; no process uses a table of another version.
            memory[WORDS..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            memory[FORMAT].store(VERSION, Ordering::Release);
        }
        let seed = match memory[SEED].compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => theirs,
        };
        // The shared seed only adds to the mixing, and must be the same in all processes.
        let hasher = SeedableRandomState::with_seed(seed, SharedSeed::global_fixed());
        Some(Self { memory, buckets, hasher })
    }

    /// What has been lost so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |place: usize| self.memory[place].load(Ordering::Relaxed);
        Counts { evicted: count(EVICTED), refused: count(REFUSED), reset: count(RESET) }
    }

    /// The number of a record. Two records that share all 64 bits are merged; because the seed is
    /// secret, this cannot be provoked.
    fn record(&self, collection: Collection, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(collection as u8);
        hasher.write(key);
        hasher.finish()
    }

    /// Runs `work` on the bucket of a record under its lock; the bucket is written back if `work` says so.
    fn with<T>(&self, record: u64, work: impl FnOnce(&mut Bucket) -> (T, bool)) -> T {
        let at = 1 + ((u128::from(record) * self.buckets as u128) >> 64) as usize;
        let words = &self.memory[at * WORDS..(at + 1) * WORDS];
        let hold = Hold::on(&words[0]);
        let mut bucket = if hold.taken_over {
            self.memory[RESET].fetch_add(1, Ordering::Relaxed);
            words[1].store(0, Ordering::Relaxed);
            Bucket::EMPTY
        } else {
            load(words)
        };
        let (result, changed) = work(&mut bucket);
        if changed {
            store(words, &bucket);
        }
        result
    }
}

/// Copies a bucket out of shared memory.
fn load(words: &[AtomicU64]) -> Bucket {
    let used = usize::try_from(words[1].load(Ordering::Relaxed)).unwrap_or(usize::MAX).min(BYTES);
    let mut bytes = [0; BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(&words[2..]).take(used.div_ceil(8)) {
        chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    Bucket::from_bytes(bytes, used)
}

/// Copies a bucket back.
fn store(words: &[AtomicU64], bucket: &Bucket) {
    let used = bucket.used();
    for (chunk, word) in used.chunks(8).zip(&words[2..]) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
    }
    words[1].store(used.len() as u64, Ordering::Relaxed);
}

impl Collections for Table<'_> {
    fn read(&self, collection: Collection, key: &[u8], now_s: u64, each: &mut dyn FnMut(&[u8], &[u8])) {
        let record = self.record(collection, key);
        // The caller's work is not done under the lock.
        let bucket = self.with(record, |bucket| (std::mem::replace(bucket, Bucket::EMPTY), false));
        for member in bucket.members().filter(|member| member.record == record && member.expires_s > now_s) {
            each(bucket.name(member), bucket.value(member));
        }
    }

    fn change(&self, collection: Collection, key: &[u8], name: &[u8], change: StoredChange<'_>, now_s: u64) -> bool {
        let record = self.record(collection, key);
        let done = self.with(record, |bucket| match apply(bucket, record, name, change, now_s) {
            Some(evicted) => (Some(evicted), true),
            None => (None, false),
        });
        match done {
            Some(0) => true,
            Some(evicted) => {
                self.memory[EVICTED].fetch_add(evicted.into(), Ordering::Relaxed);
                true
            }
            None => {
                self.memory[REFUSED].fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }
}

/// Applies the change; returns the number of live members evicted for it, or `None` if it cannot be stored.
fn apply(bucket: &mut Bucket, record: u64, name: &[u8], change: StoredChange<'_>, now_s: u64) -> Option<u32> {
    let found = bucket.find(record, name, now_s);
    match change {
        StoredChange::Unset => {
            found.into_iter().for_each(|member| bucket.remove(member));
            Some(0)
        }
        StoredChange::Expire { after_s } => {
            found.into_iter().for_each(|member| bucket.expire(member, now_s.saturating_add(after_s)));
            Some(0)
        }
        StoredChange::Set { value, timeout_s } => {
            found.into_iter().for_each(|member| bucket.remove(member));
            bucket.insert(record, name, value, now_s.saturating_add(timeout_s), now_s)
        }
        StoredChange::Add { delta, timeout_s } => {
            let before = found.map_or(0, |member| number(bucket.value(member)));
            found.into_iter().for_each(|member| bucket.remove(member));
            let mut digits = itoa::Buffer::new();
            let text = digits.format(before.saturating_add(delta)).as_bytes();
            bucket.insert(record, name, text, now_s.saturating_add(timeout_s), now_s)
        }
    }
}

/// Parses a number; other text is 0.
fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
