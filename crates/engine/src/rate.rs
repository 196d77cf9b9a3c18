//! Rate limits that are exact across workers, in shared memory of a fixed size.
//!
//! The algorithm is GCRA (ITU-T I.371): one number per key, the theoretical arrival time. The
//! table is set-associative: a key lives in one bucket of seven, behind a lock word that holds
//! the process id of its owner, so that a worker killed inside leaves nothing locked for long. A
//! full bucket gives up its entry that is closest to being forgotten anyway: memory is bounded,
//! and what an attacker with many keys can push out is the least used. A lock-free table was the
//! alternative; it cannot both evict and stay exact without a second word to compare-and-swap.

mod key;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

use crate::lock::Hold;

pub(crate) use key::{KeyKind, RateKey};

/// Words in a bucket: the lock, then seven of key and arrival time, one to spare; two cache lines.
const BUCKET_WORDS: usize = 16;
const ENTRIES: usize = 7;

/// The table. The memory's first bucket holds the hash seed and the secret.
pub struct RateTable<'m> {
    memory: &'m [AtomicU64],
    buckets: usize,
    hasher: SeedableRandomState,
    /// Hides credentials in logs: the same in all processes that share the memory, and lost with it.
    secret: [u8; 32],
}

/// The limit to hold a key to.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Requests per period, at least 1.
    pub requests: u64,
    /// The period in milliseconds, at least 1.
    pub period_ms: u64,
    /// Requests that may come at once beyond the first.
    pub burst: u64,
}

/// The answer for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Within the limit; this many more may come now.
    Allowed {
        /// Requests left at this moment.
        remaining: u64,
    },
    /// Over the limit.
    Refused {
        /// When one more will be allowed, in milliseconds from now, at least 1.
        retry_after_ms: u64,
    },
}

impl<'m> RateTable<'m> {
    /// Bytes of memory for at least `keys` keys.
    #[must_use]
    pub const fn bytes_for(keys: usize) -> usize {
        (keys.div_ceil(ENTRIES) + 1) * BUCKET_WORDS * 8
    }

    /// A table in `memory`, which is zero at first, shared by all who use it, and at least two
    /// buckets long (256 bytes).
    #[must_use]
    pub fn new(memory: &'m [AtomicU64]) -> Self {
        assert!(memory.len() >= 2 * BUCKET_WORDS, "a rate table needs room for a bucket");
        let fresh = foldhash::quality::RandomState::default().hash_one(0u8) | 1;
        let seed = match memory[0].compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => theirs,
        };
        // The shared seed only scrambles further, and must be the same in all processes.
        let hasher = SeedableRandomState::with_seed(seed, SharedSeed::global_fixed());
        Self { memory, buckets: memory.len() / BUCKET_WORDS - 1, hasher, secret: shared_secret(&memory[1..5]) }
    }

    /// The secret under which credentials are hashed for logs.
    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Number of keys that fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buckets * ENTRIES
    }

    /// Counts one request of `key` under the limit known as `limit` at `now_ms` (any clock that all
    /// workers share). The memory outlives policies, so `limit` is a hash of what the limit is
    /// called ([`limit_identity`]): a number would be another limit's in the next policy.
    #[must_use]
    pub fn take(&self, limit: u64, key: &[u8], pace: Pace, now_ms: u64) -> Take {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(limit);
        hasher.write(key);
        // Two keys that share all 64 bits share a limit; with a secret seed an attacker cannot aim for it.
        let hash = hasher.finish() | 1;
        let bucket = 1 + ((u128::from(hash) * self.buckets as u128) >> 64) as usize;
        let words = &self.memory[bucket * BUCKET_WORDS..(bucket + 1) * BUCKET_WORDS];
        let _hold = Hold::on(&words[0]);
        let now = now_ms.saturating_mul(1_000_000);
        let entry = entry_for(words, hash);
        let arrival = entry.load(Ordering::Relaxed).max(now);
        let interval = (pace.period_ms.saturating_mul(1_000_000) / pace.requests.max(1)).max(1);
        let tolerance = interval.saturating_mul(pace.burst);
        let ahead = arrival - now;
        if ahead > tolerance {
            return Take::Refused { retry_after_ms: (ahead - tolerance).div_ceil(1_000_000).max(1) };
        }
        entry.store(arrival.saturating_add(interval), Ordering::Relaxed);
        Take::Allowed { remaining: (tolerance - ahead) / interval }
    }
}

/// The secret in four words of the memory: each is made by the process that finds it missing first.
pub(crate) fn shared_secret(words: &[AtomicU64]) -> [u8; 32] {
    // Keyed with random numbers of the system.
    let random = RandomState::new();
    let mut secret = [0; 32];
    for ((number, word), bytes) in words.iter().enumerate().zip(secret.chunks_exact_mut(8)) {
        let fresh = random.hash_one(number) | 1;
        let known = word.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire);
        bytes.copy_from_slice(&known.err().unwrap_or(fresh).to_le_bytes());
    }
    secret
}

/// What a limit is known by in all processes and all policies that have it: FNV-1a (64 bits) of its
/// policy, its rule, and its place among the rule's actions.
pub(crate) fn limit_identity(policy: &str, rule: &str, place: usize) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let names = policy.bytes().chain([0]).chain(rule.bytes()).chain([0]);
    names.chain(place.to_le_bytes()).fold(BASIS, step)
}

/// The arrival time of `hash`: its own, a free one, or that of the entry soonest forgotten.
fn entry_for(words: &[AtomicU64], hash: u64) -> &AtomicU64 {
    let (mut victim, mut soonest) = (0, u64::MAX);
    for entry in 0..ENTRIES {
        let key = words[1 + 2 * entry].load(Ordering::Relaxed);
        if key == hash {
            return &words[2 + 2 * entry];
        }
        let arrival = if key == 0 { 0 } else { words[2 + 2 * entry].load(Ordering::Relaxed) };
        if arrival < soonest {
            (victim, soonest) = (entry, arrival);
        }
    }
    words[1 + 2 * victim].store(hash, Ordering::Relaxed);
    words[2 + 2 * victim].store(0, Ordering::Relaxed);
    &words[2 + 2 * victim]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn memory(keys: usize) -> Vec<AtomicU64> {
        (0..RateTable::bytes_for(keys) / 8).map(|_| AtomicU64::new(0)).collect()
    }

    const PACE: Pace = Pace { requests: 10, period_ms: 1000, burst: 9 };

    #[test]
    fn a_bucket_of_ten_gives_ten_and_then_one_every_tenth_of_a_second() {
        let memory = memory(100);
        let table = RateTable::new(&memory);
        for left in (0..10).rev() {
            assert_eq!(table.take(0, b"a", PACE, 1000), Take::Allowed { remaining: left });
        }
        assert_eq!(table.take(0, b"a", PACE, 1000), Take::Refused { retry_after_ms: 100 });
        assert_eq!(table.take(0, b"a", PACE, 1099), Take::Refused { retry_after_ms: 1 });
        assert_eq!(table.take(0, b"a", PACE, 1100), Take::Allowed { remaining: 0 });
        assert!(matches!(table.take(0, b"b", PACE, 1000), Take::Allowed { .. }), "another key");
        assert!(matches!(table.take(1, b"a", PACE, 1000), Take::Allowed { .. }), "another limit");
    }

    #[test]
    fn processes_share_a_secret_and_another_memory_has_another() {
        let (one, other) = (memory(7), memory(7));
        assert_eq!(RateTable::new(&one).secret(), RateTable::new(&one).secret());
        assert_ne!(RateTable::new(&one).secret(), RateTable::new(&other).secret());
    }

    #[test]
    fn a_limit_keeps_its_identity_only_by_name() {
        let identity = limit_identity("p", "r", 0);
        assert_eq!(identity, limit_identity("p", "r", 0));
        for (policy, rule, place) in [("p", "r", 1), ("p", "s", 0), ("q", "r", 0), ("", "pr", 0), ("pr", "", 0)] {
            assert_ne!(identity, limit_identity(policy, rule, place), "{policy} {rule} {place}");
        }
    }

    #[test]
    fn is_exact_across_threads() {
        let memory = memory(100);
        let allowed = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let table = RateTable::new(&memory);
                    let pace = Pace { requests: 1, period_ms: 3_600_000, burst: 999 };
                    for _ in 0..1000 {
                        if let Take::Allowed { .. } = table.take(7, b"key", pace, 1) {
                            allowed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(allowed.into_inner(), 1000);
    }

    #[test]
    fn a_full_table_forgets_the_idle_and_keeps_the_busy() {
        let memory = memory(7);
        let table = RateTable::new(&memory);
        let slow = Pace { requests: 1, period_ms: 60_000, burst: 2 };
        for _ in 0..3 {
            let _ = table.take(0, b"busy", slow, 1000);
        }
        for key in 0..1000u32 {
            assert!(matches!(table.take(0, &key.to_le_bytes(), slow, 1000), Take::Allowed { .. }));
        }
        assert!(matches!(table.take(0, b"busy", slow, 1000), Take::Refused { .. }));
    }

    #[test]
    fn a_lock_left_by_a_dead_process_is_taken_over() {
        let memory = memory(7);
        let table = RateTable::new(&memory);
        let dead = u64::from(
            std::process::Command::new("true")
                .spawn()
                .and_then(|mut child| {
                    let id = child.id();
                    child.wait()?;
                    Ok(id)
                })
                .unwrap(),
        );
        memory[BUCKET_WORDS].store(dead, Ordering::Relaxed);
        assert!(matches!(table.take(0, b"a", PACE, 1), Take::Allowed { .. }));
    }
}
