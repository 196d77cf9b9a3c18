//! A set of byte strings, a million of them in little more than their own bytes.
//!
//! All strings lie in one block; the hash table holds 4-byte references into it. A
//! `HashSet<Box<[u8]>>` would take an allocation and 16 bytes more for each.

use std::hash::BuildHasher;

use hashbrown::HashTable;

/// Immutable set of byte strings, compared whole, case counts.
#[derive(Clone, Default)]
pub struct StringSet {
    bytes: Vec<u8>,
    /// `ends[i]` is where string i ends in `bytes`; it begins where the one before it ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl StringSet {
    /// A set of `strings`; duplicates count once. At most 4 GiB of bytes in all: what comes
    /// after that is left out, so callers bound their input first.
    #[must_use]
    pub fn from_strings(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut set = Self::default();
        for string in strings {
            set.insert(&string);
        }
        set.bytes.shrink_to_fit();
        set.ends.shrink_to_fit();
        set
    }

    fn insert(&mut self, string: &[u8]) {
        if self.contains(string) || self.bytes.len() + string.len() > u32::MAX as usize {
            return;
        }
        let index = self.ends.len() as u32;
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len() as u32);
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        let hash = hasher.hash_one(string);
        self.table.insert_unique(hash, index, |index| hasher.hash_one(string_at(bytes, ends, *index)));
    }

    /// Whether `string` is in the set.
    #[must_use]
    pub fn contains(&self, string: &[u8]) -> bool {
        let hash = self.hasher.hash_one(string);
        self.table.find(hash, |index| string_at(&self.bytes, &self.ends, *index) == string).is_some()
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn string_at<'b>(bytes: &'b [u8], ends: &[u32], index: u32) -> &'b [u8] {
    let index = index as usize;
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    &bytes[start..ends[index] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_exactly_its_strings() {
        let set = StringSet::from_strings([b"curl".to_vec(), b"wget".to_vec(), b"curl".to_vec(), Vec::new()]);
        assert_eq!(set.len(), 3);
        for (string, expected) in
            [(&b"curl"[..], true), (b"wget", true), (b"", true), (b"Curl", false), (b"cur", false)]
        {
            assert_eq!(set.contains(string), expected);
        }
        assert!(!StringSet::default().contains(b""));
    }

    #[test]
    fn holds_a_hundred_thousand() {
        let set = StringSet::from_strings((0..100_000).map(|i| format!("host-{i}.example").into_bytes()));
        assert!((0..100_000).all(|i| set.contains(format!("host-{i}.example").as_bytes())));
        assert!(!set.contains(b"host-100000.example"));
    }
}
