//! Upgraded connections: what the client sends early must not replace the request that rules and logs refer to.
//!
//! nginx passes bytes that came with the head of an upgraded request on from the buffer of that head, which it then
//! fills again from its beginning with more of what the client sends. The target and the header fields are slices of
//! that buffer, so logs would show what the client chose to write there. Such bytes get a buffer of their own before
//! nginx begins; copying all that is borrowed instead would have to find each slice, nginx's own included.

use std::ptr;

use nginx_sys::{
    ngx_create_temp_buf, ngx_http_output_header_filter_pt, ngx_http_request_t, ngx_http_top_header_filter, ngx_int_t,
};

use crate::ffi;
use crate::next_filter::NextFilter;

static NEXT: NextFilter<ngx_http_output_header_filter_pt> = NextFilter::new(None);

/// Puts the filter before those that are there: nginx sends the header of the answer before it upgrades.
///
/// # Safety
/// Called while the configuration is read.
pub unsafe fn install() {
    // SAFETY: as the caller promises.
    unsafe { NEXT.install(&raw mut ngx_http_top_header_filter, Some(filter)) };
}

unsafe extern "C" fn filter(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request; its upstream is null or live.
    unsafe {
        let u = (*r).upstream;
        if !u.is_null() && (*u).upgrade() != 0 && separate(r).is_none() {
            return ffi::code::ERROR;
        }
        NEXT.get().map_or(ffi::code::OK, |next| next(r))
    }
}

/// Gives early data of the client a buffer of its own; `None` if there is no memory left. It is as long as the one that
/// nginx would fill, so nginx reads as much at a time.
unsafe fn separate(r: *mut ngx_http_request_t) -> Option<()> {
    // SAFETY: a live request, whose buffer is null or holds `start` to `last`. The connection does not go back to HTTP:
    // without keepalive, nginx looks for no further request in the buffer, which lives as long as this one.
    unsafe {
        let head = (*r).header_in;
        if head.is_null() || (*head).pos >= (*head).last {
            return Some(());
        }
        let (read, left) = ((*head).pos.offset_from((*head).start), (*head).last.offset_from((*head).pos));
        let early = ngx_create_temp_buf((*r).pool, (read + left).unsigned_abs());
        if early.is_null() {
            return None;
        }
        (*early).pos = (*early).start.offset(read);
        (*early).last = (*early).pos.offset(left);
        ptr::copy_nonoverlapping((*head).pos, (*early).pos, left.unsigned_abs());
        (*r).header_in = early;
        (*r).set_keepalive(0);
        Some(())
    }
}
