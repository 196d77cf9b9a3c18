//! The configuration of a server, and what is installed once all of it has been read.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use nginx_sys::{
    ngx_conf_t, ngx_http_conf_ctx_t, ngx_http_core_loc_conf_t, ngx_http_core_main_conf_t, ngx_http_core_module,
    ngx_http_core_srv_conf_t, ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE, ngx_http_request_t,
};

use super::mirror;
use crate::{ffi, phase};

/// The configuration of a server with `weir_gateway`.
#[derive(Default)]
pub struct Server {
    /// Whether it is on; `None` if the directive does not stand there.
    pub on: Option<bool>,
    /// The location that passes requests on as gRPC, if this nginx can.
    pub grpc: Option<NonNull<ngx_http_core_loc_conf_t>>,
    /// Whether nginx is parsing what the directive brings along.
    pub injecting: bool,
}

/// nginx's `create_srv_conf`.
pub unsafe extern "C" fn create_server(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: the cycle's pool.
    unsafe { ffi::keep((*cf).pool, Server::default()) }.map_or(ptr::null_mut(), |server| server.cast())
}

/// Our configuration of the server that the request came to.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn of<'a>(r: *mut ngx_http_request_t) -> &'a Server {
    // SAFETY: srv_conf has one pointer per http module; ours is never null (create_server).
    unsafe { &*(*(*r).srv_conf.add(ffi::context_index())).cast::<Server>() }
}

/// Whether the server that is being configured is a gateway.
///
/// # Safety
/// `cf` is within a server, and its configuration has been created.
pub unsafe fn is_on(cf: *mut ngx_conf_t) -> bool {
    // SAFETY: as the caller promises; srv_conf has one pointer per http module.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        (*(*(*context).srv_conf.add(ffi::context_index())).cast::<Server>()).on == Some(true)
    }
}

/// Installs what gateway servers need: handshakes by the live configuration, and mirrors.
///
/// # Safety
/// `cf` is within http, after all levels have been merged.
pub unsafe fn install(cf: *mut ngx_conf_t) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe {
        phase::push(cf, ngx_http_phases_NGX_HTTP_PRECONTENT_PHASE, mirror::handler)?;
        let core: *mut ngx_http_core_main_conf_t = ffi::main_of_module(cf, &raw const ngx_http_core_module);
        for server in (*core).servers.as_slice::<*mut ngx_http_core_srv_conf_t>() {
            let context = (**server).ctx;
            let ours = (*(*context).srv_conf.add(ffi::context_index())).cast::<Server>();
            if (*ours).on == Some(true) {
                #[cfg(ngx_feature = "http_ssl")]
                super::handshake::install(context)?;
            }
        }
        Some(())
    }
}
