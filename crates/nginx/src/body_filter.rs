//! The body filter: holds a response back until the rules that look at its body have seen it.
//!
//! The header filter decides whether a response is held and then does not pass its header on, as
//! nginx's own image filter does; this filter collects the body in memory, runs the rules, and
//! sends header and body, or another answer instead. Sending the header first, as ModSecurity
//! does, would leave nothing to do with a response that must not be sent but to break it off.
//!
//! What is held is bounded by the rule set's `SecResponseBodyLimit`: past it rules see the
//! beginning, and the rest flows.

use std::cell::Cell;

use bumpalo::collections::Vec as ArenaVec;
use nginx_sys::{
    NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_buf_t, ngx_chain_t, ngx_http_filter_finalize_request,
    ngx_http_output_body_filter_pt, ngx_http_request_t, ngx_http_top_body_filter, ngx_int_t, ngx_pcalloc,
};
use weir_engine::{Decision, HeaderChange, Side};
use weir_rules::seclang::ir::Phase;

use crate::configuration::{FailMode, Location};
use crate::module::ngx_http_weir_module;
use crate::transaction::{self, Inspection};
use crate::{fault, ffi, header_filter, headers, meter, note, respond, worker};

struct NextFilter(Cell<ngx_http_output_body_filter_pt>);

// SAFETY: written while the configuration is read, in the only thread.
unsafe impl Sync for NextFilter {}

static NEXT: NextFilter = NextFilter(Cell::new(None));

/// Room for the body of a response of unknown length, at first.
const FIRST_BYTES: usize = 16 << 10;

/// Media types by which it is found out whether responses may be held at all.
const PROBES: [&[u8]; 3] = [b"text/html", b"text/plain", b"application/json"];

/// A response that is held back.
pub struct HeldResponse {
    /// The part of the body that has arrived.
    body: ArenaVec<'static, u8>,
    /// Bytes that rules see; the filter does not wait for more.
    limit: usize,
}

/// Puts the filter before those that are there.
///
/// # Safety
/// Called while the configuration is read.
pub unsafe fn install() {
    // SAFETY: as the caller promises.
    unsafe {
        NEXT.0.set(ngx_http_top_body_filter);
        ngx_http_top_body_filter = Some(filter);
    }
}

/// Asks the origin not to compress a response that rules may want to see. What nginx itself
/// compresses for the client it still does.
///
/// # Safety
/// `r` is a live main request that has not been proxied yet.
pub unsafe fn ask_for_plain(r: *mut ngx_http_request_t, inspection: &Inspection) {
    if !PROBES.iter().any(|kind| inspection.outcome.wants_response_body(kind).is_some()) {
        return;
    }
    let change = HeaderChange { side: Side::Request, name: b"Accept-Encoding".to_vec(), value: None };
    // SAFETY: as the caller promises; the field itself stays in the request's pool.
    unsafe {
        let ours = accept_encoding(r);
        headers::change_request(r, &[change], inspection.timing);
        set_accept_encoding(r, ours);
    }
}

#[cfg(ngx_feature = "http_gzip")]
unsafe fn accept_encoding(r: *mut ngx_http_request_t) -> *mut nginx_sys::ngx_table_elt_t {
    // SAFETY: a live request.
    unsafe { (*r).headers_in.accept_encoding }
}

#[cfg(ngx_feature = "http_gzip")]
unsafe fn set_accept_encoding(r: *mut ngx_http_request_t, field: *mut nginx_sys::ngx_table_elt_t) {
    // SAFETY: a live request and one of its fields.
    unsafe { (*r).headers_in.accept_encoding = field };
}

#[cfg(not(ngx_feature = "http_gzip"))]
unsafe fn accept_encoding(_: *mut ngx_http_request_t) {}

#[cfg(not(ngx_feature = "http_gzip"))]
unsafe fn set_accept_encoding(_: *mut ngx_http_request_t, (): ()) {}

/// Whether a body is to come that rules want to see; then it is held from here on. Called by the
/// header filter, which then does not pass the header on.
///
/// # Safety
/// `r` is a live main request whose response header is being filtered.
pub unsafe fn hold(r: *mut ngx_http_request_t, inspection: &mut Inspection) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let out = &raw const (*r).headers_out;
        let bodiless = (*r).header_only() != 0
            || (*r).method == nginx_sys::NGX_HTTP_HEAD as usize
            || matches!((*out).status, 0..200 | 204 | 304)
            || (*out).content_length_n == 0
            || (*r).upstream.as_ref().is_some_and(|upstream| upstream.upgrade() != 0);
        if bodiless {
            return false;
        }
        let content_type = ffi::bytes(&(*out).content_type);
        let Some(limit) = inspection.outcome.wants_response_body(content_type).filter(|limit| *limit > 0) else {
            return false;
        };
        if is_encoded(r) {
            note!(
                (*(*r).connection).log,
                Info,
                "weir: the response is encoded, rules do not see its body, request_id {}",
                String::from_utf8_lossy(inspection.request_id())
            );
            return false;
        }
        let expected = usize::try_from((*out).content_length_n).unwrap_or(FIRST_BYTES).min(limit);
        inspection.held =
            Some(HeldResponse { body: ArenaVec::with_capacity_in(expected, inspection.transaction.arena()), limit });
        // What follows needs the bytes, not a file; and ranges of a body that is not read whole
        // would be wrong.
        (*r).set_main_filter_need_in_memory(1);
        (*r).set_filter_need_in_memory(1);
        (*r).set_allow_ranges(0);
        true
    }
}

/// Whether the body is compressed.
unsafe fn is_encoded(r: *mut ngx_http_request_t) -> bool {
    const NAME: &[u8] = b"content-encoding";
    // SAFETY: a live request.
    unsafe {
        ffi::fields(&raw const (*r).headers_out.headers).any(|field| {
            (*field).hash != 0
                && ffi::bytes(&(*field).key).eq_ignore_ascii_case(NAME)
                && !ffi::bytes(&(*field).value).eq_ignore_ascii_case(b"identity")
        })
    }
}

unsafe extern "C" fn filter(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request; the next filter is there.
    unsafe {
        if r == (*r).main
            && let Some(inspection) = transaction::find(r)
            && (*inspection).held.is_some()
        {
            return collect(r, inspection, chain);
        }
        next(r, chain)
    }
}

unsafe fn next(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: as for the filter.
    unsafe { NEXT.0.get().map_or(ffi::code::OK, |next| next(r, chain)) }
}

/// The state of the body after a chain of buffers.
enum Progress {
    /// More is to come.
    Waiting,
    /// This was the end, or as much as rules see. The rest of the chain has not been taken.
    Enough { rest: *mut ngx_chain_t, last: bool },
}

/// Collects the body, and releases it when rules have enough to see.
unsafe fn collect(r: *mut ngx_http_request_t, inspection: *mut Inspection, chain: *mut ngx_chain_t) -> ngx_int_t {
    let begun = worker::ticks();
    // SAFETY: a live main request; references to the inspection end before nginx is called.
    unsafe {
        let Some(held) = (*inspection).held.as_mut() else { return next(r, chain) };
        let progress = take(held, chain);
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        match progress {
            Progress::Waiting => ffi::code::OK,
            Progress::Enough { rest, last } => judge(r, inspection, rest, last),
        }
    }
}

/// Takes bytes out of a chain's buffers.
unsafe fn take(held: &mut HeldResponse, mut chain: *mut ngx_chain_t) -> Progress {
    // SAFETY: the chain ends with null; its buffers are live, and those in memory have their
    // bytes between pos and last.
    unsafe {
        while let Some(link) = chain.as_ref() {
            let buffer = link.buf;
            let in_memory = (*buffer).temporary() != 0 || (*buffer).memory() != 0 || (*buffer).mmap() != 0;
            if in_memory {
                let length = (*buffer).last.offset_from((*buffer).pos).max(0) as usize;
                held.body.extend_from_slice_copy(std::slice::from_raw_parts((*buffer).pos, length));
                (*buffer).pos = (*buffer).last;
            } else if (*buffer).in_file() != 0 {
                return Progress::Enough { rest: chain, last: false }; // cannot be seen
            }
            if (*buffer).last_buf() != 0 {
                return Progress::Enough { rest: link.next, last: true };
            }
            if held.body.len() >= held.limit {
                return Progress::Enough { rest: link.next, last: false };
            }
            chain = link.next;
        }
        Progress::Waiting
    }
}

/// Runs the rules over what was held, and sends what they leave.
unsafe fn judge(
    r: *mut ngx_http_request_t,
    inspection: *mut Inspection,
    rest: *mut ngx_chain_t,
    last: bool,
) -> ngx_int_t {
    // SAFETY: a live main request; references to the inspection end before nginx is called. The
    // body is in the inspection's arena, which lives as long as the request.
    unsafe {
        let location = ffi::location_of::<Location>(r);
        let Some(held) = (*inspection).held.take() else { return next(r, rest) };
        let limit = held.limit;
        let body: &'static [u8] = held.body.into_bump_slice();
        let begun = worker::ticks();
        let decision = fault::contain_request(r, "response body evaluation", || {
            let inspection = &mut *inspection;
            inspection.outcome.set_response_body(&body[..body.len().min(limit)]);
            inspection.run_rule_sets(Phase::ResponseBody, location)
        });
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        meter::book(meter::ModulePart::ResponseBody, (*inspection).timing, begun, true);
        match decision {
            Some(Decision::Respond(response)) => {
                (*inspection).stage.decide();
                respond::replace(r, response)
            }
            None if location.fail == FailMode::Closed => {
                (*inspection).fail();
                let status = NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
                ngx_http_filter_finalize_request(r, &raw mut ngx_http_weir_module, status)
            }
            _ => release(r, body, rest, last),
        }
    }
}

/// Sends the header that was held back, the body so far, and what follows.
unsafe fn release(r: *mut ngx_http_request_t, body: &'static [u8], rest: *mut ngx_chain_t, last: bool) -> ngx_int_t {
    // SAFETY: as for `judge`. The chain link is copied by filters that keep it.
    unsafe {
        let sent = header_filter::pass(r);
        if sent == ffi::code::ERROR || sent > ffi::code::OK || (*r).header_only() != 0 {
            return sent;
        }
        let buffer = ngx_pcalloc((*r).pool, size_of::<ngx_buf_t>()).cast::<ngx_buf_t>();
        if buffer.is_null() {
            return ffi::code::ERROR;
        }
        let bytes = body.as_ptr_range();
        (*buffer).pos = bytes.start.cast_mut();
        (*buffer).last = bytes.end.cast_mut();
        (*buffer).set_memory(u32::from(!body.is_empty()));
        (*buffer).set_last_buf(u32::from(last));
        (*buffer).set_last_in_chain(u32::from(last));
        (*buffer).set_flush(u32::from(!last));
        let mut chain = ngx_chain_t { buf: buffer, next: rest };
        next(r, &raw mut chain)
    }
}
