//! Memory for what rules remember from one request to the next: rate limits, nonces, persistent collections.
//!
//! The engine's tables are made for memory that processes share. Here threads share it; it belongs to the process for as
//! long as that runs, because a reload must not forget who is over a limit.

use std::sync::atomic::AtomicU64;

use weir_collections::Table;
use weir_engine::{NonceTable, RateTable};

/// Keys of rate limits.
const RATE_KEYS: usize = 100_000;
/// Nonces at once.
const NONCES: usize = 100_000;
/// Bytes for persistent collections.
const COLLECTION_BYTES: usize = 8 << 20;

/// The tables of one detector.
pub(super) struct Tables {
    pub limits: RateTable<'static>,
    pub nonces: Option<NonceTable<'static>>,
    pub collections: Option<Table<'static>>,
}

impl Tables {
    /// Empty tables.
    pub fn new() -> Self {
        Self {
            limits: RateTable::new(memory(RateTable::bytes_for(RATE_KEYS))),
            nonces: NonceTable::new(memory(NonceTable::bytes_for(NONCES))),
            collections: Table::new(memory(COLLECTION_BYTES)),
        }
    }
}

/// Memory of zeros, for as long as the process runs.
fn memory(bytes: usize) -> &'static [AtomicU64] {
    (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak()
}
