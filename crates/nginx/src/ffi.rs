//! nginx's data as Rust sees it: strings as slices, lists as iterators, values that live in pools.
//!
//! Raw bindings everywhere else are hard to read and easy to get wrong; a full object model of
//! nginx would hide what happens. These few functions are the middle: each takes what nginx
//! guarantees (stated per function) and gives something safe.

use std::ffi::{CStr, c_void};
use std::ptr;

use nginx_sys::{
    ngx_conf_t, ngx_http_conf_ctx_t, ngx_http_request_t, ngx_list_part_t, ngx_list_t, ngx_module_t, ngx_pnalloc,
    ngx_pool_cleanup_add, ngx_pool_t, ngx_str_t, ngx_table_elt_t,
};

use crate::module::ngx_http_weir_module;

/// Return codes of nginx's handlers (macros with signs, which bindgen does not always keep).
pub mod code {
    use nginx_sys::ngx_int_t;
    /// Success.
    pub const OK: ngx_int_t = 0;
    /// Failed.
    pub const ERROR: ngx_int_t = -1;
    /// The operation would block.
    #[cfg(ngx_feature = "http_ssl")]
    pub const AGAIN: ngx_int_t = -2;
    /// Nothing is available.
    pub const BUSY: ngx_int_t = -3;
    /// Another handler continues the request.
    pub const DONE: ngx_int_t = -4;
    /// The handler does not apply.
    pub const DECLINED: ngx_int_t = -5;
}

/// The bytes of an nginx string.
///
/// # Safety
/// `string` is what nginx filled in: null or `len` readable bytes that outlive `'a`.
#[inline]
pub unsafe fn bytes<'a>(string: &ngx_str_t) -> &'a [u8] {
    if string.data.is_null() || string.len == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(string.data, string.len) }
}

/// An nginx string over static bytes, which nginx only reads.
pub const fn static_str(text: &'static [u8]) -> ngx_str_t {
    ngx_str_t { len: text.len(), data: text.as_ptr().cast_mut() }
}

/// A copy of `text` in `pool`, with a NUL behind it, which nginx expects of header values.
///
/// # Safety
/// `pool` is a live pool.
pub unsafe fn copy(pool: *mut ngx_pool_t, text: &[u8]) -> Option<ngx_str_t> {
    // SAFETY: a live pool; ngx_pnalloc returns null or that many writable bytes.
    unsafe {
        let data = ngx_pnalloc(pool, text.len() + 1).cast::<u8>();
        if data.is_null() {
            return None;
        }
        ptr::copy_nonoverlapping(text.as_ptr(), data, text.len());
        *data.add(text.len()) = 0;
        Some(ngx_str_t { len: text.len(), data })
    }
}

/// Moves `value` to the heap until `pool` is destroyed, which drops it.
///
/// # Safety
/// `pool` is a live pool; the pointer is not used after the pool's end.
pub unsafe fn keep<T>(pool: *mut ngx_pool_t, value: T) -> Option<*mut T> {
    unsafe extern "C" fn drop_box<T>(data: *mut c_void) {
        // SAFETY: data is the Box::into_raw below; pools run each cleanup once.
        drop(unsafe { Box::from_raw(data.cast::<T>()) });
    }
    // SAFETY: a live pool.
    unsafe {
        let cleanup = ngx_pool_cleanup_add(pool, 0);
        if cleanup.is_null() {
            return None;
        }
        let kept = Box::into_raw(Box::new(value));
        (*cleanup).data = kept.cast();
        (*cleanup).handler = Some(drop_box::<T>);
        Some(kept)
    }
}

/// Iterates over a list of header fields, including those that are marked as removed.
///
/// # Safety
/// `list` is an initialised list of `ngx_table_elt_t` that is not changed meanwhile.
pub unsafe fn fields(list: *const ngx_list_t) -> impl Iterator<Item = *mut ngx_table_elt_t> {
    // SAFETY: an initialised list has one part in itself.
    let mut part: *const ngx_list_part_t = unsafe { &raw const (*list).part };
    let mut next = 0;
    std::iter::from_fn(move || {
        // SAFETY: parts are linked until null and have nelts elements each.
        unsafe {
            while next >= (*part).nelts {
                if (*part).next.is_null() {
                    return None;
                }
                part = (*part).next;
                next = 0;
            }
            let field = (*part).elts.cast::<ngx_table_elt_t>().add(next);
            next += 1;
            Some(field)
        }
    })
}

/// Our number among the http modules.
#[inline]
pub fn context_index() -> usize {
    // SAFETY: nginx writes it once while it reads the configuration, before anything else runs.
    unsafe { ngx_http_weir_module.ctx_index }
}

/// Our main configuration, during configuration. A directive's setter has the same pointer, and what it calls asks for
/// it again: references made from it must not overlap.
///
/// # Safety
/// `cf` is being parsed within `http`, and the configuration has been created.
pub unsafe fn main_of<T>(cf: *mut ngx_conf_t) -> *mut T {
    // SAFETY: as the caller promises.
    unsafe { main_of_module(cf, &raw const ngx_http_weir_module) }
}

/// An http module's main configuration, during configuration.
///
/// # Safety
/// `cf` is being parsed within `http`, and `T` is that module's configuration.
pub unsafe fn main_of_module<T>(cf: *mut ngx_conf_t, module: *const nginx_sys::ngx_module_t) -> *mut T {
    // SAFETY: within http, ctx is an ngx_http_conf_ctx_t with one pointer per http module.
    unsafe {
        let context = (*cf).ctx.cast::<ngx_http_conf_ctx_t>();
        (*(*context).main_conf.add((*module).ctx_index)).cast::<T>()
    }
}

/// The module of that name among those of a cycle.
///
/// # Safety
/// `modules` is a cycle's list.
pub unsafe fn module_named(modules: *mut *mut ngx_module_t, name: &CStr) -> Option<*mut ngx_module_t> {
    // SAFETY: the list ends with null, and modules have names.
    unsafe {
        let mut all = (0..).map(|place| *modules.add(place)).take_while(|module| !module.is_null());
        all.find(|module| CStr::from_ptr((**module).name) == name)
    }
}

/// Our configuration of the request's location.
///
/// # Safety
/// `r` is a live request.
#[inline]
pub unsafe fn location_of<'a, T>(r: *mut ngx_http_request_t) -> &'a T {
    // SAFETY: loc_conf has one pointer per http module; ours is never null (create_loc_conf).
    unsafe { &*(*(*r).loc_conf.add(context_index())).cast::<T>() }
}

/// Our main configuration of the request's cycle.
///
/// # Safety
/// `r` is a live request.
#[inline]
pub unsafe fn request_main_of<'a, T>(r: *mut ngx_http_request_t) -> &'a T {
    // SAFETY: as for location_of.
    unsafe { &*(*(*r).main_conf.add(context_index())).cast::<T>() }
}

/// Milliseconds since 1970, from the clock that nginx updates once per round of its event loop.
#[inline]
pub fn now_ms() -> u64 {
    // SAFETY: nginx keeps ngx_cached_time pointing to a complete slot; workers are single-threaded.
    unsafe {
        let now = nginx_sys::ngx_cached_time;
        ((*now).sec as u64).wrapping_mul(1000).wrapping_add((*now).msec as u64)
    }
}
