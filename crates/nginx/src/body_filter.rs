//! The body filter: shows rules the bodies of responses, and holds a response back until they have seen it if they may
//! refuse it.
//!
//! The header filter decides whether a response is held and then does not pass its header on, as
//! nginx's own image filter does; this filter collects the body, runs the rules, and
//! sends header and body, or another answer instead. Sending the header first, as ModSecurity
//! does, would leave nothing to do with a response that must not be sent but to break it off.
//!
//! It is the first of the body filters, before the one that cuts ranges out of the body: that one learns of a range when
//! the header passes, so it has to see the body of a held response after its header. What is in a file stays there. A
//! response that no rule may refuse passes as without Weir while its bytes are copied for the rules.
//!
//! What is held is bounded by the rule set's `SecResponseBodyLimit`: past it rules see the
//! beginning, and the rest flows.

use std::ops::Range;

use bumpalo::collections::Vec as ArenaVec;
use nginx_sys::{
    NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_buf_t, ngx_chain_t, ngx_http_filter_finalize_request,
    ngx_http_output_body_filter_pt, ngx_http_request_t, ngx_http_top_body_filter, ngx_int_t, ngx_pool_t,
};
use weir_engine::{Decision, HeaderChange, Side};
use weir_rules::seclang::ir::Phase;

use crate::configuration::{FailMode, Location};
use crate::module::ngx_http_weir_module;
use crate::next_filter::NextFilter;
use crate::transaction::{self, Inspection};
use crate::{buffer, fault, ffi, header_filter, headers, meter, note, respond, worker};

static NEXT: NextFilter<ngx_http_output_body_filter_pt> = NextFilter::new(None);

/// Room for the body of a response of unknown length, at first.
const FIRST_BYTES: usize = 16 << 10;

/// Media types by which it is found out whether responses may be held at all.
const PROBES: [&[u8]; 3] = [b"text/html", b"text/plain", b"application/json"];

/// A response whose body rules are going to see.
pub struct WatchedResponse {
    /// The beginning of the body. While the response is held, all that buffers in memory had.
    body: ArenaVec<'static, u8>,
    /// Bytes that are collected; the filter does not wait for more. One more than rules see: it tells whether the body
    /// goes on.
    limit: usize,
    /// Whether rule sets see them.
    rule_sets_see: bool,
    /// Whether all of the body has been collected.
    is_whole: bool,
    /// What is to be sent of a response that is held back; `None` for one that passes while rules look on.
    held: Option<ArenaVec<'static, Piece>>,
}

impl WatchedResponse {
    /// Whether it waits for the rules.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
}

/// A part of a held response, in the order of the body.
enum Piece {
    /// Bytes of the collected body.
    Collected(Range<usize>),
    /// A buffer in a file, which nginx sends itself.
    InFile(*mut ngx_buf_t),
}

/// Puts the filter before those that are there.
///
/// # Safety
/// Called while the configuration is read.
pub unsafe fn install() {
    // SAFETY: as the caller promises.
    unsafe { NEXT.install(&raw mut ngx_http_top_body_filter, Some(filter)) };
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

/// Whether a body is to come that rules want to see. Then it is watched from here on, and held back if some rule may
/// refuse it. Called by the header filter, which does not pass the header of a held response on.
///
/// # Safety
/// `r` is a live main request whose response header is being filtered.
pub unsafe fn watch(r: *mut ngx_http_request_t, inspection: &mut Inspection, only_detects: bool) -> bool {
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
        let mut rule_set_limit = inspection.outcome.wants_response_body(content_type).map_or(0, |(limit, _)| limit);
        let signed = inspection.outcome.signed_response_bytes().unwrap_or(0);
        if rule_set_limit.max(signed) == 0 {
            return false;
        }
        if rule_set_limit > 0 && is_encoded(r) {
            note!(
                (*(*r).connection).log,
                Info,
                "weir: the response is encoded, rules do not see its body, request_id {}",
                String::from_utf8_lossy(inspection.request_id())
            );
            rule_set_limit = 0;
        }
        if rule_set_limit.max(signed) == 0 {
            return false;
        }
        let limit = rule_set_limit.max(signed).saturating_add(1);
        let expected = usize::try_from((*out).content_length_n).unwrap_or(FIRST_BYTES).min(limit);
        let arena = inspection.transaction.arena();
        let held = (!only_detects).then(|| ArenaVec::new_in(arena));
        // Filters that would have nginx keep the request's body for their subrequests have not seen the header yet.
        (*r).set_preserve_body((*r).preserve_body() | u32::from(held.is_some()));
        let body = ArenaVec::with_capacity_in(expected, arena);
        inspection.watched =
            Some(WatchedResponse { body, limit, rule_sets_see: rule_set_limit > 0, is_whole: false, held });
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
            && (*inspection).watched.is_some()
        {
            return look(r, inspection, chain);
        }
        next(r, chain)
    }
}

unsafe fn next(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: as for the filter.
    unsafe { NEXT.get().map_or(ffi::code::OK, |next| next(r, chain)) }
}

/// The state of the body after a chain of buffers.
enum Progress {
    /// More is to come.
    Waiting,
    /// This was the end, or as much as rules see. The rest of the chain has not been taken. `last`: the buffer that says so
    /// is none of the pieces.
    Enough { rest: *mut ngx_chain_t, last: bool },
}

/// Looks at the next part of a watched body, and asks the rules when they have enough to see.
unsafe fn look(r: *mut ngx_http_request_t, inspection: *mut Inspection, chain: *mut ngx_chain_t) -> ngx_int_t {
    let begun = worker::ticks();
    // SAFETY: a live main request; references to the inspection end before nginx is called.
    unsafe {
        let Some(watched) = (*inspection).watched.as_mut() else { return next(r, chain) };
        let progress = take(r, watched, chain);
        let is_held = watched.is_held();
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        match progress {
            Progress::Waiting if is_held => ffi::code::OK,
            Progress::Waiting => next(r, chain),
            Progress::Enough { rest, last } if is_held => judge(r, inspection, rest, last),
            Progress::Enough { .. } => {
                finish(r, inspection);
                next(r, chain)
            }
        }
    }
}

/// Copies what rules are to see out of a chain's buffers. Of a held response, buffers in memory are emptied, so that nginx
/// can fill them again; those in files are kept.
unsafe fn take(r: *mut ngx_http_request_t, watched: &mut WatchedResponse, mut chain: *mut ngx_chain_t) -> Progress {
    // SAFETY: the chain ends with null; its buffers are live, and those in memory have their bytes between pos and last.
    unsafe {
        while let Some(link) = chain.as_ref() {
            let buffer = link.buf;
            let room = watched.limit.saturating_sub(watched.body.len());
            let is_last = (*buffer).last_buf() != 0;
            let begin = watched.body.len();
            let mut kept = false;
            if buffer::in_memory(buffer) {
                let length = buffer::size(buffer) as usize;
                let wanted = if watched.is_held() { length } else { length.min(room) };
                watched.body.extend_from_slice_copy(std::slice::from_raw_parts((*buffer).pos, wanted));
            } else if (*buffer).in_file() != 0 {
                // nginx overwrites a temporary file that it sends from, once what was in it counts as sent.
                kept = (*buffer).temp_file() == 0 || is_last || buffer::size(buffer) as usize >= room;
                let wanted = (buffer::size(buffer) as usize).min(room);
                watched.body.resize(begin + wanted, 0);
                let read = buffer::copy(buffer, &mut watched.body[begin..]);
                watched.body.truncate(begin + read);
            }
            if let Some(pieces) = &mut watched.held {
                let end = watched.body.len();
                match pieces.last_mut() {
                    _ if kept => pieces.push(Piece::InFile(buffer)),
                    Some(Piece::Collected(range)) if range.end == begin => range.end = end,
                    _ => pieces.push(Piece::Collected(begin..end)),
                }
                if !kept {
                    ((*buffer).pos, (*buffer).file_pos) = ((*buffer).last, (*buffer).file_last);
                }
            }
            watched.is_whole = is_last && watched.body.len() < watched.limit;
            if is_last || ((*buffer).flush() != 0 && has_failed(r)) {
                return Progress::Enough { rest: link.next, last: is_last && !kept };
            }
            if watched.body.len() >= watched.limit {
                return Progress::Enough { rest: link.next, last: false };
            }
            chain = link.next;
        }
        Progress::Waiting
    }
}

/// Whether nginx is done with the origin although the body has not ended: it flushes, and closes the connection.
unsafe fn has_failed(r: *const ngx_http_request_t) -> bool {
    // SAFETY: a live request; nginx forgets the cleanup of an upstream when it finalizes it.
    unsafe { (*r).upstream.as_ref().is_some_and(|upstream| upstream.cleanup.is_null()) }
}

/// What was collected of a body.
struct Seen {
    body: &'static [u8],
    rule_sets_see: bool,
    is_whole: bool,
}

/// Runs the rules over the part of a body that they are to see.
unsafe fn evaluate(
    r: *mut ngx_http_request_t,
    inspection: *mut Inspection,
    location: &Location,
    watched: Seen,
) -> Option<Decision> {
    let begun = worker::ticks();
    // SAFETY: a live main request; the reference to the inspection ends with the call.
    unsafe {
        let decision = fault::contain_request(r, "response body evaluation", || {
            let inspection = &mut *inspection;
            inspection.outcome.set_response_body(if watched.rule_sets_see { watched.body } else { &[] });
            match inspection.run_rule_sets(Phase::ResponseBody, location) {
                Decision::Continue => inspection.decide_response(watched.body, watched.is_whole),
                decision => decision,
            }
        });
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        meter::book(meter::ModulePart::ResponseBody, (*inspection).timing, begun, true);
        decision
    }
}

/// Lets rules that only detect see what has passed of a response, unless they have seen it.
///
/// # Safety
/// `r` is a live main request, `inspection` its inspection.
pub unsafe fn finish(r: *mut ngx_http_request_t, inspection: *mut Inspection) {
    // SAFETY: as the caller promises. The body is in the inspection's arena, which lives as long as the request.
    unsafe {
        if let Some(watched) = (*inspection).watched.take_if(|watched| !watched.is_held()) {
            // Whatever they say, the response is on its way.
            let WatchedResponse { body, rule_sets_see, is_whole, .. } = watched;
            let seen = Seen { body: body.into_bump_slice(), rule_sets_see, is_whole };
            let _ = evaluate(r, inspection, ffi::location_of(r), seen);
        }
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
        let Some(watched) = (*inspection).watched.take() else { return next(r, rest) };
        let body: &'static [u8] = watched.body.into_bump_slice();
        let seen = &body[..body.len().min(watched.limit)];
        let seen = Seen { body: seen, rule_sets_see: watched.rule_sets_see, is_whole: watched.is_whole };
        match evaluate(r, inspection, location, seen) {
            Some(Decision::Respond(response)) => {
                (*inspection).stage.decide();
                respond::replace(r, response)
            }
            None if location.fail == FailMode::Closed => {
                (*inspection).fail();
                let status = NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
                ngx_http_filter_finalize_request(r, &raw mut ngx_http_weir_module, status)
            }
            _ => release(r, body, watched.held.as_deref().unwrap_or_default(), rest, last),
        }
    }
}

/// Sends the header that was held back, the body so far, and what follows.
unsafe fn release(
    r: *mut ngx_http_request_t,
    body: &'static [u8],
    pieces: &[Piece],
    rest: *mut ngx_chain_t,
    last: bool,
) -> ngx_int_t {
    // SAFETY: as for `judge`. Filters that keep chain links copy them.
    unsafe {
        let sent = header_filter::pass(r);
        if sent > ffi::code::OK && !(*r).upstream.is_null() {
            // A range that cannot be satisfied: nginx's upstream expects that only from the header.
            return ngx_http_filter_finalize_request(r, &raw mut ngx_http_weir_module, sent);
        }
        if sent == ffi::code::ERROR || sent > ffi::code::OK || (*r).header_only() != 0 {
            return sent;
        }
        chain((*r).pool, body, pieces, rest, last).map_or(ffi::code::ERROR, |chain| next(r, chain))
    }
}

/// The pieces of a held response before the rest of a chain; `None` if there is no memory left.
unsafe fn chain(
    pool: *mut ngx_pool_t,
    body: &'static [u8],
    pieces: &[Piece],
    rest: *mut ngx_chain_t,
    last: bool,
) -> Option<*mut ngx_chain_t> {
    let mut chain = rest;
    for (place, piece) in pieces.iter().enumerate().rev() {
        let is_end = place + 1 == pieces.len();
        // SAFETY: the request's pool, and the pieces of its response.
        unsafe {
            let buffer = match piece {
                Piece::InFile(buffer) => *buffer,
                Piece::Collected(range) if range.is_empty() && !is_end => continue,
                Piece::Collected(range) => {
                    let buffer = buffer::of(pool, &body[range.clone()])?;
                    (*buffer).set_last_buf(u32::from(is_end && last));
                    (*buffer).set_last_in_chain(u32::from(is_end && last));
                    (*buffer).set_flush(u32::from(is_end && !last));
                    buffer
                }
            };
            chain = buffer::prepend(pool, buffer, chain)?;
        }
    }
    Some(chain)
}
