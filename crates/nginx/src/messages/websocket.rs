//! WebSockets of subscribers: the handshake, and the frames that clients send.

use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::{
    NGX_HTTP_FLUSH, ngx_handle_read_event, ngx_http_request_t, ngx_http_send_header, ngx_http_send_special, ngx_int_t,
    ngx_post_event, ngx_posted_events,
};
use weir_http::header_hash;
use weir_messages::frame::{self, About, Request};
use weir_messages::hub::{Key, Refusal, text_frame};
use weir_messages::subscriber::Form;
use weir_messages::websocket::{Accepted, Decoder, Event, Handshake, Opcode, encode};

use super::connection::{self, Ending};
use super::counters;
use super::delivery::flush;
use super::request::{self, Wanted, problem, refused, target};
use super::state::{deliver_soon, key_of, with_hub};
use crate::gateway::Routed;
use crate::transaction::Inspection;
use crate::{fault, ffi, headers, respond, transaction};

/// Bytes that are read from a connection at a time.
const READ_BYTES: usize = 16 << 10;

/// Reads of one connection before others have their turn.
const READS: usize = 16;

/// The longest frame of a client that may not publish, and of others beyond the message in it: topics, escapes of JSON.
const FRAME_OVERHEAD: usize = 64 << 10;

/// Bytes of answers that may wait for a client that does not read them.
const ANSWERS_BYTES: usize = 256 << 10;

/// Whether a request asks for a WebSocket.
pub fn is_upgrade(inspection: &Inspection) -> bool {
    let upgrade = inspection.transaction.header(b"upgrade", const { header_hash(b"upgrade") });
    upgrade.is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

/// Answers the handshake, and subscribes.
///
/// # Safety
/// `r` is a live main request whose content this is.
pub unsafe fn begin(r: *mut ngx_http_request_t, routed: &Rc<Routed>, wanted: &Wanted) -> ngx_int_t {
    // SAFETY: as the caller promises; references to the inspection end before nginx is called.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return ffi::code::ERROR };
        let Some(messages) = target(routed) else { return ffi::code::ERROR };
        if (*r).http_version >= 2000 {
            return respond::answer(r, Arc::new(problem(400, "a WebSocket needs HTTP/1.1", None)));
        }
        let accepted = match check(&*inspection) {
            Ok(accepted) => accepted,
            Err(refusal) => return respond::answer(r, Arc::new(refusal)),
        };
        let key = match request::join(r, routed, Form::WebSocket, wanted) {
            Ok((key, at)) => {
                if !wanted.topics.is_empty() {
                    let filters: Vec<&str> = wanted.topics.iter().map(String::as_str).collect();
                    say(key, |out| frame::subscribed(&filters, at, out));
                }
                key
            }
            Err(refusal) => return respond::answer(r, Arc::new(refused(&refusal, routed))),
        };
        let most = with_hub(|hub| {
            let may = hub.subscriber(key)?.owner.rights.may_publish_frames();
            hub.message_max(&messages.topics).filter(|_| may)
        });
        give(key, Box::new(Decoder::new(most.flatten().unwrap_or(0) * 4 / 3 + FRAME_OVERHEAD)));
        (*r).headers_out.status = 101;
        (*r).headers_out.content_length_n = -1;
        headers::set_response(r, b"upgrade", b"websocket");
        headers::set_response(r, b"sec-websocket-accept", &accepted.accept);
        if let Some(subprotocol) = accepted.subprotocol {
            headers::set_response(r, b"sec-websocket-protocol", subprotocol.as_bytes());
        }
        (*r).set_keepalive(0);
        let sent = ngx_http_send_header(r);
        if sent == ffi::code::ERROR
            || sent > ffi::code::OK
            || ngx_http_send_special(r, NGX_HTTP_FLUSH as usize) == ffi::code::ERROR
        {
            with_hub(|hub| hub.leave(key));
            return ffi::code::ERROR;
        }
        (*r).read_event_handler = Some(can_read);
        (*r).write_event_handler = Some(request::can_write);
        (*(*r).main).set_count((*(*r).main).count() + 1);
        // Later: writing may end the request, which nginx still has in its hands.
        deliver_soon();
        // Frames may have come together with the request.
        ngx_post_event((*(*r).connection).read, &raw mut ngx_posted_events);
        ffi::code::DONE
    }
}

fn check(inspection: &Inspection) -> Result<Accepted, weir_engine::Response> {
    let of = |name: &'static [u8]| inspection.transaction.header_values(name, header_hash(name)).collect::<Vec<_>>();
    let handshake = Handshake {
        upgrade: &of(b"upgrade"),
        connection: &of(b"connection"),
        version: &of(b"sec-websocket-version"),
        key: &of(b"sec-websocket-key"),
        protocols: &of(b"sec-websocket-protocol"),
    };
    handshake.check().map_err(|error| {
        let mut refusal = problem(error.status(), &error.to_string(), None);
        if error.status() == 426 {
            refusal.headers.push((b"Sec-WebSocket-Version".to_vec(), b"13".to_vec()));
        }
        refusal
    })
}

unsafe extern "C" fn can_read(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with a live request.
    unsafe {
        fault::contain("messages", || {
            let Some(key) = key_of(r) else { return };
            if let Some(ending) = read(r, key) {
                connection::close(key, ending);
            } else {
                flush();
            }
        });
    }
}

/// Reads what the client has sent; how the connection ends, if it does.
unsafe fn read(r: *mut ngx_http_request_t, key: Key) -> Option<Ending> {
    // SAFETY: a live request; what nginx has read beyond its head lies in header_in.
    unsafe {
        let early = (*r).header_in;
        if !early.is_null() && (*early).pos < (*early).last {
            let length = (*early).last.offset_from((*early).pos) as usize;
            let bytes = std::slice::from_raw_parts((*early).pos, length);
            (*early).pos = (*early).last;
            if let Some(ending) = feed(key, bytes) {
                return Some(ending);
            }
        }
        let connection = (*r).connection;
        let Some(recv) = (*connection).recv else { return Some(Ending::Broken) };
        let mut buffer = [0u8; READ_BYTES];
        for _ in 0..READS {
            match recv(connection, buffer.as_mut_ptr(), READ_BYTES) {
                -2 => {
                    let again = ngx_handle_read_event((*connection).read, 0);
                    return (again != ffi::code::OK).then_some(Ending::Broken);
                }
                length @ 1.. => {
                    if let Some(ending) = feed(key, &buffer[..length as usize]) {
                        return Some(ending);
                    }
                }
                _ => return Some(Ending::Broken),
            }
        }
        // Others first: events that are posted now are handled in the next round.
        ngx_post_event((*connection).read, &raw mut nginx_sys::ngx_posted_next_events);
        None
    }
}

/// Hands bytes to the connection's decoder, and does what the client wants.
fn feed(key: Key, mut bytes: &[u8]) -> Option<Ending> {
    let mut decoder = with_hub(|hub| {
        let owner = &mut hub.subscriber(key)?.owner;
        owner.heard_ms = ffi::now_ms();
        owner.decoder.take()
    })
    .flatten()?;
    let ending = loop {
        let ending = match decoder.next(&mut bytes) {
            Ok(None) => break None,
            Ok(Some(event)) => handle(key, event),
            Err(error) => Some(Ending::Said(error.close_code(), error.to_string().into())),
        };
        if ending.is_some() {
            break ending;
        }
    };
    give(key, decoder);
    ending
}

/// Gives a connection its decoder, or gives it back.
fn give(key: Key, decoder: Box<Decoder>) {
    with_hub(|hub| {
        if let Some(one) = hub.subscriber(key) {
            one.owner.decoder = Some(decoder);
        }
    });
}

fn handle(key: Key, event: Event<'_>) -> Option<Ending> {
    match event {
        Event::Text(text) => command(key, text),
        Event::Binary(_) => refuse(key, "frames of weir.v1 are text frames", None, None),
        Event::Ping(payload) => {
            let mut pong = encode(Opcode::Pong, payload.len()).to_vec();
            pong.extend_from_slice(payload);
            with_hub(|hub| hub.say(key, pong));
        }
        Event::Pong(_) => {}
        Event::Close { code, .. } => return Some(Ending::Echoed(code)),
    }
    let is_over =
        with_hub(|hub| hub.subscriber(key).map(|one| one.waiting() > one.limit() + ANSWERS_BYTES)).flatten()?;
    is_over.then_some(Ending::Said(1008, "the client does not read its answers".into()))
}

/// Puts a text frame before the client.
fn say(key: Key, write: impl FnOnce(&mut Vec<u8>)) {
    let mut text = Vec::new();
    write(&mut text);
    with_hub(|hub| hub.say(key, text_frame(&text)));
}

fn refuse(key: Key, reason: &str, hint: Option<&str>, about: Option<About<'_>>) {
    with_hub(|hub| hub.subscriber(key).map(|one| counters::refused(&one.owner.topics)));
    say(key, |out| frame::error(reason, hint, about, out));
}

/// As [`refuse`]; the topic is the refused one, or the first of those that were asked for.
fn refuse_topic(key: Key, refusal: &Refusal, first: Option<&str>) {
    let about = refusal.about().or(first).map(About::Topic);
    refuse(key, &refusal.to_string(), refusal.hint(), about);
}

fn command(key: Key, text: &[u8]) {
    let request = match frame::parse(text) {
        Ok(request) => request,
        Err(error) => return refuse(key, &error.to_string(), None, None),
    };
    match request {
        Request::Subscribe { filters, start, more } => {
            let filters: Vec<&str> = filters.iter().map(AsRef::as_ref).collect();
            let done = with_hub(|hub| {
                let owner = &hub.subscriber(key)?.owner;
                let (may, most) = (owner.rights.may_subscribe(filters.iter().copied()), owner.max_topics);
                Some(may.and_then(|()| hub.subscribe(key, &filters, start, more, most)))
            });
            match done.flatten() {
                Some(Ok(at)) => say(key, |out| frame::subscribed(&filters, at, out)),
                Some(Err(refusal)) => refuse_topic(key, &refusal, filters.first().copied()),
                None => {}
            }
        }
        Request::Presence { topics } => {
            let done = with_hub(|hub| {
                let topics = topics.iter().map(AsRef::as_ref);
                let may = hub.subscriber(key)?.owner.rights.may_subscribe(topics.clone());
                Some(may.and_then(|()| topics.clone().try_for_each(|topic| hub.watch(key, topic))))
            });
            if let Some(Err(refusal)) = done.flatten() {
                refuse_topic(key, &refusal, topics.first().map(AsRef::as_ref));
            }
        }
        Request::Unsubscribe { filters } => {
            let filters: Vec<&str> = filters.iter().map(AsRef::as_ref).collect();
            with_hub(|hub| hub.unsubscribe(key, &filters));
        }
        Request::Publish { topic, payload, id } => {
            let done = with_hub(|hub| {
                let owner = &mut hub.subscriber(key)?.owner;
                let may = owner.rights.may_publish_frame(&topic, ffi::now_ms());
                let set = owner.topics.clone();
                Some(may.and_then(|()| hub.publish(&set, &topic, &payload, ffi::now_ms())))
            });
            match done.flatten() {
                Some(Ok(cursor)) => {
                    deliver_soon();
                    if let Some(id) = id {
                        say(key, |out| frame::published(cursor, id, out));
                    }
                }
                Some(Err(refusal)) => {
                    let about = id.map_or(About::Topic(&topic), About::Id);
                    refuse(key, &refusal.to_string(), refusal.hint(), Some(about));
                }
                None => {}
            }
        }
        Request::Ping(number) => say(key, |out| frame::pong(number, out)),
    }
}
