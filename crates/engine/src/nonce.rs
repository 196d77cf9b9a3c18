//! Nonces that have been seen, exact across workers, in shared memory of a fixed size.
//!
//! A nonce that is still valid is never given up: a table that is full says so. Entries are a keyed 96-bit hash and the
//! second of expiry, in buckets of 31 behind a lock word; a nonce has two buckets and goes into the emptier one, so that
//! the first insertion fails when some 94 % of the table are in use (measured below). What has expired is overwritten
//! where it lies, so there is nothing to sweep. The alternative, open addressing, would need rebuilding as entries expire.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::lock::Hold;
use crate::rate::shared_secret;

/// Words in a bucket: the lock, one to spare, then 31 pairs.
const BUCKET_WORDS: usize = 64;
const ENTRIES: usize = 31;

/// Words of the head: the start of the table, then the secret.
const SECRET: std::ops::Range<usize> = 1..5;

/// The table. The memory's first bucket holds when it began and the key of its hash.
pub struct NonceTable<'m> {
    memory: &'m [AtomicU64],
    buckets: usize,
    secret: [u8; 32],
}

/// The answer for one nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// It has not been seen, and will be remembered.
    New,
    /// It has been seen.
    Known,
    /// It has not been seen, and there is no room to remember it.
    Full,
    /// It may have been seen by a table that is lost.
    Lost,
}

impl<'m> NonceTable<'m> {
    /// Bytes of memory for at least `nonces` nonces at once.
    #[must_use]
    pub const fn bytes_for(nonces: usize) -> usize {
        ((nonces + nonces / 8).div_ceil(ENTRIES) + 3) * BUCKET_WORDS * 8
    }

    /// A table in `memory`, which is zero at first, and shared by all who use it; `None` if it has no room.
    #[must_use]
    pub fn new(memory: &'m [AtomicU64]) -> Option<Self> {
        let buckets = (memory.len() / BUCKET_WORDS).checked_sub(1).filter(|buckets| *buckets >= 2)?;
        Some(Self { memory, buckets, secret: shared_secret(&memory[SECRET]) })
    }

    /// Number of nonces that fit if they spread evenly.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buckets * ENTRIES
    }

    /// When the table began, in milliseconds since the Unix epoch: when this was first asked.
    #[must_use]
    pub fn started_ms(&self, now_ms: u64) -> u64 {
        let now_ms = now_ms.max(1);
        match self.memory[0].compare_exchange(0, now_ms, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => now_ms,
            Err(started_ms) => started_ms,
        }
    }

    /// Remembers a nonce of a scope, such as a credential, until `expires_ms`, unless it is known. Times are milliseconds
    /// since the Unix epoch. Of concurrent calls with the same nonce, in whatever process, exactly one gets
    /// [`Remembered::New`].
    #[must_use]
    pub fn remember(&self, scope: &[&[u8]], nonce: &[u8], expires_ms: u64, now_ms: u64) -> Remembered {
        let hash = self.hash(scope, nonce);
        let word = |at: usize| u64::from_le_bytes(hash[at..at + 8].try_into().expect("eight bytes"));
        let (first, second) = (self.bucket(word(0)), self.bucket(word(8)));
        // In this order everywhere, so that nobody waits in a circle.
        let (low, high) = (first.min(second), first.max(second));
        let _low = Hold::on(&self.words(low)[0]);
        let _high = (low != high).then(|| Hold::on(&self.words(high)[0]));
        let now = seconds(now_ms);
        // Expiry is the lower half of the second word; 96 bits identify the nonce.
        let (mark, half) = (word(16), word(24) & !u64::from(u32::MAX));
        let mut free: [(usize, Option<usize>); 2] = [(0, None); 2];
        for (of, bucket) in free.iter_mut().zip([low, high]) {
            let words = self.words(bucket);
            for entry in 0..ENTRIES {
                let (key, rest) = (&words[2 + 2 * entry], words[3 + 2 * entry].load(Ordering::Relaxed));
                if rest as u32 <= now {
                    *of = (of.0 + 1, of.1.or(Some(entry)));
                } else if key.load(Ordering::Relaxed) == mark && rest & !u64::from(u32::MAX) == half {
                    return Remembered::Known;
                }
            }
        }
        let (bucket, entry) = match free {
            [(a, Some(entry)), (b, _)] if a >= b => (low, entry),
            [_, (_, Some(entry))] => (high, entry),
            _ => return Remembered::Full,
        };
        let words = self.words(bucket);
        words[2 + 2 * entry].store(mark, Ordering::Relaxed);
        // Rounded up: it is remembered for at least as long as it is valid.
        let expiry = seconds(expires_ms.saturating_add(1999)).max(now + 1);
        words[3 + 2 * entry].store(half | u64::from(expiry), Ordering::Relaxed);
        Remembered::New
    }

    fn hash(&self, scope: &[&[u8]], nonce: &[u8]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.secret);
        for part in scope.iter().chain([&nonce]) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().into()
    }

    fn bucket(&self, hash: u64) -> usize {
        1 + ((u128::from(hash) * self.buckets as u128) >> 64) as usize
    }

    fn words(&self, bucket: usize) -> &'m [AtomicU64] {
        &self.memory[bucket * BUCKET_WORDS..(bucket + 1) * BUCKET_WORDS]
    }
}

/// Seconds since the Unix epoch, which fit until 2106.
fn seconds(ms: u64) -> u32 {
    u32::try_from(ms / 1000).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(nonces: usize) -> Vec<AtomicU64> {
        (0..NonceTable::bytes_for(nonces) / 8).map(|_| AtomicU64::new(0)).collect()
    }

    const NOW: u64 = 1_800_000_000_000;

    #[test]
    fn a_nonce_is_new_once_for_each_scope_until_it_expires() {
        let memory = memory(100);
        let table = NonceTable::new(&memory).unwrap();
        let ask = |scope: &[u8], nonce: &[u8], now_ms| table.remember(&[scope], nonce, NOW + 60_000, now_ms);
        assert_eq!(ask(b"a", b"1", NOW), Remembered::New);
        assert_eq!(ask(b"a", b"1", NOW + 1), Remembered::Known);
        assert_eq!(ask(b"b", b"1", NOW), Remembered::New, "another scope");
        assert_eq!(ask(b"a", b"1", NOW + 60_000), Remembered::Known, "still valid");
        assert_eq!(ask(b"a", b"1", NOW + 62_001), Remembered::New, "expired");
        assert_eq!(table.remember(&[b"ab", b"c"], b"d", NOW, NOW), Remembered::New);
        assert_eq!(table.remember(&[b"a", b"bc"], b"d", NOW, NOW), Remembered::New, "parts do not run together");
    }

    #[test]
    fn a_full_table_gives_up_nothing_that_is_valid_and_fills_to_nine_tenths() {
        let memory = memory(20_000);
        let table = NonceTable::new(&memory).unwrap();
        let ask = |n: u32, now_ms| table.remember(&[], &n.to_le_bytes(), NOW + 300_000, now_ms);
        let filled = (0..).find(|n| ask(*n, NOW) == Remembered::Full).unwrap();
        assert!(filled as usize >= 20_000, "{filled} of {}", table.capacity());
        assert!((0..filled).all(|n| ask(n, NOW + 1000) == Remembered::Known));
        assert!((0..20_000).all(|n| ask(n, NOW + 302_000) == Remembered::New), "what has expired makes room");
    }

    #[test]
    fn of_concurrent_duplicates_exactly_one_is_new() {
        let memory = memory(4000);
        let table = NonceTable::new(&memory).unwrap();
        let new = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..2000u32 {
                        let answer = table.remember(&[b"c"], &n.to_le_bytes(), NOW + 1000, NOW);
                        new.fetch_add(usize::from(answer == Remembered::New), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(new.into_inner(), 2000);
    }
}
