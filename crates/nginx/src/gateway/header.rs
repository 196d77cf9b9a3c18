//! What sites and routes change in header fields: removed first, then set, then added.

use nginx_sys::ngx_http_request_t;
use weir_gateway::resource::HeaderChanges;

use crate::headers;
use crate::transaction::Inspection;

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

/// Makes the changes to the response that the request's site wants, then those of its route. A request whose host has a
/// site is that site's, whether it has a route or not.
///
/// # Safety
/// `r` is a live main request whose response header has not been sent, and `inspection` is its own.
pub unsafe fn change_response(r: *mut ngx_http_request_t, inspection: &Inspection) {
    let site = inspection.site();
    let of_site = site.as_ref().map(|site| &site.spec().response_headers);
    let of_route = inspection.routed.as_ref().map(|routed| &routed.route().response_headers);
    for changes in of_site.into_iter().chain(of_route) {
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
}
