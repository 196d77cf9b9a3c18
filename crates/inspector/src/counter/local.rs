//! Counters in the memory of this process, of a bounded size.
//!
//! Each shard has two generations of keys: those of the current fixed window, and those of the one before. When a window
//! ends, the older generation is dropped as a whole, so nothing has to be swept. Keys beyond the bound share counters by
//! their hash: a client that comes with a million keys may be counted too high, never too low.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::count::{Count, KeyHash, MAX_MEMBERS, Window};

/// Parts of a counter that can be used at once.
const SHARDS: usize = 16;
/// Counters for the keys of a shard beyond its bound.
const SHARED_KEYS: KeyHash = 256;
/// Distinct values of a shard for each of its keys, on average; beyond, new ones replace old ones.
const MEMBERS_PER_KEY: usize = 16;

/// All counters of a detector.
pub(super) struct Local {
    counters: Vec<(Window, Vec<Mutex<Shard>>)>,
}

enum Shard {
    Requests(Generations<u64>),
    Distinct(Generations<Members>, usize),
}

/// Keys of two windows.
struct Generations<V> {
    /// Number of the current window.
    window: u64,
    current: HashMap<KeyHash, V, RandomState>,
    previous: HashMap<KeyHash, V, RandomState>,
    /// Most keys of a generation.
    most: usize,
}

/// Distinct values, each with the time of its last request in ms.
#[derive(Default)]
struct Members(Vec<(u64, u64)>);

impl Local {
    /// Empty counters, each of at most so many keys.
    pub fn new(windows: &[Window], keys: usize) -> Self {
        let most = keys.div_ceil(SHARDS);
        let shard = |window: &Window| match window.is_distinct {
            true => Shard::Distinct(Generations::new(most), 0),
            false => Shard::Requests(Generations::new(most)),
        };
        let shards = |window: &Window| (0..SHARDS).map(|_| Mutex::new(shard(window))).collect();
        Self { counters: windows.iter().map(|window| (*window, shards(window))).collect() }
    }

    /// Counts, and returns how much there is with that.
    pub fn count(&self, count: Count, now_ms: u64) -> u64 {
        let (window, shards) = &self.counters[count.counter];
        let shard = &shards[count.key as usize % SHARDS];
        match &mut *shard.lock().unwrap_or_else(PoisonError::into_inner) {
            Shard::Requests(keys) => keys.add(count.key, now_ms, window.length_ms),
            Shard::Distinct(keys, members) => keys.see(members, count, now_ms, window.length_ms),
        }
    }
}

impl<V: Default> Generations<V> {
    fn new(most: usize) -> Self {
        Self { window: 0, current: HashMap::default(), previous: HashMap::default(), most }
    }

    /// Goes on to the window of that number; what is dropped of it goes to `dropped`.
    fn enter(&mut self, window: u64, dropped: impl Fn(&V)) {
        if window <= self.window {
            return; // clocks may be set back
        }
        let is_next = window == self.window + 1;
        self.previous.values().for_each(&dropped);
        self.previous = std::mem::take(&mut self.current);
        if !is_next {
            self.previous.values().for_each(dropped);
            self.previous = HashMap::default();
        }
        self.window = window;
    }

    /// The key, or one that it shares because there are too many.
    fn settled(&self, key: KeyHash) -> KeyHash {
        if self.current.len() < self.most || self.current.contains_key(&key) { key } else { key % SHARED_KEYS }
    }
}

impl Generations<u64> {
    fn add(&mut self, key: KeyHash, now_ms: u64, length_ms: u64) -> u64 {
        self.enter(now_ms / length_ms, |_| ());
        let key = self.settled(key);
        let current = self.current.entry(key).or_default();
        *current += 1;
        weighted(*current, self.previous.get(&key).copied().unwrap_or_default(), now_ms, length_ms)
    }
}

/// The count of a sliding window from those of two fixed ones.
pub(super) fn weighted(current: u64, previous: u64, now_ms: u64, length_ms: u64) -> u64 {
    let left = length_ms - now_ms % length_ms;
    current + (u128::from(previous) * u128::from(left) / u128::from(length_ms)) as u64
}

impl Generations<Members> {
    fn see(&mut self, stored: &mut usize, count: Count, now_ms: u64, length_ms: u64) -> u64 {
        let gone = std::cell::Cell::new(0);
        self.enter(now_ms / length_ms, |members| gone.set(gone.get() + members.0.len()));
        *stored = stored.saturating_sub(gone.get());
        let key = self.settled(count.key);
        let earlier = self.previous.remove(&key);
        let has_room = *stored < self.most * MEMBERS_PER_KEY;
        let members = self.current.entry(key).or_default();
        members.0.extend(earlier.unwrap_or_default().0);
        let before = members.0.len();
        members.0.retain(|(_, seen_ms)| now_ms.saturating_sub(*seen_ms) < length_ms);
        if let Some(member) = count.member {
            members.see(member, now_ms, has_room);
        }
        *stored = (*stored + members.0.len()).saturating_sub(before);
        members.0.len() as u64
    }
}

impl Members {
    fn see(&mut self, member: u64, now_ms: u64, has_room: bool) {
        if let Some(known) = self.0.iter_mut().find(|(known, _)| *known == member) {
            known.1 = now_ms;
        } else if self.0.is_empty() || (has_room && self.0.len() < MAX_MEMBERS) {
            self.0.push((member, now_ms));
        } else if let Some(oldest) = self.0.iter_mut().min_by_key(|(_, seen_ms)| *seen_ms) {
            *oldest = (member, now_ms);
        }
    }
}
