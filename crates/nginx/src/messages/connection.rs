//! A subscriber's connection: writing what waits for it, and ending it.

use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use nginx_sys::{
    NGX_HTTP_LAST, ngx_buf_t, ngx_chain_get_free_buf, ngx_chain_t, ngx_chain_update_chains, ngx_connection_t,
    ngx_create_temp_buf, ngx_handle_write_event, ngx_http_finalize_request, ngx_http_output_filter, ngx_http_request_t,
    ngx_http_run_posted_requests, ngx_http_send_special, ngx_int_t,
};
use weir_engine::Response;
use weir_messages::cursor::Cursor;
use weir_messages::hub::{Key, chunked, text_frame};
use weir_messages::subscriber::{Form, Leaving, Subscriber};
use weir_messages::websocket;
use weir_messages::{frame, sse};

use super::delivery;
use super::state::{Connection, with_hub};
use crate::module::ngx_http_weir_module;
use crate::{ffi, respond};

/// Pieces that are written by one system call.
const PIECES: usize = 64;

/// Bytes that are copied to nginx's filters at a time, where a connection has streams.
const FILTERED_BYTES: usize = 16 << 10;

/// Codes of close frames (RFC 6455, section 7.4.1, and the registry for the last).
const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;
const TRY_AGAIN_LATER: u16 = 1013;

/// The result of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// All there was.
    All,
    /// nginx tells when there is room.
    Blocked,
    /// The connection is broken.
    Broken,
}

/// Writes what waits for a subscriber.
///
/// # Safety
/// The subscriber's request is live.
pub unsafe fn write(one: &mut Subscriber<Connection>) -> Written {
    // SAFETY: as the caller promises.
    unsafe {
        let r = one.owner.request;
        if !(*r).out.is_null() {
            // The head of the response has not left yet.
            match ngx_http_output_filter(r, ptr::null_mut()) {
                ffi::code::ERROR => return Written::Broken,
                _ if !(*r).out.is_null() => return wait(r),
                _ => {}
            }
        }
        if one.owner.filtered.is_some() { write_filtered(one) } else { write_directly(one) }
    }
}

unsafe fn write_directly(one: &mut Subscriber<Connection>) -> Written {
    // SAFETY: as for `write`.
    unsafe {
        let c = (*one.owner.request).connection;
        while one.waiting() > 0 {
            // Usually there is one piece, and buffers for as many as may be sent at a time are 6 KB of zeros.
            let sent = if one.has_one_piece() { send::<1>(one, c) } else { send::<PIECES>(one, c) };
            let Some((sent, rest)) = sent else { return Written::Broken };
            one.advance(sent);
            if rest > 0 {
                return wait(one.owner.request);
            }
        }
        if (*c).buffered() != 0 { wait(one.owner.request) } else { Written::All }
    }
}

/// Sends at most `MOST` pieces; the bytes that were sent, and those of them that were not. `None` if that failed.
unsafe fn send<const MOST: usize>(one: &Subscriber<Connection>, c: *mut ngx_connection_t) -> Option<(usize, usize)> {
    // SAFETY: as for `write`. The pieces are the subscriber's, and nginx has copied or sent what it counts as sent. Buffers
    // and links of zeros are empty ones.
    unsafe {
        let send_chain = (*c).send_chain?;
        let mut buffers: [ngx_buf_t; MOST] = std::mem::zeroed();
        let mut links: [ngx_chain_t; MOST] = std::mem::zeroed();
        let (mut count, mut bytes) = (0, 0);
        for piece in one.pieces(MOST) {
            let range = piece.as_ptr_range();
            let buffer = &mut buffers[count];
            (buffer.pos, buffer.last) = (range.start.cast_mut(), range.end.cast_mut());
            (buffer.start, buffer.end) = (buffer.pos, buffer.last);
            buffer.set_memory(1);
            buffer.set_flush(1);
            bytes += piece.len();
            count += 1;
        }
        for n in 0..count {
            links[n].buf = &raw mut buffers[n];
            links[n].next = if n + 1 < count { (&raw mut links[0]).add(n + 1) } else { ptr::null_mut() };
        }
        let left = send_chain(c, &raw mut links[0], 0);
        let rest: usize = buffers[..count].iter().map(|b| b.last.offset_from(b.pos).max(0) as usize).sum();
        (left as isize != -1).then_some((bytes - rest, rest))
    }
}

unsafe fn write_filtered(one: &mut Subscriber<Connection>) -> Written {
    // SAFETY: as for `write`; the buffers are the request's.
    unsafe {
        let r = one.owner.request;
        let tag = (&raw mut ngx_http_weir_module).cast();
        let Some(mut bufs) = one.owner.filtered else { return Written::Broken };
        let mut out: *mut ngx_chain_t = ptr::null_mut();
        if !bufs.busy.is_null() {
            let sent = ngx_http_output_filter(r, ptr::null_mut());
            ngx_chain_update_chains((*r).pool, &raw mut bufs.free, &raw mut bufs.busy, &raw mut out, tag);
            one.owner.filtered = Some(bufs);
            if sent == ffi::code::ERROR {
                return Written::Broken;
            }
        }
        while one.waiting() > 0 {
            if !bufs.busy.is_null() {
                return Written::Blocked;
            }
            let link = ngx_chain_get_free_buf((*r).pool, &raw mut bufs.free);
            if link.is_null() {
                return Written::Broken;
            }
            let buffer = (*link).buf;
            if (*buffer).start.is_null() {
                let made = ngx_create_temp_buf((*r).pool, FILTERED_BYTES);
                if made.is_null() {
                    return Written::Broken;
                }
                ptr::copy_nonoverlapping(made, buffer, 1);
            }
            (*buffer).pos = (*buffer).start;
            (*buffer).last = (*buffer).start;
            (*buffer).set_temporary(1);
            (*buffer).set_flush(1);
            (*buffer).tag = tag;
            let mut room = FILTERED_BYTES;
            for piece in one.pieces(usize::MAX) {
                let part = &piece[..piece.len().min(room)];
                ptr::copy_nonoverlapping(part.as_ptr(), (*buffer).last, part.len());
                (*buffer).last = (*buffer).last.add(part.len());
                room -= part.len();
                if room == 0 {
                    break;
                }
            }
            one.advance(FILTERED_BYTES - room);
            let sent = ngx_http_output_filter(r, link);
            out = link;
            ngx_chain_update_chains((*r).pool, &raw mut bufs.free, &raw mut bufs.busy, &raw mut out, tag);
            one.owner.filtered = Some(bufs);
            if sent == ffi::code::ERROR {
                return Written::Broken;
            }
        }
        if bufs.busy.is_null() { Written::All } else { Written::Blocked }
    }
}

/// Has nginx tell when there is room again.
unsafe fn wait(r: *mut ngx_http_request_t) -> Written {
    // SAFETY: a live request.
    unsafe {
        let written = ngx_handle_write_event((*(*r).connection).write, 0);
        if written == ffi::code::OK { Written::Blocked } else { Written::Broken }
    }
}

/// How a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is broken, or has been closed by the client: nothing is said any more.
    Broken,
    /// The client has closed its WebSocket, with this code.
    Echoed(Option<u16>),
    /// With a WebSocket's close frame of this code and reason, or the end of the response.
    Said(u16, Cow<'static, str>),
    /// The worker ends, or the client's rights have changed: it is to come back in so many milliseconds.
    Reconnect(u64),
}

impl From<Leaving> for Ending {
    fn from(leaving: Leaving) -> Self {
        match leaving {
            Leaving::Slow => Self::Said(TRY_AGAIN_LATER, "the subscriber does not read fast enough".into()),
            Leaving::Removed => Self::Said(GOING_AWAY, "the topics have been removed".into()),
            Leaving::Changed => Self::Reconnect(delivery::reconnect_ms()),
        }
    }
}

/// Ends a subscriber's connection.
///
/// # Safety
/// Nothing of the hub or the request is borrowed; the request is not used afterwards.
pub unsafe fn close(key: Key, ending: Ending) {
    // SAFETY: a request whose subscriber is there is live.
    unsafe {
        let ended = with_hub(|hub| {
            let one = hub.subscriber(key)?;
            let form = one.form();
            if form == Form::Poll && ending != Ending::Broken {
                let objects: Vec<Vec<u8>> = one.pieces(usize::MAX).map(<[u8]>::to_vec).collect();
                let at = hub.cursor(key)?;
                return hub.leave(key).map(|owner| (owner.request, form, Some((objects, at)), true));
            }
            let is_whole = say(one, ending);
            hub.leave(key).map(|owner| (owner.request, form, None, is_whole))
        });
        let Some((r, form, polled, is_whole)) = ended.flatten() else { return };
        let connection = (*r).connection;
        if let Some((objects, at)) = polled {
            answer_poll(r, &objects, at);
            ngx_http_run_posted_requests(connection);
            return;
        }
        let code: ngx_int_t = match form {
            _ if !is_whole => ffi::code::ERROR,
            Form::WebSocket => ffi::code::OK,
            Form::Events { .. } | Form::Poll => ngx_http_send_special(r, NGX_HTTP_LAST as usize),
        };
        if !is_whole {
            (*connection).set_error(1);
        }
        ngx_http_finalize_request(r, code);
        ngx_http_run_posted_requests(connection);
    }
}

/// Says goodbye; whether all of it is written.
unsafe fn say(one: &mut Subscriber<Connection>, ending: Ending) -> bool {
    let goodbye = match (ending, one.form()) {
        (Ending::Broken, _) => return false,
        (Ending::Echoed(code), _) => websocket::close(code.unwrap_or(NORMAL), "").to_vec(),
        (Ending::Said(code, reason), Form::WebSocket) => websocket::close(code, &reason).to_vec(),
        (Ending::Reconnect(ms), Form::WebSocket) => {
            let mut hint = Vec::new();
            frame::reconnect(ms, &mut hint);
            [&text_frame(&hint)[..], &websocket::close(GOING_AWAY, "come back")].concat()
        }
        (Ending::Reconnect(ms), Form::Events { is_chunked, .. }) => {
            let mut hint = Vec::new();
            sse::retry(ms, &mut hint);
            chunked(is_chunked, hint)
        }
        (Ending::Said(..) | Ending::Reconnect(_), _) => Vec::new(),
    };
    if !goodbye.is_empty() {
        one.force(goodbye.into());
    }
    // SAFETY: the subscriber's request is live.
    unsafe { write(one) == Written::All }
}

/// Answers a request that has polled, with what there is.
///
/// # Safety
/// `r` is a live request whose subscriber has left.
unsafe fn answer_poll(r: *mut ngx_http_request_t, objects: &[Vec<u8>], at: Cursor) {
    let mut body = format!("{{\"at\":\"{at}\",\"messages\":[").into_bytes();
    for (n, object) in objects.iter().enumerate() {
        if n > 0 {
            body.push(b',');
        }
        body.extend_from_slice(object);
    }
    body.extend_from_slice(b"]}\n");
    let response = Response {
        status: 200,
        body,
        content_type: b"application/json".to_vec(),
        headers: vec![(b"Cache-Control".to_vec(), b"no-store".to_vec())],
    };
    // SAFETY: as the caller promises.
    unsafe {
        let sent = respond::answer(r, Arc::new(response));
        ngx_http_finalize_request(r, sent);
    }
}
