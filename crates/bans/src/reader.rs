//! Looking a client up: what workers do.

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

use crate::area::Area;
use crate::entry::{self, Remedy};
use crate::error::BansError;
use crate::file::{self, Map};
use crate::layout::{ATTEMPTS, CURRENT};

/// The table, for reading. Processes that are forked later can use it too.
pub struct Reader {
    map: Map,
}

impl Reader {
    /// Opens the table of a runtime directory, and makes an empty one if there is none.
    ///
    /// # Errors
    /// If it cannot be made or mapped, or is of another version.
    pub fn open(dir: &Path) -> Result<Self, BansError> {
        let (_, map) = file::open(&file::path(dir), false)?;
        Ok(Self { map })
    }

    /// What is to be done with requests of an address: the remedy of the most specific network that is banned. Takes no
    /// lock, allocates nothing and calls nobody.
    #[must_use]
    pub fn lookup(&self, address: IpAddr, now_s: u64) -> Option<Remedy> {
        let words = self.map.words();
        let mut found = None;
        for _ in 0..ATTEMPTS {
            let table = words[CURRENT].load(Acquire);
            if table == 0 {
                return None;
            }
            found = Area::of(words, table).lookup(address, now_s);
            // The half is written anew only when it is not the current one any more.
            fence(Acquire);
            if words[CURRENT].load(Relaxed) == table {
                break;
            }
        }
        entry::remedy_of(found?)
    }
}
