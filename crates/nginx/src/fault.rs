//! The boundary that panics do not cross.
//!
//! Every function that nginx calls runs inside [`contain`]: unwinding into C is undefined, and
//! aborting would take the worker's other requests down. What the request then gets is the fail
//! mode's business, see `phase.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::{Mutex, Once, PoisonError};

use nginx_sys::ngx_http_request_t;

use crate::{diagnostic, transaction, worker};

static LAST: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

/// Makes panics remember where they happened instead of printing it.
pub fn install_hook() {
    HOOK.call_once(|| {
        set_hook(Box::new(|panic| {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
        }));
    });
}

/// Runs `work`; `None` if it panicked, which has then been counted and logged.
#[inline]
pub fn contain<T>(what: &str, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => Some(result),
        Err(_) => {
            report(what, &[]);
            None
        }
    }
}

/// As [`contain`], with the id of the request in the message.
///
/// # Safety
/// `r` is a live main request.
#[inline]
pub unsafe fn contain_request<T>(r: *mut ngx_http_request_t, what: &str, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => Some(result),
        Err(_) => {
            // SAFETY: as the caller promises; the panic has ended all other references.
            let id = unsafe { transaction::find(r).map(|inspection| (*inspection).request_id().to_vec()) };
            report(what, &id.unwrap_or_default());
            None
        }
    }
}

#[cold]
fn report(what: &str, request_id: &[u8]) {
    worker::count_fault();
    let panic = std::mem::take(&mut *LAST.lock().unwrap_or_else(PoisonError::into_inner)).replace('\n', " ");
    let id = String::from_utf8_lossy(request_id);
    // SAFETY: a cycle has a log.
    let log = unsafe { (*worker::cycle()).log };
    diagnostic::write(log, diagnostic::Level::Error, format_args!("weir: fault in {what}, request_id {id}: {panic}"));
}
