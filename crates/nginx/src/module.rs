//! What nginx finds when it loads the library: the module, its commands, its place among others.

use std::ffi::{c_char, c_void};
use std::ptr;

use nginx_sys::{NGX_HTTP_MODULE, ngx_http_module_t, ngx_module_t};

use crate::{configuration, cycle, directive, gateway};

static mut CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: Some(configuration::prepare),
    postconfiguration: Some(configuration::install),
    create_main_conf: Some(configuration::create_main),
    init_main_conf: Some(configuration::init_main),
    create_srv_conf: Some(gateway::create_server),
    merge_srv_conf: None,
    create_loc_conf: Some(configuration::create_location),
    merge_loc_conf: Some(configuration::merge_location),
};

/// The module.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_http_weir_module: ngx_module_t = ngx_module_t {
    ctx: (&raw mut CONTEXT).cast::<c_void>(),
    commands: (&raw mut directive::COMMANDS).cast(),
    type_: NGX_HTTP_MODULE as usize,
    init_module: Some(cycle::init_module),
    init_process: Some(cycle::init_process),
    exit_process: Some(cycle::exit_process),
    ..ngx_module_t::default()
};

static mut BODY_CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: None,
    postconfiguration: Some(configuration::install_first),
    create_main_conf: None,
    init_main_conf: None,
    create_srv_conf: None,
    merge_srv_conf: None,
    create_loc_conf: None,
    merge_loc_conf: None,
};

/// A module for the filter of response bodies alone, which has another place among filters than the rest.
#[allow(non_upper_case_globals)]
static mut ngx_http_weir_body_module: ngx_module_t = ngx_module_t {
    ctx: (&raw mut BODY_CONTEXT).cast::<c_void>(),
    commands: ptr::null_mut(),
    type_: NGX_HTTP_MODULE as usize,
    ..ngx_module_t::default()
};

/// Modules of this library; `load_module` reads it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_modules: [*const ngx_module_t; 3] =
    [&raw const ngx_http_weir_module, &raw const ngx_http_weir_body_module, ptr::null()];

/// Names of the modules.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_module_names: [*const c_char; 3] =
    [c"ngx_http_weir_module".as_ptr(), c"ngx_http_weir_body_module".as_ptr(), ptr::null()];

/// Position among nginx's modules: before the headers filter, so that our header filter runs after it (filters run
/// last installed first) and sees and changes what `add_header` adds; still after the rewrite
/// module, so that our rewrite handler runs before `return` (handlers of that phase run last
/// installed first, too). The module for response bodies has no place in the list: it is added behind all that are there,
/// so its filter runs before theirs.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_module_order: [*const c_char; 3] =
    [c"ngx_http_weir_module".as_ptr(), c"ngx_http_headers_filter_module".as_ptr(), ptr::null()];
