//! What `weir_gateway on;` brings along: configuration of nginx's own, parsed from memory.
//!
//! The gateway forwards through nginx's proxy and gRPC modules, whose handlers and tables only come
//! to be by parsing their directives. So the directive hands nginx's parser the text below, as if
//! it stood in the file at that place: errors name the user's line, defaults are inherited as ever,
//! and the server's other locations keep working. Filling in those modules' private structures
//! by hand, the alternative, would break with each version of nginx.

use std::ptr::{self, NonNull};

use nginx_sys::{
    ngx_buf_t, ngx_conf_file_t, ngx_conf_parse, ngx_conf_t, ngx_http_conf_ctx_t, ngx_http_core_loc_conf_t,
    ngx_http_core_module, ngx_http_upstream_main_conf_t, ngx_http_upstream_module, ngx_http_upstream_srv_conf_t,
};

use super::{Server, peer};
use crate::configuration::{Location, LocationRules, Main};
use crate::ffi;

/// The name of the one upstream, as nginx knows it.
const UPSTREAM: &[u8] = b"weir_gateway";

/// So that `listen ... ssl` passes nginx's checks; the certificates come from the live configuration.
#[cfg(ngx_feature = "http_ssl")]
const TLS: &str = "ssl_certificate data:$weir_no_certificate; ssl_certificate_key data:$weir_no_certificate; ";

/// HTTP. The route's body limit holds, not that of nginx; the upstream decides the Host header.
const HTTP: &str = "location / { weir_gateway on; client_max_body_size 0; \
    proxy_pass http://weir_gateway; proxy_http_version 1.1; proxy_redirect off; \
    proxy_set_header Host $weir_upstream_host; proxy_set_header Connection $weir_connection; \
    proxy_set_header Upgrade $weir_upgrade; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; \
    proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host; } ";

/// gRPC, in a location that only we send requests to.
const GRPC: &str = "location @weir_gateway_grpc { weir_gateway on; client_max_body_size 0; \
    grpc_pass grpc://weir_gateway; grpc_set_header Host $weir_upstream_host; \
    grpc_set_header X-Forwarded-For $proxy_add_x_forwarded_for; grpc_set_header X-Forwarded-Proto $scheme; \
    grpc_set_header X-Forwarded-Host $host; } ";

/// Carries out the directive: in a server, or in one of the locations that the text above makes.
///
/// # Safety
/// `cf` is being parsed within a server, whose configuration of ours `server` is.
pub unsafe fn configure(cf: *mut ngx_conf_t, on: bool, server: *mut Server) -> Result<(), String> {
    // SAFETY: as the caller promises; no reference to the server's configuration lives while nginx parses.
    unsafe {
        let in_location = (*cf).cmd_type & nginx_sys::NGX_HTTP_SRV_CONF as usize == 0;
        if (*server).injecting && in_location {
            mark(cf, server);
            return Ok(());
        }
        if in_location {
            return Err("stands in \"server\", not in \"location\": it serves all paths that have no location".into());
        }
        if (*server).on.replace(on).is_some() {
            return Err("is duplicate".into());
        }
        if !on {
            return Ok(());
        }
        (*server).injecting = true;
        let parsed = parse(cf, &text(cf));
        (*server).injecting = false;
        parsed?;
        (*ffi::main_of::<Main>(cf)).gateway = true;
        take_upstream(cf)
    }
}

/// Marks a location as ours.
unsafe fn mark(cf: *mut ngx_conf_t, server: *mut Server) {
    // SAFETY: within a location, whose context has all modules' configurations; as for `configure`.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        let location = (*(*context).loc_conf.add(ffi::context_index())).cast::<Location>();
        (*location).rules = LocationRules::OfRoute;
        let core = (*(*context).loc_conf.add(ngx_http_core_module.ctx_index)).cast::<ngx_http_core_loc_conf_t>();
        if ffi::bytes(&(*core).name).starts_with(b"@") {
            (*server).grpc = NonNull::new(core);
        }
    }
}

/// The configuration text for this nginx and this server, closed as a block is.
unsafe fn text(cf: *mut ngx_conf_t) -> String {
    let mut text = String::new();
    #[cfg(ngx_feature = "http_ssl")]
    // SAFETY: within a server; the module is there.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        let index = nginx_sys::ngx_http_ssl_module.ctx_index;
        let tls = (*(*context).srv_conf.add(index)).cast::<nginx_sys::ngx_http_ssl_srv_conf_t>();
        // NGX_CONF_UNSET_PTR until there is an `ssl_certificate` before us.
        if (*tls).certificates as usize == usize::MAX {
            text.push_str(TLS);
        }
    }
    text.push_str(HTTP);
    // SAFETY: the cycle's modules are known.
    if unsafe { ffi::module_named((*(*cf).cycle).modules, c"ngx_http_grpc_module") }.is_some() {
        text.push_str(GRPC);
    }
    text.push('}');
    text
}

/// Has nginx parse `text` as the rest of the block it is in.
unsafe fn parse(cf: *mut ngx_conf_t, text: &str) -> Result<(), String> {
    // SAFETY: nginx reads a block until its "}" from the buffer, and more from the file only if the file is longer
    // than what was read: its size here is 0. What it keeps of the text it copies.
    unsafe {
        let before = (*cf).conf_file;
        let mut buffer: ngx_buf_t = std::mem::zeroed();
        let bytes = text.as_bytes().as_ptr_range();
        buffer.start = bytes.start.cast_mut();
        buffer.pos = buffer.start;
        buffer.last = bytes.end.cast_mut();
        buffer.end = buffer.last;
        buffer.set_memory(1);
        let mut file: ngx_conf_file_t = std::mem::zeroed();
        file.buffer = &raw mut buffer;
        file.line = (*before).line;
        file.file.fd = 0; // any but the invalid one, which would say "from the command line"; never read
        file.file.name = (*before).file.name;
        file.file.log = (*cf).log;
        (*cf).conf_file = &raw mut file;
        let result = ngx_conf_parse(cf, ptr::null_mut());
        (*cf).conf_file = before;
        if result.is_null() { Ok(()) } else { Err("cannot be set up here (see above)".into()) }
    }
}

/// Puts our balancer in the place of nginx's.
unsafe fn take_upstream(cf: *mut ngx_conf_t) -> Result<(), String> {
    // SAFETY: within http; the upstream module has its main configuration.
    unsafe {
        let main: *mut ngx_http_upstream_main_conf_t = ffi::main_of_module(cf, &raw const ngx_http_upstream_module);
        let upstreams = (*main).upstreams.as_slice::<*mut ngx_http_upstream_srv_conf_t>();
        for upstream in upstreams.iter().filter(|upstream| ffi::bytes(&(***upstream).host) == UPSTREAM) {
            if !(**upstream).servers.is_null() {
                return Err("needs the name \"weir_gateway\", which an \"upstream\" has already".into());
            }
            (**upstream).peer.init_upstream = Some(peer::init_upstream);
        }
        Ok(())
    }
}
