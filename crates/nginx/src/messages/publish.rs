//! Messages that clients publish with `POST` or `PUT`.

use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::{
    NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_http_finalize_request, ngx_http_read_client_request_body, ngx_http_request_t,
    ngx_int_t,
};
use weir_engine::Response;

use super::request::{problem, refused, rights, target, topic_in_path};
use super::state::{deliver_soon, with_hub};
use crate::gateway::Routed;
use crate::{buffer, fault, ffi, respond, transaction};

/// nginx's lowest status that a handler may return as such.
const SPECIAL_RESPONSE: ngx_int_t = 300;

/// Has nginx read the message.
///
/// # Safety
/// `r` is a live main request whose content this is.
pub unsafe fn begin(r: *mut ngx_http_request_t, _routed: &Rc<Routed>) -> ngx_int_t {
    // SAFETY: as the caller promises.
    unsafe {
        let status = ngx_http_read_client_request_body(r, Some(arrived));
        if status >= SPECIAL_RESPONSE { status } else { ffi::code::DONE }
    }
}

unsafe extern "C" fn arrived(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with the request whose body it has read.
    unsafe {
        let answered = fault::contain_request(r, "messages", || respond::answer(r, Arc::new(publish(r))));
        ngx_http_finalize_request(r, answered.unwrap_or(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t));
    }
}

unsafe fn publish(r: *mut ngx_http_request_t) -> Response {
    // SAFETY: as for `arrived`.
    unsafe {
        let broken = || problem(500, "the request has lost its route", None);
        let Some(inspection) = transaction::find(r) else { return broken() };
        let Some(routed) = (*inspection).routed.clone() else { return broken() };
        let Some(messages) = target(&routed) else { return broken() };
        let transaction = &(*inspection).transaction;
        let in_path = topic_in_path(&routed, transaction.head.path);
        let in_query = transaction.arguments().iter().filter(|pair| pair.name == b"topic").map(|pair| pair.value);
        let topic = match *in_path.into_iter().chain(in_query).take(2).collect::<Vec<_>>() {
            [topic] => topic,
            [] => {
                return problem(
                    400,
                    "the request names no topic",
                    Some("name it behind the path of the route, or as `?topic=`"),
                );
            }
            _ => return problem(400, "the request names two topics", None),
        };
        let Ok(topic) = std::str::from_utf8(topic) else { return problem(400, "the topic is not UTF-8", None) };
        if let Err(refusal) = rights(&*inspection, messages).may_publish(topic) {
            return refused(&refusal, &routed);
        }
        let payload = body(r);
        match with_hub(|hub| hub.publish(&messages.topics, topic, &payload, ffi::now_ms())) {
            Some(Ok(cursor)) => {
                deliver_soon();
                let body = format!("{{\"id\":\"{cursor}\"}}\n").into_bytes();
                Response { status: 200, body, content_type: b"application/json".to_vec(), headers: Vec::new() }
            }
            Some(Err(refusal)) => refused(&refusal, &routed),
            None => {
                problem(503, "this worker has no memory for messages", Some("see weir_messages_zone and the error log"))
            }
        }
    }
}

/// The body that nginx has read.
unsafe fn body(r: *mut ngx_http_request_t) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: a live request; its body is a chain of live buffers.
    unsafe {
        let Some(body) = (*r).request_body.as_ref() else { return bytes };
        let mut link = body.bufs;
        while let Some(one) = link.as_ref() {
            let begin = bytes.len();
            bytes.resize(begin + buffer::size(one.buf) as usize, 0);
            let copied = buffer::copy(one.buf, &mut bytes[begin..]);
            bytes.truncate(begin + copied);
            link = one.next;
        }
    }
    bytes
}
