//! Banned clients, for rules that read `ip.ban`: the table that control writes. The master maps it before it forks, so
//! workers need no permission for the file, and cannot write it.

use std::net::IpAddr;
use std::path::Path;

use weir_bans::{BansError, Reader, Remedy};
use weir_engine::Bans;

/// The table of the runtime directory.
pub struct Table(Reader);

impl Table {
    /// Opens the table, or makes an empty one, which control will write.
    pub fn open(dir: &Path) -> Result<Self, BansError> {
        Reader::open(dir).map(Self)
    }
}

impl Bans for Table {
    fn remedy(&self, address: IpAddr, now_ms: u64) -> &'static str {
        self.0.lookup(address, now_ms / 1_000).map_or("", Remedy::as_str)
    }
}
