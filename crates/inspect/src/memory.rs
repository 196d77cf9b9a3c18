//! Answers that are remembered by a key for a while, in bounded memory.
//!
//! Two generations of a map: what is found in the old one is young again, and when the young one is full it becomes the
//! old one. So the memory forgets what has not been asked for, in constant time and without a list.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Answer, OwnedField};

/// Answers in one generation; twice as many are remembered at most.
const GENERATION: usize = 4096;
/// Longest key that is remembered.
pub const MAX_KEY_BYTES: usize = 1024;
/// Largest response that is remembered.
const MAX_ANSWER_BYTES: usize = 16 << 10;

type Generation = HashMap<Box<[u8]>, (u64, Arc<Answer>)>;

/// The answers of one inspector.
#[derive(Debug, Default)]
pub struct Memory {
    young: Generation,
    old: Generation,
}

impl Memory {
    /// The answer for a key, unless its time is over.
    pub fn find(&mut self, key: &[u8], now_ms: u64) -> Option<Arc<Answer>> {
        if key.is_empty() {
            return None; // usual: answers are not remembered, or the request has no key
        }
        if let Some((until_ms, answer)) = self.young.get(key) {
            return (now_ms < *until_ms).then(|| Arc::clone(answer));
        }
        let (until_ms, answer) = self.old.remove(key)?;
        if now_ms >= until_ms {
            return None;
        }
        self.keep(key, until_ms, Arc::clone(&answer));
        Some(answer)
    }

    /// Remembers an answer until then, unless it sets a cookie: that is one client's, and others may have the same key.
    pub fn put(&mut self, key: &[u8], until_ms: u64, answer: &Arc<Answer>) {
        let sets_cookie = |(name, _): &OwnedField| name.eq_ignore_ascii_case(b"set-cookie");
        if key.is_empty() || answer.response_headers.iter().any(sets_cookie) {
            return;
        }
        let fields = answer.response_headers.iter().chain(&answer.set_headers);
        let bytes = answer.body.len() + fields.map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if key.len() <= MAX_KEY_BYTES && bytes <= MAX_ANSWER_BYTES {
            self.keep(key, until_ms, Arc::clone(answer));
        }
    }

    fn keep(&mut self, key: &[u8], until_ms: u64, answer: Arc<Answer>) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key.into(), (until_ms, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_remembered_for_their_time_and_in_bounded_memory() {
        let mut memory = Memory::default();
        let answer = Arc::new(Answer { score: 7, ..Answer::default() });
        memory.put(b"a", 100, &answer);
        memory.put(b"", 100, &answer);
        assert_eq!(memory.find(b"a", 99).map(|found| found.score), Some(7));
        assert!(memory.find(b"a", 100).is_none() && memory.find(b"", 50).is_none() && memory.find(b"b", 50).is_none());
        for n in 0..20_000_u32 {
            memory.put(&n.to_be_bytes(), 1000, &answer);
            assert!(memory.find(&0_u32.to_be_bytes(), 500).is_some(), "what is asked for stays ({n})");
        }
        assert!(memory.young.len() + memory.old.len() <= 2 * GENERATION);
        assert!(memory.find(&1_u32.to_be_bytes(), 500).is_none());
        memory.put(&[0; MAX_KEY_BYTES + 1], 1000, &answer);
        let large = Arc::new(Answer { body: vec![0; MAX_ANSWER_BYTES + 1], ..Answer::default() });
        memory.put(b"large", 1000, &large);
        assert!(memory.find(b"large", 500).is_none());
        let response_headers = vec![(b"set-COOKIE".to_vec(), b"session=ada".to_vec())];
        memory.put(b"cookie", 1000, &Arc::new(Answer { response_headers, ..Answer::default() }));
        assert!(memory.find(b"cookie", 500).is_none(), "a cookie is one client's");
    }
}
