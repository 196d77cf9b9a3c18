//! The bytes that a message becomes on its way to a subscriber: made once for each form, for all that have it.

use std::rc::Rc;

use crate::cursor::Cursor;
use crate::frame;
use crate::sse;
use crate::subscriber::{Form, Subscriber};
use crate::topic::TopicName;
use crate::websocket::{Opcode, encode};

/// The frames of one message, made when first needed.
#[derive(Default)]
pub(super) struct Frames([Option<Rc<[u8]>>; Form::COUNT]);

impl Frames {
    pub(super) fn of(&mut self, form: Form, topic: TopicName<'_>, cursor: Cursor, payload: &[u8]) -> &Rc<[u8]> {
        self.0[form.number()].get_or_insert_with(|| message_frame(form, topic, cursor, payload).into())
    }
}

/// Tells a subscriber that messages are missing, up to its cursor.
pub(super) fn tell_gap<T>(one: &mut Subscriber<T>, epoch: u64) -> bool {
    let Some(from) = one.gap_from.take() else { return false };
    let (from, to) = (Cursor { epoch, position: from }, Cursor { epoch, position: one.cursor });
    let mut object = Vec::new();
    frame::gap("*", from, to, &mut object);
    one.force(dress(one.form, Some("gap"), Some(to), object).into());
    true
}

pub(super) fn message_frame(form: Form, topic: TopicName<'_>, cursor: Cursor, payload: &[u8]) -> Vec<u8> {
    if let Form::Events { is_json: false, .. } = form {
        return dress(form, None, Some(cursor), payload.to_vec());
    }
    let mut object = Vec::with_capacity(payload.len() + 128);
    frame::message(topic, cursor, payload, &mut object);
    dress(form, None, Some(cursor), object)
}

/// What a connection of this form is written for some data.
pub(super) fn dress(form: Form, name: Option<&str>, cursor: Option<Cursor>, data: Vec<u8>) -> Vec<u8> {
    match form {
        Form::Events { is_chunked, .. } => {
            let mut event = Vec::with_capacity(data.len() + 64);
            sse::event(&sse::Event { id: cursor, name, data: &data }, &mut event);
            chunked(is_chunked, event)
        }
        Form::WebSocket => text_frame(&data),
        Form::Poll => data,
    }
}

/// A text frame of a WebSocket.
#[must_use]
pub fn text_frame(text: &[u8]) -> Vec<u8> {
    [&encode(Opcode::Text, text.len())[..], text].concat()
}

/// Bytes of an event stream, as a chunk of HTTP/1.1 (RFC 9112, section 7.1) where the connection needs them to be one.
#[must_use]
pub fn chunked(is_chunked: bool, bytes: Vec<u8>) -> Vec<u8> {
    if is_chunked { [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat() } else { bytes }
}
