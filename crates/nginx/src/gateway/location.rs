//! Locations of a request that nginx did not choose by its path.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use nginx_sys::{
    NGX_HTTP_VERSION_20, ngx_http_core_loc_conf_t, ngx_http_core_module, ngx_http_max_module, ngx_http_request_t,
    ngx_http_update_location_config, ngx_palloc, ngx_pool_cleanup_add,
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

/// A location's configuration for one request: a pointer for each module, and the core module's part.
struct Own {
    modules: *mut *mut c_void,
    core: *mut ngx_http_core_loc_conf_t,
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
        let Own { modules, core } = &*own(r)?;
        // The request may have been here before an internal redirect: then it has the copy already.
        ptr::copy((*r).loc_conf, *modules, ngx_http_max_module);
        ptr::copy((*modules.add(index)).cast::<ngx_http_core_loc_conf_t>(), *core, 1);
        (**core).client_max_body_size = i64::try_from(bytes).unwrap_or(i64::MAX);
        *modules.add(index) = core.cast();
        (*r).loc_conf = *modules;
        Some(())
    }
}

/// Room for a configuration. nginx reads the location's timeouts after the end of a request, when it waits for the next
/// one on the connection: so the room is the connection's, made once and used by one request after the other. Streams of
/// HTTP/2 share a connection, which does not look back at them: they have room of their own.
unsafe fn own(r: *mut ngx_http_request_t) -> Option<*mut Own> {
    // SAFETY: a live request has a connection, and both have pools. What is in a cleanup with our handler is ours.
    unsafe {
        let pool = if (*r).http_version == NGX_HTTP_VERSION_20 as usize { (*r).pool } else { (*(*r).connection).pool };
        let mut cleanup = (*pool).cleanup;
        while let Some(one) = cleanup.as_ref() {
            if one.handler.is_some_and(|handler| ptr::fn_addr_eq(handler, keep as unsafe extern "C" fn(_))) {
                return Some(one.data.cast());
            }
            cleanup = one.next;
        }
        let modules = ngx_palloc(pool, ngx_http_max_module * size_of::<*mut c_void>()).cast::<*mut c_void>();
        let core = ngx_palloc(pool, size_of::<ngx_http_core_loc_conf_t>()).cast::<ngx_http_core_loc_conf_t>();
        let cleanup = ngx_pool_cleanup_add(pool, size_of::<Own>());
        if modules.is_null() || core.is_null() || cleanup.is_null() {
            return None;
        }
        let own = (*cleanup).data.cast::<Own>();
        own.write(Own { modules, core });
        (*cleanup).handler = Some(keep);
        Some(own)
    }
}

/// Marks the room among the cleanups of a pool, which frees it.
unsafe extern "C" fn keep(_: *mut c_void) {}
