//! The persistent map for all resources.
//!
//! rpds' hash trie: a clone is one counter, an insertion copies the nodes on the way (four for 10,000 entries). Its
//! hasher has a fixed seed: keys are ids, host names and path segments of the configuration; what clients send is only
//! looked up.

use std::{hash::Hash, rc::Rc};

use foldhash::fast::FixedState;
use rpds::HashTrieMap;

use crate::teardown::Lazily;

/// A persistent map.
pub(crate) type Map<K, V> = HashTrieMap<K, V, Lazily, FixedState>;
/// Resources by id.
pub(crate) type ById<V> = Map<Rc<str>, V>;

/// Children of a node. Copying one touches the counter of each child, so that rpds' 64 make a change of one of 10,000
/// several times as dear as 16 do; 16 make look-ups one level deeper.
const DEGREE: u8 = 16;

/// An empty map.
pub(crate) fn empty<K: Eq + Hash, V>() -> Map<K, V> {
    Map::new_with_hasher_and_degree_and_ptr_kind(FixedState::default(), DEGREE)
}
