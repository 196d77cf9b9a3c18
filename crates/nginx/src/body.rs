//! The request's body: read only when a rule asks for it, handed over as one slice.

use bumpalo::Bump;
use nginx_sys::{
    NGX_HTTP_PUT, ngx_http_core_run_phases, ngx_http_read_client_request_body, ngx_http_request_t,
    ngx_http_upstream_conf_t, ngx_int_t,
};

use weir_engine::Plan;
use weir_inspect::UNKNOWN_LENGTH;

use crate::configuration::Location;
use crate::transaction::{self, Body, Inspection};
use crate::{buffer, ffi, meter, worker};

/// nginx's lowest status that a handler may return as such.
const SPECIAL_RESPONSE: ngx_int_t = 300;

/// The result of asking for the body.
pub enum BodyReading {
    /// The body has been read.
    Read,
    /// nginx reads it and comes back to our handler.
    Later,
    /// nginx refused the request.
    Refused(ngx_int_t),
}

/// Whether the request has a body.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn is_announced(r: *const ngx_http_request_t) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*r).headers_in.content_length_n > 0 || (*r).headers_in.chunked() != 0 }
}

/// Whether the body is a stream that must not be held up: gRPC over HTTP/2 without a length, on
/// its way to a `grpc_pass`. What the client says of its content is not enough: elsewhere it would
/// be a way past the rules, as an exception for every `Upgrade` header would be. (An upgraded
/// connection has no request body, so it needs none.)
///
/// # Safety
/// `r` is a live request.
pub unsafe fn is_stream(r: *const ngx_http_request_t) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    // SAFETY: as the caller promises; content_type is null or one of the request's fields.
    unsafe {
        if (*r).http_version < 2000 || (*r).headers_in.content_length_n >= 0 {
            return false;
        }
        let content_type = (*r).headers_in.content_type.as_ref();
        let says_so = content_type.is_some_and(|field| {
            ffi::bytes(&field.value).get(..GRPC.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(GRPC))
        });
        says_so && goes_to_grpc(r)
    }
}

/// Whether the location has a `grpc_pass` (to a name or address; one with variables is not seen).
///
/// # Safety
/// `r` is a live request.
unsafe fn goes_to_grpc(r: *const ngx_http_request_t) -> bool {
    // SAFETY: a worker has a cycle. The module is looked up by name
    // because nginx may be built without it. Its location configuration begins with that of its
    // upstream in every version so far, whose server is null unless the location passes to one.
    unsafe {
        let grpc = ffi::module_named((*worker::cycle()).modules, c"ngx_http_grpc_module");
        grpc.is_some_and(|grpc| {
            let location = (*(*r).loc_conf.add((*grpc).ctx_index)).cast::<ngx_http_upstream_conf_t>();
            location.as_ref().is_some_and(|conf| !conf.upstream.is_null())
        })
    }
}

/// Whether its stated length alone is past the limit.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn is_announced_too_long(r: *const ngx_http_request_t, location: &Location) -> bool {
    // SAFETY: as the caller promises.
    let length = unsafe { (*r).headers_in.content_length_n };
    length > 0 && length as u64 > location.body_limit as u64
}

/// Length of a body that has not been read, for inspectors; 0 of a stream, which nobody holds up.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn announced(r: *const ngx_http_request_t) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        match (*r).headers_in.content_length_n {
            _ if is_stream(r) => 0,
            length if length > 0 => length as u64,
            _ if is_announced(r) => UNKNOWN_LENGTH,
            _ => 0,
        }
    }
}

/// Has nginx read the body.
///
/// # Safety
/// `r` is a live main request in a phase handler, `inspection` its inspection.
pub unsafe fn read(r: *mut ngx_http_request_t, inspection: *mut Inspection) -> BodyReading {
    // SAFETY: as the caller promises. References to the inspection must not span the call, which
    // may run `arrived`.
    unsafe {
        if !(*r).request_body.is_null() {
            (*inspection).body = Body::Read; // another module has had it read
            return BodyReading::Read;
        }
        (*inspection).body = Body::Reading;
        (*r).set_request_body_in_single_buf(1);
        if (*r).method == NGX_HTTP_PUT as usize && (*r).content_handler.is_none() {
            // nginx's WebDAV handler takes what was read only from a file that it can give its final name.
            (*r).set_request_body_in_file_only(1);
            (*r).set_request_body_in_persistent_file(1);
            (*r).set_request_body_in_clean_file(1);
            (*r).set_request_body_file_group_access(1);
            (*r).set_request_body_file_log_level(0);
        }
        let answer = ngx_http_read_client_request_body(r, Some(arrived));
        if answer >= SPECIAL_RESPONSE || answer == ffi::code::ERROR {
            return BodyReading::Refused(answer);
        }
        // nginx counts the reader as one more user of the request; we are the same one as before.
        (*(*r).main).set_count((*(*r).main).count() - 1);
        if (*inspection).body == Body::Read {
            return BodyReading::Read;
        }
        (*inspection).body = Body::Awaited;
        BodyReading::Later
    }
}

/// nginx has the whole body, maybe already within [`read`].
unsafe extern "C" fn arrived(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with the live request that `read` was called for.
    unsafe {
        (*r).write_event_handler = Some(ngx_http_core_run_phases);
        let Some(inspection) = transaction::find(r) else { return };
        let awaited = (*inspection).body == Body::Awaited;
        (*inspection).body = Body::Read;
        if awaited {
            ngx_http_core_run_phases(r);
        }
    }
}

/// Gives the transaction what nginx has read, up to the limit. Where only signatures needed it, which have seen it pass,
/// nothing is read back from a file; inspectors get no more than they are to be sent.
///
/// # Safety
/// `r` is live and its body has been read.
pub unsafe fn give(r: *mut ngx_http_request_t, inspection: &mut Inspection, location: &Location, plan: &Plan) {
    let is_kept = plan.reads_body() || plan.inspected_bytes() > 0 || !inspection.outcome.absorbs();
    inspection.outcome.body_passed = !is_kept;
    if !is_kept {
        inspection.body = Body::Passed;
        return;
    }
    let begun = worker::ticks();
    // The pieces live as long as the request's pool.
    let is_read = plan.reads_body() || plan.inspected_bytes() == 0;
    let limit = if is_read { location.body_limit } else { plan.inspected_bytes() };
    // SAFETY: as above.
    let (body, length) = unsafe { collect(r, limit, inspection.transaction.arena()) };
    inspection.outcome.body_bytes = length;
    inspection.body_cut = !is_read && length > limit as u64;
    set(inspection, location, body, is_read && length > limit as u64);
    meter::book(meter::ModulePart::RequestBody, inspection.timing, begun, true);
}

/// Gives the transaction its body, or the beginning of it.
pub fn set(inspection: &mut Inspection, location: &Location, body: &'static [u8], is_truncated: bool) {
    inspection.body = Body::Given;
    if is_truncated {
        inspection.transaction.set_body_truncated();
    }
    if inspection.placed(location).is_some_and(|placed| placed.plan.inflates()) {
        inspection.transaction.set_body_inflated(body, location.body_limit);
    } else {
        inspection.transaction.set_body(body);
    }
}

/// The body as one slice of at most `limit` bytes, and its whole length. One buffer in memory is
/// borrowed; several, or those in a file, are put together in the arena.
unsafe fn collect(r: *mut ngx_http_request_t, limit: usize, arena: &'static Bump) -> (&'static [u8], u64) {
    // SAFETY: the chain ends with null; its buffers live as long as the request's pool, and nginx
    // does not write to them again.
    unsafe {
        let Some(body) = (*r).request_body.as_ref() else { return (&[], 0) };
        let (mut length, mut pieces) = (0, 0usize);
        let mut link = body.bufs;
        while let Some(one) = link.as_ref() {
            length += buffer::size(one.buf);
            pieces += 1;
            link = one.next;
        }
        if let (1, Some(one)) = (pieces, body.bufs.as_ref())
            && buffer::in_memory(one.buf)
        {
            let whole = std::slice::from_raw_parts((*one.buf).pos, buffer::size(one.buf) as usize);
            return (&whole[..whole.len().min(limit)], length);
        }
        let wanted = usize::try_from(length).unwrap_or(usize::MAX).min(limit);
        let joined = arena.alloc_slice_fill_copy(wanted, 0u8);
        let mut filled = 0;
        link = body.bufs;
        while let (Some(one), true) = (link.as_ref(), filled < wanted) {
            filled += buffer::copy(one.buf, &mut joined[filled..]);
            link = one.next;
        }
        (&joined[..filled], length)
    }
}
