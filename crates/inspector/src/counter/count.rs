//! What is counted, as hashes and numbers.

/// Most distinct values that are told apart under one key; what comes beyond replaces the oldest.
pub const MAX_MEMBERS: usize = 1024;

/// A hash of a key, the same in all services: SHA-256, the first half.
pub(crate) type KeyHash = u128;

/// What a question adds to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// Number of the counter.
    pub counter: usize,
    /// What it is counted by.
    pub key: KeyHash,
    /// Of a counter of distinct values: the value. If it has none, nothing is added.
    pub member: Option<u64>,
}

/// The window of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub length_ms: u64,
    /// Whether distinct values are counted.
    pub is_distinct: bool,
}
