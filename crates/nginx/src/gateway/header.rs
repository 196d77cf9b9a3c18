//! What a route changes in header fields: removed first, then set, then added.

use nginx_sys::ngx_http_request_t;
use weir_gateway::resource::HeaderChanges;

use super::Routed;
use crate::headers;

/// Makes a route's changes to the request.
///
/// # Safety
/// `r` is a live main request that has not been proxied yet.
pub unsafe fn change_request(r: *mut ngx_http_request_t, changes: &HeaderChanges) {
    // SAFETY: as the caller promises.
    unsafe {
        for name in &changes.remove {
            headers::remove_request(r, name.as_bytes());
        }
        for (name, value) in &changes.set {
            headers::set_request(r, name.as_bytes(), value.as_bytes());
        }
        for (name, value) in &changes.add {
            headers::add_request(r, name.as_bytes(), value.as_bytes());
        }
    }
}

/// Makes a route's changes to the response.
///
/// # Safety
/// `r` is a live main request whose response header has not been sent.
pub unsafe fn change_response(r: *mut ngx_http_request_t, routed: &Routed) {
    let changes = &routed.route().response_headers;
    // SAFETY: as the caller promises.
    unsafe {
        for name in &changes.remove {
            headers::remove_response(r, name.as_bytes());
        }
        for (name, value) in &changes.set {
            headers::set_response(r, name.as_bytes(), value.as_bytes());
        }
        for (name, value) in &changes.add {
            headers::add_response(r, name.as_bytes(), value.as_bytes());
        }
    }
}
