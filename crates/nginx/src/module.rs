//! What nginx finds when it loads the library: the module, its commands, its place among others.

use std::ffi::{c_char, c_void};
use std::ptr;

use nginx_sys::{NGX_HTTP_MODULE, ngx_http_module_t, ngx_module_t};

use crate::{configuration, cycle, directive, gateway, variable};

static mut CONTEXT: ngx_http_module_t = ngx_http_module_t {
    preconfiguration: Some(variable::add_all),
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

/// Modules of this library; `load_module` reads it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_modules: [*const ngx_module_t; 2] = [&raw const ngx_http_weir_module, ptr::null()];

/// Names of the modules.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_module_names: [*const c_char; 2] = [c"ngx_http_weir_module".as_ptr(), ptr::null()];

/// Position among nginx's modules: before the headers filter, so that our header filter runs after it (filters run
/// last installed first) and sees and changes what `add_header` adds; still after the rewrite
/// module, so that our rewrite handler runs before `return` (handlers of that phase run last
/// installed first, too).
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut ngx_module_order: [*const c_char; 3] =
    [c"ngx_http_weir_module".as_ptr(), c"ngx_http_headers_filter_module".as_ptr(), ptr::null()];
