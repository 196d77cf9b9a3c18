//! Hash tables give memory back; those of the standard library keep all that they ever took.

use std::collections::HashMap;
use std::hash::Hash;

/// Below this capacity nothing is given back: the work would repeat at every change.
const MIN_CAPACITY: usize = 16;

/// Halves a table that is less than a quarter full. The work is paid for by the removals since it was half full.
pub fn shrink<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > MIN_CAPACITY && table.len() < table.capacity() / 4 {
        table.shrink_to(table.len() * 2);
    }
}
