//! A set of byte strings, a million of them in little more than their own bytes.
//!
//! All strings lie in one block; the hash table holds 4-byte references into it. A
//! `HashSet<Box<[u8]>>` would take an allocation and 16 bytes more for each. The block can be the mapped content of a
//! file: a million strings of 26 bytes then take 14 MB of each worker's memory instead of 40.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;

/// Bytes in which strings lie, such as a mapped file. They must never change.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Immutable set of byte strings, compared whole, case counts.
#[derive(Clone, Debug, Default)]
pub struct StringSet {
    block: Block,
    /// Where each string begins, and its length.
    places: Vec<(u32, u32)>,
    table: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Clone)]
enum Block {
    Own(Vec<u8>),
    Shared(SharedBytes),
}

impl Default for Block {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes", self.bytes().len())
    }
}

impl Block {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => (**bytes).as_ref(),
        }
    }
}

impl StringSet {
    /// A set of `strings`; duplicates count once. At most 4 GiB of bytes in all: what comes
    /// after that is left out, so callers bound their input first.
    #[must_use]
    pub fn from_strings(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let (mut block, mut places) = (Vec::new(), Vec::new());
        for string in strings {
            if block.len() + string.len() > u32::MAX as usize {
                break;
            }
            places.push((block.len() as u32, string.len() as u32));
            block.extend_from_slice(&string);
        }
        block.shrink_to_fit();
        Self::new(Block::Own(block), places)
    }

    /// A set of strings that lie in `block`: where each begins, and its length. Duplicates count once.
    ///
    /// # Panics
    /// If a place is not within the block.
    #[must_use]
    pub fn within(block: SharedBytes, places: Vec<(u32, u32)>) -> Self {
        Self::new(Block::Shared(block), places)
    }

    fn new(block: Block, places: Vec<(u32, u32)>) -> Self {
        let mut set = Self { places: Vec::with_capacity(places.len()), block, ..Self::default() };
        set.table.reserve(places.len(), |_| 0);
        let bytes = set.block.bytes();
        for place in places {
            let string = string_at(bytes, place);
            let hash = set.hasher.hash_one(string);
            let (known, hasher) = (&set.places, &set.hasher);
            if set.table.find(hash, |index| string_at(bytes, known[*index as usize]) == string).is_none() {
                let index = set.places.len() as u32;
                set.table.insert_unique(hash, index, |index| hasher.hash_one(string_at(bytes, known[*index as usize])));
                set.places.push(place);
            }
        }
        set.places.shrink_to_fit();
        set
    }

    /// Whether `string` is in the set.
    #[must_use]
    pub fn contains(&self, string: &[u8]) -> bool {
        let (bytes, hash) = (self.block.bytes(), self.hasher.hash_one(string));
        self.table.find(hash, |index| string_at(bytes, self.places[*index as usize]) == string).is_some()
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn string_at(bytes: &[u8], (start, length): (u32, u32)) -> &[u8] {
    &bytes[start as usize..][..length as usize]
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
    fn strings_may_lie_in_shared_bytes() {
        let set = StringSet::within(Arc::new(b"# c\ncurl\nwget\ncurl\n".to_vec()), vec![(4, 4), (9, 4), (14, 4)]);
        assert_eq!((set.len(), set.contains(b"wget"), set.contains(b"# c")), (2, true, false));
    }

    #[test]
    fn holds_a_hundred_thousand() {
        let set = StringSet::from_strings((0..100_000).map(|i| format!("host-{i}.example").into_bytes()));
        assert!((0..100_000).all(|i| set.contains(format!("host-{i}.example").as_bytes())));
        assert!(!set.contains(b"host-100000.example"));
    }
}
