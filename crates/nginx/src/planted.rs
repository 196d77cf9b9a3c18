//! Faults on purpose, in the build for AddressSanitizer alone: what it must report. A build that reused memory of a
//! request without AddressSanitizer's knowledge would hide such faults, and `make asan` would find nothing.

use std::cell::Cell;

use nginx_sys::{ngx_http_request_t, ngx_palloc};

use crate::transaction::Inspection;

/// Whose memory is read after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The pool of a request.
    Pool,
    /// The arena of its inspection.
    Arena,
}

struct Left(Cell<*const u8>);

// SAFETY: one thread per process ever touches it, as all of a worker's state.
unsafe impl Sync for Left {}

static LEFT: Left = Left(Cell::new(std::ptr::null()));

/// Keeps a pointer to memory of a request, and reads it with the next request, when that memory has gone.
///
/// # Safety
/// `r` is a live request. Reading freed memory is what this is for.
pub unsafe fn read_after_end(r: *mut ngx_http_request_t, inspection: &Inspection, memory: Memory) {
    // SAFETY: as the caller promises.
    unsafe {
        let left = LEFT.0.get();
        if !left.is_null() {
            left.read_volatile();
        }
        LEFT.0.set(match memory {
            Memory::Pool => ngx_palloc((*r).pool, 1).cast(),
            Memory::Arena => inspection.transaction.arena().alloc(0),
        });
    }
}
