//! Header changes: setting and removing fields of requests and responses in nginx's structures.
//!
//! nginx keeps known fields twice, in a list and as a pointer into it (`headers_in.host`), so a
//! change has to reach both. Elements are never moved within a list: other modules may hold
//! pointers to them.

use std::ffi::c_void;

use nginx_sys::{
    ngx_hash_find, ngx_http_core_main_conf_t, ngx_http_core_module, ngx_http_header_t, ngx_http_request_t,
    ngx_list_init, ngx_list_push, ngx_list_t, ngx_pnalloc, ngx_table_elt_t,
};
use weir_engine::HeaderChange;
use weir_http::{header_hash, is_changeable, is_sendable};

use crate::meter::{self, Timing};
use crate::{ffi, worker};

/// Makes changes to the request.
///
/// # Safety
/// `r` is a live main request that has not been proxied yet.
pub unsafe fn change_request(r: *mut ngx_http_request_t, changes: &[HeaderChange], timing: Timing) {
    let begun = worker::ticks();
    for change in changes {
        // SAFETY: as the caller promises.
        unsafe {
            match &change.value {
                Some(value) => set_request(r, &change.name, value),
                None => remove_request(r, &change.name),
            };
        }
    }
    meter::book(meter::ModulePart::HeaderChanges, timing, begun, true);
}

/// Sets a field of the request, replacing all of that name.
///
/// # Safety
/// As for [`change_request`].
pub unsafe fn set_request(r: *mut ngx_http_request_t, name: &[u8], value: &[u8]) -> Option<()> {
    // SAFETY: a live request.
    unsafe {
        if !is_changeable(name) || !is_sendable(value) {
            return None;
        }
        let list = &raw mut (*r).headers_in.headers;
        let mut of_name = ffi::fields(list).filter(|field| ffi::bytes(&(**field).key).eq_ignore_ascii_case(name));
        let (first, more) = (of_name.next(), of_name.next().is_some());
        drop(of_name);
        let value = ffi::copy((*r).pool, value)?;
        match first {
            Some(field) => {
                (*field).value = value;
                if more {
                    keep_request(r, name, 1)?;
                }
            }
            None => {
                push(r, list, name, value)?;
            }
        }
        know_request(r, name)
    }
}

/// Adds a field to the request, beside others of that name.
///
/// # Safety
/// As for [`change_request`].
pub unsafe fn add_request(r: *mut ngx_http_request_t, name: &[u8], value: &[u8]) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe {
        if !is_changeable(name) || !is_sendable(value) {
            return None;
        }
        let value = ffi::copy((*r).pool, value)?;
        push(r, &raw mut (*r).headers_in.headers, name, value)?;
        know_request(r, name)
    }
}

/// Removes all fields of a name from the request.
///
/// # Safety
/// As for [`change_request`].
pub unsafe fn remove_request(r: *mut ngx_http_request_t, name: &[u8]) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe { if is_changeable(name) { keep_request(r, name, 0) } else { None } }
}

/// Gives a subrequest a list of its own, so that its fields can be changed: it has that of its parent.
///
/// # Safety
/// As for [`change_request`].
pub unsafe fn separate(r: *mut ngx_http_request_t) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe { rebuild(r, |_| true) }
}

/// Removes all fields of a name but the first `keep`, by building a new list.
unsafe fn keep_request(r: *mut ngx_http_request_t, name: &[u8], keep: usize) -> Option<()> {
    // SAFETY: a live request.
    unsafe {
        let is_named = |field: &ngx_table_elt_t| ffi::bytes(&field.key).eq_ignore_ascii_case(name);
        let count = ffi::fields(&raw const (*r).headers_in.headers).filter(|field| is_named(&**field)).count();
        if count <= keep {
            return Some(());
        }
        let mut seen = 0;
        rebuild(r, |field| {
            seen += usize::from(is_named(field));
            !is_named(field) || seen <= keep
        })?;
        know_request(r, name)
    }
}

/// Builds a new list of the fields that are to be kept.
unsafe fn rebuild(r: *mut ngx_http_request_t, mut keep: impl FnMut(&ngx_table_elt_t) -> bool) -> Option<()> {
    /// Room for fields to be added later, and never zero, for which nginx's lists are not made.
    const SPARE: usize = 4;
    // SAFETY: a live request; the old list's memory stays in the pool, so pointers into it that
    // other modules hold stay good.
    unsafe {
        let old: ngx_list_t = std::ptr::read(&raw const (*r).headers_in.headers);
        // A list of one part points to itself, so the copy has to be walked where it was.
        let list = &raw mut (*r).headers_in.headers;
        let kept: Vec<ngx_table_elt_t> =
            ffi::fields(list).filter(|field| keep(&**field)).map(|field| std::ptr::read(field)).collect();
        if ngx_list_init(list, (*r).pool, kept.len() + SPARE, size_of::<ngx_table_elt_t>()) != ffi::code::OK {
            std::ptr::write(list, old);
            return None;
        }
        for field in kept {
            // Cannot fail: the part has room for all of them.
            ngx_list_push(list).cast::<ngx_table_elt_t>().write(field);
        }
        Some(())
    }
}

/// Points nginx's own pointer for a known field to what the list now says.
unsafe fn know_request(r: *mut ngx_http_request_t, name: &[u8]) -> Option<()> {
    // SAFETY: a live request; the hash of known fields and their offsets are nginx's own.
    unsafe {
        let core: *mut ngx_http_core_main_conf_t = (*(*r).main_conf.add(ngx_http_core_module.ctx_index)).cast();
        let lower = name.to_ascii_lowercase();
        let hash = header_hash(&lower) as usize;
        let known: *const ngx_http_header_t =
            ngx_hash_find(&raw mut (*core).headers_in_hash, hash, lower.as_ptr().cast_mut(), lower.len()).cast();
        if known.is_null() || (*known).offset == 0 {
            return Some(());
        }
        let of_name: Vec<*mut ngx_table_elt_t> = ffi::fields(&raw const (*r).headers_in.headers)
            .filter(|field| ffi::bytes(&(**field).key).eq_ignore_ascii_case(name))
            .collect();
        let place = (&raw mut (*r).headers_in).cast::<u8>().add((*known).offset).cast::<c_void>();
        point(r, place, &lower, &of_name)
    }
}

/// nginx before 1.23 keeps an array of pointers for fields that may be repeated.
#[cfg(not(nginx_linked_headers))]
unsafe fn point(
    r: *mut ngx_http_request_t,
    place: *mut c_void,
    name: &[u8],
    fields: &[*mut ngx_table_elt_t],
) -> Option<()> {
    use nginx_sys::{ngx_array_create, ngx_array_push, ngx_array_t};
    // SAFETY: `place` is what nginx's table of known fields says: an array for these two names,
    // else a pointer.
    unsafe {
        if !matches!(name, b"cookie" | b"x-forwarded-for") {
            *place.cast::<*mut ngx_table_elt_t>() = fields.first().copied().unwrap_or(std::ptr::null_mut());
            return Some(());
        }
        let array = place.cast::<ngx_array_t>();
        if fields.is_empty() {
            array.write(std::mem::zeroed());
            return Some(());
        }
        let made = ngx_array_create((*r).pool, fields.len(), size_of::<*mut ngx_table_elt_t>());
        if made.is_null() {
            return None;
        }
        array.write(std::ptr::read(made));
        for field in fields {
            *ngx_array_push(array).cast::<*mut ngx_table_elt_t>() = *field; // within the room just made
        }
        Some(())
    }
}

/// nginx since 1.23 links fields of one name.
#[cfg(nginx_linked_headers)]
unsafe fn point(
    _: *mut ngx_http_request_t,
    place: *mut c_void,
    _: &[u8],
    fields: &[*mut ngx_table_elt_t],
) -> Option<()> {
    // SAFETY: `place` is a pointer to the first field of the name, `next` to the one after.
    unsafe {
        let mut link = place.cast::<*mut ngx_table_elt_t>();
        for field in fields {
            *link = *field;
            link = &raw mut (**field).next;
        }
        *link = std::ptr::null_mut();
        Some(())
    }
}

/// Room in a list that nginx has not made: only our own fields go there.
const FIELDS_OF_A_NEW_LIST: usize = 4;

/// Adds a field to the end of a list.
unsafe fn push(
    r: *mut ngx_http_request_t,
    list: *mut ngx_list_t,
    name: &[u8],
    value: nginx_sys::ngx_str_t,
) -> Option<*mut ngx_table_elt_t> {
    // SAFETY: a live request and one of its lists; everything is copied to its pool.
    unsafe {
        // nginx does not make the list of an HTTP/0.9 request, which cannot have header fields.
        if (*list).last.is_null() {
            let size = size_of::<ngx_table_elt_t>();
            if nginx_sys::ngx_list_init(list, (*r).pool, FIELDS_OF_A_NEW_LIST, size) != ffi::code::OK {
                return None;
            }
        }
        let key = ffi::copy((*r).pool, name)?;
        let lower = ngx_pnalloc((*r).pool, name.len()).cast::<u8>();
        let field = ngx_list_push(list).cast::<ngx_table_elt_t>();
        if field.is_null() || lower.is_null() {
            return None;
        }
        std::slice::from_raw_parts_mut(lower, name.len()).copy_from_slice(&name.to_ascii_lowercase());
        let mut filled: ngx_table_elt_t = std::mem::zeroed();
        filled.hash = header_hash(name) as usize;
        filled.key = key;
        filled.value = value;
        filled.lowcase_key = lower;
        field.write(filled);
        Some(field)
    }
}

/// Makes changes to the response.
///
/// # Safety
/// `r` is a live main request whose response header has not been sent.
pub unsafe fn change_response(r: *mut ngx_http_request_t, changes: &[HeaderChange], timing: Timing) {
    let begun = worker::ticks();
    for change in changes.iter().filter(|change| is_changeable(&change.name)) {
        // SAFETY: as the caller promises.
        unsafe {
            match &change.value {
                Some(value) if is_sendable(value) => set_response(r, &change.name, value),
                Some(_) => None,
                None => remove_response(r, &change.name),
            };
        }
    }
    meter::book(meter::ModulePart::HeaderChanges, timing, begun, true);
}

/// Sets a field of the response, replacing all of that name.
///
/// # Safety
/// As for [`change_response`].
pub unsafe fn set_response(r: *mut ngx_http_request_t, name: &[u8], value: &[u8]) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe {
        if !is_changeable(name) || !is_sendable(value) {
            return None;
        }
        remove_response(r, name)?;
        let value = ffi::copy((*r).pool, value)?;
        let out = &raw mut (*r).headers_out;
        if name.eq_ignore_ascii_case(b"content-type") {
            (*out).content_type = value;
            (*out).content_type_len = ffi::bytes(&value).iter().position(|byte| *byte == b';').unwrap_or(value.len);
            (*out).content_type_lowcase = std::ptr::null_mut();
            (*out).charset.len = 0;
            return Some(());
        }
        let field = push(r, &raw mut (*out).headers, name, value)?;
        if let Some(place) = known_response(out, name) {
            *place = field;
        }
        Some(())
    }
}

/// Adds a field to the response, beside others of that name; of those that nginx keeps one of, it replaces it.
///
/// # Safety
/// As for [`change_response`].
pub unsafe fn add_response(r: *mut ngx_http_request_t, name: &[u8], value: &[u8]) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe {
        let out = &raw mut (*r).headers_out;
        // Of challenges nginx sends all, though it points to the first.
        let is_repeated = name.eq_ignore_ascii_case(b"www-authenticate");
        if name.eq_ignore_ascii_case(b"content-type") || (!is_repeated && known_response(out, name).is_some()) {
            return set_response(r, name, value);
        }
        if !is_changeable(name) || !is_sendable(value) {
            return None;
        }
        let value = ffi::copy((*r).pool, value)?;
        push(r, &raw mut (*out).headers, name, value).map(|_| ())
    }
}

/// Removes all fields of a name from the response.
///
/// # Safety
/// As for [`change_response`].
pub unsafe fn remove_response(r: *mut ngx_http_request_t, name: &[u8]) -> Option<()> {
    // SAFETY: as for `change_response`. nginx does not send fields whose hash is 0.
    unsafe {
        if !is_changeable(name) {
            return None;
        }
        let out = &raw mut (*r).headers_out;
        for field in ffi::fields(&raw const (*out).headers) {
            if ffi::bytes(&(*field).key).eq_ignore_ascii_case(name) {
                (*field).hash = 0;
            }
        }
        if name.eq_ignore_ascii_case(b"content-type") {
            (*out).content_type.len = 0;
            (*out).content_type_len = 0;
        } else if name.eq_ignore_ascii_case(b"last-modified") {
            (*out).last_modified_time = -1; // nginx would write the field from it
        }
        let Some(place) = known_response(out, name) else { return Some(()) };
        *place = std::ptr::null_mut();
        if name.eq_ignore_ascii_case(b"server") || name.eq_ignore_ascii_case(b"date") {
            // nginx writes these two fields unless another module has; a field that is not sent counts as written.
            let silent = push(r, &raw mut (*out).headers, name, ffi::static_str(b""))?;
            (*silent).hash = 0;
            *place = silent;
        }
        Some(())
    }
}

/// nginx's own pointer to a known field of the response.
unsafe fn known_response(
    out: *mut nginx_sys::ngx_http_headers_out_t,
    name: &[u8],
) -> Option<*mut *mut ngx_table_elt_t> {
    // SAFETY: fields of a live structure.
    unsafe {
        let known: [(&[u8], *mut *mut ngx_table_elt_t); 10] = [
            (b"server", &raw mut (*out).server),
            (b"date", &raw mut (*out).date),
            (b"content-encoding", &raw mut (*out).content_encoding),
            (b"location", &raw mut (*out).location),
            (b"refresh", &raw mut (*out).refresh),
            (b"last-modified", &raw mut (*out).last_modified),
            (b"accept-ranges", &raw mut (*out).accept_ranges),
            (b"www-authenticate", &raw mut (*out).www_authenticate),
            (b"expires", &raw mut (*out).expires),
            (b"etag", &raw mut (*out).etag),
        ];
        known.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, place)| place)
    }
}
