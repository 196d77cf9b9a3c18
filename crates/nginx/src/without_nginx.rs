//! What only nginx has and the program of the unit tests needs to be loaded: symbols that are looked up when it starts,
//! not when they are first used. The tests touch neither.

use std::ptr;

use nginx_sys::ngx_cycle_t;

/// nginx's current cycle: there is none.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static mut ngx_cycle: *mut ngx_cycle_t = ptr::null_mut();

/// nginx's log, which is discarded.
#[unsafe(no_mangle)]
extern "C" fn ngx_log_error_core() {}
