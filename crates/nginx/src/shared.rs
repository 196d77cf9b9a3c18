//! Shared memory for rate limits, for nonces, and for the collections of rule sets.
//!
//! nginx shares it among workers and keeps it over reloads as long as its size stays the same.
//! Its slab allocator is not used: a table has a fixed size and lays itself out in the pages
//! behind the slab's header.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use nginx_sys::ngx_str_t;
use nginx_sys::{ngx_conf_t, ngx_int_t, ngx_shared_memory_add, ngx_shm_zone_t, ngx_slab_pool_t};
use weir_collections::Table;
use weir_engine::{NonceTable, RateTable};

use crate::ffi;
use crate::module::ngx_http_weir_module;

/// Smallest size: nginx's slab header and a useful table.
pub const MIN_BYTES: usize = 64 << 10;

/// A zone of shared memory: its name in nginx, and the directive that sets its size.
pub struct Zone {
    name: &'static [u8],
    directive: &'static str,
}

/// Rate limits.
pub static RATE_LIMITS: Zone = Zone { name: b"weir_rate_limit", directive: "weir_rate_limit_zone" };
/// Collections of rule sets.
pub static COLLECTIONS: Zone = Zone { name: b"weir_collections", directive: "weir_collections_zone" };

/// Nonces of signed requests.
pub static NONCES: Zone = Zone { name: b"weir_nonces", directive: "weir_nonce_zone" };

/// Asks nginx for the memory.
pub fn add(cf: *mut ngx_conf_t, zone: &'static Zone, bytes: usize) -> Result<NonNull<ngx_shm_zone_t>, String> {
    let mut name: ngx_str_t = ffi::static_str(zone.name);
    // SAFETY: `cf` is being parsed; the name is static.
    unsafe {
        let memory = ngx_shared_memory_add(cf, &raw mut name, bytes, (&raw mut ngx_http_weir_module).cast());
        let memory = NonNull::new(memory).ok_or_else(|| format!("\"{}\": cannot be had", zone.directive))?;
        (*memory.as_ptr()).init = Some(init);
        Ok(memory)
    }
}

/// nginx has mapped the memory. Zeros are what the table begins with, and what the system gives;
/// only a build of nginx for debugging memory fills it otherwise.
unsafe extern "C" fn init(zone: *mut ngx_shm_zone_t, old: *mut c_void) -> ngx_int_t {
    // SAFETY: a mapped zone.
    unsafe {
        if old.is_null()
            && (*zone).shm.exists == 0
            && let Some(words) = NonNull::new(zone).map(|zone| words(zone))
        {
            let used = words.iter().take(64).any(|word| word.load(std::sync::atomic::Ordering::Relaxed) != 0);
            if used {
                words.iter().for_each(|word| word.store(0, std::sync::atomic::Ordering::Relaxed));
            }
        }
        (*zone).data = zone.cast(); // not null: this memory has been ours before
    }
    ffi::code::OK
}

/// The table in a mapped zone.
pub fn table(zone: NonNull<ngx_shm_zone_t>) -> Option<RateTable<'static>> {
    // SAFETY: workers run after nginx has mapped all zones.
    let words = unsafe { words(zone) };
    (words.len() >= 2 * 16).then(|| RateTable::new(words))
}

/// The table of nonces in a mapped zone.
pub fn nonces(zone: NonNull<ngx_shm_zone_t>) -> Option<NonceTable<'static>> {
    // SAFETY: as for `table`.
    NonceTable::new(unsafe { words(zone) })
}

/// The table of collections in a mapped zone.
pub fn collections(zone: NonNull<ngx_shm_zone_t>) -> Option<Table<'static>> {
    // SAFETY: as for `table`.
    Table::new(unsafe { words(zone) })
}

/// The zone's pages behind the slab header.
unsafe fn words(zone: NonNull<ngx_shm_zone_t>) -> &'static [AtomicU64] {
    /// Two cache lines, as a bucket of the table.
    const ALIGNMENT: usize = 128;
    // SAFETY: nginx begins every zone with a slab pool; start to end are its free pages, which
    // nothing allocates from. Any bits are valid atomics, and the mapping lasts as long as workers.
    unsafe {
        let pool = (*zone.as_ptr()).shm.addr.cast::<ngx_slab_pool_t>();
        if pool.is_null() {
            return &[];
        }
        let start = (*pool).start.add((*pool).start.align_offset(ALIGNMENT));
        let bytes = (*pool).end.offset_from(start).max(0) as usize;
        std::slice::from_raw_parts(start.cast::<AtomicU64>(), bytes / size_of::<AtomicU64>())
    }
}
