//! Copies of requests for another upstream, whose responses are discarded.
//!
//! A copy is a subrequest in the background, as those of nginx's mirror module: it begins when the
//! body has been read, goes through the same location, and whatever happens to it, the client gets
//! its own answer. It is not free of the client, though: nginx takes the next request of the same
//! connection only after the copy's end, which is why a copy waits [`MAX_WAIT_MS`] at most. A
//! client of our own beside nginx's would have to send bodies from temporary files again.

use nginx_sys::{
    NGX_HTTP_SUBREQUEST_BACKGROUND, NGX_HTTP_SUBREQUEST_CLONE, ngx_http_core_run_phases, ngx_http_finalize_request,
    ngx_http_read_client_request_body, ngx_http_request_t, ngx_http_subrequest, ngx_int_t,
};

use weir_engine::Shadow;

use super::routed::{self, Mirrored, Routed};
use crate::configuration::Location;
use crate::{fault, ffi, headers, note, worker};

/// Longest wait for a mirror, in ms, between two reads or writes.
pub const MAX_WAIT_MS: u64 = 5000;

/// The lowest status that means an answer.
const SPECIAL_RESPONSE: ngx_int_t = 300;

/// Decides whether a copy of this request is sent.
pub fn decide(routed: &Routed) {
    let Some(mirror) = routed.forward().and_then(|forward| forward.mirror.as_ref()) else { return };
    if worker::random()[0] % 10_000 < u64::from(mirror.per_10000)
        && let Ok(upstream) = routed::usable(&routed.live().gateway, &mirror.upstream)
    {
        // Decided once for each request: it cannot have been set before.
        let _ = routed.mirror.set(upstream);
    }
}

/// The handler of the phase before the content's: sends the copy once the body is there.
pub unsafe extern "C" fn handler(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request.
    unsafe {
        if r != (*r).main || !ffi::location_of::<Location>(r).is_gateway() {
            return ffi::code::DECLINED;
        }
        let work = || {
            let Some(routed) = routed::of(r).filter(|routed| routed.mirror.get().is_some()) else {
                return ffi::code::DECLINED;
            };
            if routed.mirrored.replace(Mirrored::Reading) != Mirrored::No {
                return ffi::code::DECLINED;
            }
            drop(routed);
            let status = ngx_http_read_client_request_body(r, Some(body_is_there));
            if status >= SPECIAL_RESPONSE {
                return status;
            }
            ngx_http_finalize_request(r, ffi::code::DONE);
            ffi::code::DONE
        };
        fault::contain("mirror", work).unwrap_or(ffi::code::DECLINED)
    }
}

unsafe extern "C" fn body_is_there(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with the request whose body it has read.
    unsafe {
        fault::contain("mirror", || send(r));
        (*r).set_preserve_body(1);
        (*r).write_event_handler = Some(ngx_http_core_run_phases);
        ngx_http_core_run_phases(r);
    }
}

unsafe fn send(r: *mut ngx_http_request_t) {
    // SAFETY: as for the caller. A clone goes on where its parent is: with its location and its target as sent.
    unsafe {
        let Some(routed) = routed::of(r) else { return };
        let mut copy: *mut ngx_http_request_t = std::ptr::null_mut();
        let flags = NGX_HTTP_SUBREQUEST_BACKGROUND | NGX_HTTP_SUBREQUEST_CLONE;
        let (uri, args) = (&raw mut (*r).uri, &raw mut (*r).args);
        if ngx_http_subrequest(r, uri, args, &raw mut copy, std::ptr::null_mut(), flags as usize) != ffi::code::OK {
            note!((*(*r).connection).log, Warn, "weir: no copy of the request for the mirror could be made");
            return;
        }
        (*copy).set_header_only(1);
        (*copy).set_quoted_uri((*r).quoted_uri());
        (*copy).method = (*r).method;
        (*copy).method_name = (*r).method_name;
        let is_shadow =
            routed.forward().and_then(|forward| forward.mirror.as_ref()).is_some_and(|mirror| mirror.shadow);
        // Without its mark, a copy would be a second request of a real customer.
        if is_shadow && mark(copy).is_none() {
            note!((*(*r).connection).log, Error, "weir: the copy of the request could not be marked, and is not sent");
            (*copy).write_event_handler = Some(drop_copy);
        }
        routed.mirrored.set(Mirrored::Sent);
    }
}

/// Marks the copy as shadow traffic; its parent keeps what the client has sent.
unsafe fn mark(copy: *mut ngx_http_request_t) -> Option<()> {
    // SAFETY: a subrequest that has not run yet.
    unsafe {
        headers::separate(copy)?;
        let shadow = Shadow::default();
        let sent: Vec<&[u8]> = ffi::fields(&raw const (*copy).headers_in.headers)
            .filter(|field| ffi::bytes(&(**field).key).eq_ignore_ascii_case(b"baggage"))
            .map(|field| ffi::bytes(&(*field).value))
            .collect();
        let (name, value) = shadow.mark(&sent);
        headers::set_request(copy, name, &value)
    }
}

/// Ends a copy instead of running it.
unsafe extern "C" fn drop_copy(copy: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with a live request.
    unsafe { ngx_http_finalize_request(copy, ffi::code::OK) };
}
