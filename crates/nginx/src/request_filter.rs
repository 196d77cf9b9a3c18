//! The request-body filter: rules that only detect see a body as it passes.
//!
//! nginx reads, buffers and forwards it as without Weir, `proxy_request_buffering off` included. Rules have seen the body
//! when it is complete or past `weir_body_limit`, and at the latest when the request is logged. Where a rule may refuse the
//! request, the body has to be read first: that is [`crate::body`].

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use nginx_sys::{
    ngx_chain_t, ngx_http_request_body_filter_pt, ngx_http_request_t, ngx_http_top_request_body_filter, ngx_int_t,
};

use crate::configuration::Location;
use crate::next_filter::NextFilter;
use crate::transaction::{self, Body, Inspection};
use crate::{body, buffer, ffi, meter, phase, worker};

static NEXT: NextFilter<ngx_http_request_body_filter_pt> = NextFilter::new(None);

/// What has passed of a body.
pub struct PassedBody {
    bytes: ArenaVec<'static, u8>,
    /// Bytes that have passed in all.
    length: u64,
}

impl PassedBody {
    /// Nothing yet, and no memory for it.
    pub fn new(arena: &'static Bump) -> Self {
        Self { bytes: ArenaVec::new_in(arena), length: 0 }
    }
}

/// Puts the filter before those that are there.
///
/// # Safety
/// Called while the configuration is read.
pub unsafe fn install() {
    // SAFETY: as the caller promises.
    unsafe { NEXT.install(&raw mut ngx_http_top_request_body_filter, Some(filter)) };
}

unsafe extern "C" fn filter(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request; the next filter is there. No reference to the inspection spans a call.
    unsafe {
        if r == (*r).main
            && let Some(inspection) = transaction::find(r)
            && {
                absorb(&mut *inspection, chain);
                (*inspection).body == Body::Passing
            }
            && let refused @ 1.. = look(r, inspection, chain)
        {
            return refused;
        }
        NEXT.get().map_or(ffi::code::OK, |next| next(r, chain))
    }
}

/// Gives signatures the next part of the body, whoever reads it.
unsafe fn absorb(inspection: &mut Inspection, mut chain: *mut ngx_chain_t) {
    if !inspection.outcome.absorbs() {
        return;
    }
    let begun = worker::ticks();
    // SAFETY: the chain ends with null; its buffers are live.
    unsafe {
        while let Some(link) = chain.as_ref() {
            if buffer::in_memory(link.buf) {
                let size = buffer::size(link.buf) as usize;
                inspection.outcome.absorb(std::slice::from_raw_parts((*link.buf).pos, size));
            }
            chain = link.next;
        }
    }
    let spent = worker::ticks().saturating_sub(begun);
    worker::spent(spent);
    inspection.ticks += spent;
}

/// Looks at the next part of the body, and asks the rules when they have enough to see. Returns the status of a refusal
/// after a fault, or `OK`.
unsafe fn look(r: *mut ngx_http_request_t, inspection: *mut Inspection, chain: *mut ngx_chain_t) -> ngx_int_t {
    let begun = worker::ticks();
    // SAFETY: a live request and its chain of buffers, which ends with null.
    unsafe {
        let location = ffi::location_of::<Location>(r);
        let is_last = take(&mut (*inspection).passed, location.body_limit, chain);
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        if is_last || (*inspection).passed.length > location.body_limit as u64 {
            give(&mut *inspection, location, is_last);
            return phase::judge_passed_body(r, location);
        }
        ffi::code::OK
    }
}

/// Copies the bytes of a chain, up to the limit. True if they end the body.
unsafe fn take(passed: &mut PassedBody, limit: usize, mut chain: *mut ngx_chain_t) -> bool {
    // SAFETY: the chain ends with null; its buffers are live.
    unsafe {
        while let Some(link) = chain.as_ref() {
            let size = buffer::size(link.buf);
            let begin = passed.bytes.len();
            let wanted = usize::try_from(size).unwrap_or(usize::MAX).min(limit.saturating_sub(begin));
            passed.bytes.resize(begin + wanted, 0);
            let copied = buffer::copy(link.buf, &mut passed.bytes[begin..]);
            passed.bytes.truncate(begin + copied);
            passed.length += size;
            if (*link.buf).last_buf() != 0 {
                return true;
            }
            chain = link.next;
        }
        false
    }
}

fn give(inspection: &mut Inspection, location: &Location, is_whole: bool) {
    let begun = worker::ticks();
    let bytes = std::mem::replace(&mut inspection.passed.bytes, ArenaVec::new_in(inspection.transaction.arena()));
    let is_read = inspection.placed(location).is_none_or(|placed| placed.plan.reads_body());
    let is_cut = !is_whole || inspection.passed.length > location.body_limit as u64;
    inspection.body_cut = is_cut && !is_read;
    inspection.outcome.body_bytes = inspection.passed.length;
    body::set(inspection, location, bytes.into_bump_slice(), is_cut && is_read);
    meter::book(meter::ModulePart::RequestBody, inspection.timing, begun, true);
}

/// Lets rules see what has passed of a body that did not pass completely, before the request is logged.
///
/// # Safety
/// `r` is a live main request, `inspection` its inspection.
pub unsafe fn finish(r: *mut ngx_http_request_t, inspection: *mut Inspection) {
    // SAFETY: as the caller promises; no reference to the inspection spans a call.
    unsafe {
        if (*inspection).body != Body::Passing {
            return;
        }
        let location = ffi::location_of::<Location>(r);
        stop(&mut *inspection, location);
        if (*inspection).body == Body::Unread {
            phase::judge_without_body(r, location);
        } else {
            phase::judge_passed_body(r, location);
        }
    }
}

/// From here on, the transaction has what has passed, or the body counts as unread if nothing has.
pub fn stop(inspection: &mut Inspection, location: &Location) {
    if inspection.passed.length == 0 {
        inspection.body = Body::Unread;
    } else {
        give(inspection, location, false);
    }
}
