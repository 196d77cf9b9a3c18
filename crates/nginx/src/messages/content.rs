//! The content of a route of messages: which way a request goes, and streams of events.

use std::sync::Arc;

use nginx_sys::{
    NGX_HTTP_FLUSH, NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_http_discard_request_body, ngx_http_request_t,
    ngx_http_send_header, ngx_http_send_special, ngx_http_test_reading, ngx_int_t,
};
use weir_engine::Response;
use weir_http::header_hash;
use weir_messages::cursor::Start;
use weir_messages::hub::{Refusal, chunked};
use weir_messages::sse;
use weir_messages::subscriber::Form;

use super::request::{
    Wanted, can_write, foreign_page, is_own_origin, join, no_topic, problem, refused, rights, target, wanted,
};
use super::state::{Filtered, deliver_soon, with_hub};
use super::{publish, websocket};
use crate::gateway::Routed;
use crate::transaction::Inspection;
use crate::{fault, ffi, headers, respond, transaction};

/// Has the request served here, when nginx comes to its content; false if this worker has no messages.
///
/// # Safety
/// `r` is a live main request in the rewrite phase, and its route is one of messages.
pub unsafe fn serve(r: *mut ngx_http_request_t) -> bool {
    let is_there = with_hub(|_| ()).is_some();
    if is_there {
        // SAFETY: as the caller promises.
        unsafe { (*r).content_handler = Some(content) };
    }
    is_there
}

unsafe extern "C" fn content(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request.
    unsafe { fault::contain_request(r, "messages", || begin(r)).unwrap_or(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t) }
}

unsafe fn begin(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: as for `content`; references to the inspection end before nginx is called.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t };
        let Some(routed) = (*inspection).routed.clone() else { return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t };
        let Some(messages) = target(&routed) else { return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t };
        let method = (*inspection).transaction.head.method;
        let is_upgrade = websocket::is_upgrade(&*inspection);
        if !is_own_origin(&*inspection, &messages.origins) {
            return respond::answer(r, Arc::new(foreign_page()));
        }
        match method {
            b"GET" if messages.subscribe => {}
            b"POST" | b"PUT" if messages.publish => return publish::begin(r, &routed),
            _ => {
                let allow = match (messages.subscribe, messages.publish) {
                    (true, true) => "GET, POST, PUT",
                    (true, false) => "GET",
                    _ => "POST, PUT",
                };
                let mut refusal = problem(405, "this route of messages does not take this method", None);
                refusal.headers.push((b"Allow".to_vec(), allow.as_bytes().to_vec()));
                return respond::answer(r, Arc::new(refusal));
            }
        }
        let wanted = match wanted(&*inspection, &routed) {
            Ok(wanted) => wanted,
            Err(refusal) => return respond::answer(r, Arc::new(refusal)),
        };
        if is_upgrade {
            return websocket::begin(r, &routed, &wanted);
        }
        let discarded = ngx_http_discard_request_body(r);
        if discarded != ffi::code::OK {
            return discarded;
        }
        let accepts = (*inspection).transaction.header(b"accept", const { header_hash(b"accept") }).unwrap_or_default();
        let is_events =
            accepts.split(|byte| *byte == b',').any(|one| one.trim_ascii().starts_with(b"text/event-stream"));
        match (is_events, wanted.presence) {
            (true, _) => events(r, &routed, &wanted),
            (false, true) => respond::answer(r, Arc::new(present(&*inspection, &routed, &wanted))),
            (false, false) => poll(r, &routed, &wanted),
        }
    }
}

/// The answer that says who is connected.
fn present(inspection: &Inspection, routed: &Routed, wanted: &Wanted) -> Response {
    let (Some(messages), [topic]) = (target(routed), &*wanted.topics) else {
        return problem(
            400,
            "`presence` is of one topic",
            Some("name it behind the path of the route, or as `?topic=`"),
        );
    };
    let may = rights(inspection, messages).may_subscribe(std::iter::once(&**topic));
    let mut body = Vec::new();
    let found = may.and_then(|()| {
        with_hub(|hub| hub.present(&messages.topics, topic, &mut body)).unwrap_or(Err(Refusal::Unavailable))
    });
    if let Err(refusal) = found {
        return refused(&refusal, routed);
    }
    body.push(b'\n');
    let headers = vec![(b"Cache-Control".to_vec(), b"no-store".to_vec())];
    Response { status: 200, body, content_type: b"application/json".to_vec(), headers }
}

/// Server-sent events.
unsafe fn events(r: *mut ngx_http_request_t, routed: &Routed, wanted: &Wanted) -> ngx_int_t {
    // SAFETY: as for `begin`.
    unsafe {
        if wanted.topics.is_empty() {
            return respond::answer(r, Arc::new(no_topic()));
        }
        let is_multiplexed = (*r).http_version >= 2000;
        let is_chunked = !is_multiplexed && (*r).http_version >= 1001;
        let form = Form::Events { is_json: wanted.is_json, is_chunked };
        let (key, begin) = match join(r, routed, form, wanted) {
            Ok(joined) => joined,
            Err(refusal) => return respond::answer(r, Arc::new(refused(&refusal, routed))),
        };
        (*r).headers_out.status = 200;
        (*r).headers_out.content_length_n = -1;
        headers::set_response(r, b"content-type", b"text/event-stream");
        headers::set_response(r, b"cache-control", b"no-store");
        headers::set_response(r, b"x-accel-buffering", b"no"); // an nginx in front passes events on at once
        plain(r);
        let sent = ngx_http_send_header(r);
        if sent == ffi::code::ERROR || sent > ffi::code::OK || (*r).header_only() != 0 {
            with_hub(|hub| hub.leave(key));
            return sent;
        }
        if ngx_http_send_special(r, NGX_HTTP_FLUSH as usize) == ffi::code::ERROR {
            with_hub(|hub| hub.leave(key));
            return ffi::code::ERROR;
        }
        let is_chunk = (*r).chunked() != 0;
        with_hub(|hub| {
            let one = hub.subscriber(key)?;
            one.set_form(Form::Events { is_json: wanted.is_json, is_chunked: is_chunk });
            one.owner.filtered = is_multiplexed.then(Filtered::default);
            // One that resumes has an id, and this one would hide a gap that it has not been told of.
            if !matches!(wanted.start, Start::After(_)) {
                let mut id = Vec::new();
                sse::at(begin, &mut id);
                hub.say(key, chunked(is_chunk, id));
            }
            Some(())
        });
        (*r).read_event_handler = Some(ngx_http_test_reading);
        (*r).write_event_handler = Some(can_write);
        (*(*r).main).set_count((*(*r).main).count() + 1);
        // Later: writing may end the request, which nginx still has in its hands.
        deliver_soon();
        ffi::code::DONE
    }
}

/// Keeps nginx from compressing what is not written through its filters.
unsafe fn plain(r: *mut ngx_http_request_t) {
    // SAFETY: a live request.
    unsafe {
        (*r).set_gzip_tested(1);
        (*r).set_gzip_ok(0);
    }
}

/// A request that waits for messages, and is answered with the first ones.
unsafe fn poll(r: *mut ngx_http_request_t, routed: &Routed, wanted: &Wanted) -> ngx_int_t {
    // SAFETY: as for `begin`.
    unsafe {
        if wanted.topics.is_empty() {
            return respond::answer(r, Arc::new(no_topic()));
        }
        if let Err(refusal) = join(r, routed, Form::Poll, wanted) {
            return respond::answer(r, Arc::new(refused(&refusal, routed)));
        }
        (*r).read_event_handler = Some(ngx_http_test_reading);
        (*(*r).main).set_count((*(*r).main).count() + 1);
        deliver_soon();
        ffi::code::DONE
    }
}
