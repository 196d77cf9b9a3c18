//! Persistent collections (`IP`, `GLOBAL`, `SESSION`, ...): what rules remember from one request to
//! the next. Where they live is the caller's business; in nginx it is memory that workers share.

use weir_rules::seclang::ir::Collection;

/// Memory of persistent collections. A record is chosen by collection and key (such as the
/// client's address); it has named members, each a byte string with its own expiry.
pub trait Collections {
    /// Calls `each` with name and value of every live member of a record.
    fn read(&self, collection: Collection, key: &[u8], now_s: u64, each: &mut dyn FnMut(&[u8], &[u8]));

    /// Changes one member, atomically for all workers. `false` if there was no room, which the
    /// implementation counts and reports.
    fn change(&self, collection: Collection, key: &[u8], name: &[u8], change: StoredChange<'_>, now_s: u64) -> bool;
}

/// A change of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredChange<'a> {
    /// Set to this; expires after `timeout_s` seconds without another change.
    Set {
        /// The new value.
        value: &'a [u8],
        /// Seconds that it lives.
        timeout_s: u64,
    },
    /// The number that it holds plus this (texts that are not numbers count as 0).
    Add {
        /// The number to add.
        delta: i64,
        /// Seconds that it lives.
        timeout_s: u64,
    },
    /// Gone.
    Unset,
    /// Expires this many seconds from now, if it exists.
    Expire {
        /// Seconds.
        after_s: u64,
    },
}
