//! Locations of a request that nginx did not choose by its path.

use std::ptr::{self, NonNull};

use nginx_sys::{
    ngx_http_core_loc_conf_t, ngx_http_core_module, ngx_http_max_module, ngx_http_request_t,
    ngx_http_update_location_config, ngx_palloc,
};

/// Has another location of the same server serve the request. In the rewrite phase this is all that nginx's own
/// search for a location does; an internal redirect would run the phases again and forget all modules' contexts.
///
/// # Safety
/// `r` is a live request in the rewrite phase; `location` belongs to its server.
pub unsafe fn switch(r: *mut ngx_http_request_t, location: NonNull<ngx_http_core_loc_conf_t>) {
    // SAFETY: as the caller promises.
    unsafe {
        (*r).loc_conf = (*location.as_ptr()).loc_conf;
        ngx_http_update_location_config(r);
    }
}

/// Bounds the body of a request that does not say how long it is. nginx asks the location's configuration while it
/// reads, so the request gets a copy of its own; all other modules' parts are shared.
///
/// # Safety
/// As for [`switch`].
pub unsafe fn limit_body(r: *mut ngx_http_request_t, bytes: u64) -> Option<()> {
    // SAFETY: as the caller promises. Configurations are plain data that does not change while nginx serves; there are
    // ngx_http_max_module pointers in each set.
    unsafe {
        let index = ngx_http_core_module.ctx_index;
        let modules = ngx_http_max_module;
        let set = ngx_palloc((*r).pool, modules * size_of::<*mut ()>()).cast::<*mut std::ffi::c_void>();
        let core = ngx_palloc((*r).pool, size_of::<ngx_http_core_loc_conf_t>()).cast::<ngx_http_core_loc_conf_t>();
        if set.is_null() || core.is_null() {
            return None;
        }
        ptr::copy_nonoverlapping((*r).loc_conf, set, modules);
        ptr::copy_nonoverlapping((*set.add(index)).cast::<ngx_http_core_loc_conf_t>(), core, 1);
        (*core).client_max_body_size = i64::try_from(bytes).unwrap_or(i64::MAX);
        *set.add(index) = core.cast();
        (*r).loc_conf = set;
        Some(())
    }
}
