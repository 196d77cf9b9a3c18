//! Shared memory for rate limits.
//!
//! nginx shares it among workers and keeps it over reloads as long as its size stays the same.
//! Its slab allocator is not used: the table has a fixed size and lays itself out in the pages
//! behind the slab's header.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use nginx_sys::{ngx_conf_t, ngx_int_t, ngx_shared_memory_add, ngx_shm_zone_t, ngx_slab_pool_t};
use weir_engine::RateTable;

use crate::ffi;
use crate::module::ngx_http_weir_module;

/// `weir_rate_limit_zone` unless configured: some 450,000 keys.
pub const DEFAULT_BYTES: usize = 8 << 20;

/// Smallest size: nginx's slab header and a useful table.
pub const MIN_BYTES: usize = 64 << 10;

/// Asks nginx for the memory.
pub fn add(cf: *mut ngx_conf_t, bytes: usize) -> Result<NonNull<ngx_shm_zone_t>, String> {
    let mut name = ffi::static_str(b"weir_rate_limit");
    // SAFETY: `cf` is being parsed; the name is static.
    unsafe {
        let zone = ngx_shared_memory_add(cf, &raw mut name, bytes, (&raw mut ngx_http_weir_module).cast());
        let zone = NonNull::new(zone).ok_or("\"weir_rate_limit_zone\": cannot be had")?;
        (*zone.as_ptr()).init = Some(init);
        Ok(zone)
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

/// The zone's pages behind the slab header.
unsafe fn words(zone: NonNull<ngx_shm_zone_t>) -> &'static [AtomicU64] {
    /// Two cache lines, as a bucket of the table.
    const ALIGNMENT: usize = 128;
    // SAFETY: nginx begins every zone with a slab pool; start to end are its free pages, which
    // nobody allocates from. Any bits are valid atomics, and the mapping lasts as long as workers.
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
