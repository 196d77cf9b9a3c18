//! Server-sent events, as the HTML standard frames them (section 9.2): text in lines, of media type `text/event-stream`.
//!
//! What a message is made of decides how it looks: UTF-8 is sent as it is, in a `data:` line for each of its lines, and the
//! browser joins them by `\n`; a `\r` or `\r\n` in it becomes `\n`. Other bytes are sent as Base64, in an event named
//! [`BINARY`], whatever name was asked for.

use std::fmt::Display;
use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::cursor::Cursor;

/// The name of events whose data is Base64.
pub const BINARY: &str = "binary";
/// A comment that keeps proxies from closing a silent connection.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// An event to be written.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What the browser sends as `Last-Event-ID` when it connects again.
    pub id: Option<Cursor>,
    /// The name that handlers are registered for; `message` if there is none. Line breaks become spaces.
    pub name: Option<&'a str>,
    /// Any bytes.
    pub data: &'a [u8],
}

/// Writes an event.
pub fn event(event: &Event<'_>, out: &mut Vec<u8>) {
    let text = std::str::from_utf8(event.data);
    if let Some(id) = event.id {
        field("id", &id, out);
    }
    match (event.name, &text) {
        (_, Err(_)) => field("event", &BINARY, out),
        (Some(name), Ok(_)) if name.contains(['\r', '\n']) => field("event", &name.replace(['\r', '\n'], " "), out),
        (Some(name), Ok(_)) => field("event", &name, out),
        (None, Ok(_)) => {}
    }
    match text {
        Ok(text) => lines(text).for_each(|line| field("data", &line, out)),
        Err(_) => field("data", &Base64Display::new(event.data, &STANDARD), out),
    }
    out.push(b'\n');
}

/// Writes where the stream is, so that a browser that has got no message yet resumes there, too: an id without data is kept,
/// and nothing is dispatched.
pub fn at(cursor: Cursor, out: &mut Vec<u8>) {
    field("id", &cursor, out);
    out.push(b'\n');
}

/// Writes how long a browser waits before it connects again.
pub fn retry(wait_ms: u64, out: &mut Vec<u8>) {
    field("retry", &wait_ms, out);
    out.push(b'\n');
}

fn field(name: &str, value: &dyn Display, out: &mut Vec<u8>) {
    writeln!(out, "{name}: {value}").expect("memory takes all");
}

/// The lines of a text, at least one; they end with `\n`, `\r` or both in this order.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\r', '\n']) else { return rest.take() };
        let after = &text[end..];
        rest = Some(after.strip_prefix("\r\n").unwrap_or(&after[1..]));
        Some(&text[..end])
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use proptest::prelude::*;

    use super::*;

    fn written(name: Option<&str>, data: &[u8]) -> String {
        let mut out = Vec::new();
        event(&Event { id: Some(Cursor { epoch: 31, position: 7 }), name, data }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn events_are_lines() {
        assert_eq!(written(None, b"hello"), "id: 1f:7\ndata: hello\n\n");
        assert_eq!(written(Some("a/b"), b"x\r\ny\rz\n"), "id: 1f:7\nevent: a/b\ndata: x\ndata: y\ndata: z\ndata: \n\n");
        assert_eq!(written(None, b""), "id: 1f:7\ndata: \n\n", "an event without data would be dropped");
        assert_eq!(written(Some("a/b"), b"\xff\n"), "id: 1f:7\nevent: binary\ndata: /wo=\n\n");
        assert_eq!(written(Some("a\ndata: b"), b""), "id: 1f:7\nevent: a data: b\ndata: \n\n");
        let mut out = Vec::new();
        retry(2_500, &mut out);
        assert_eq!(out, b"retry: 2500\n\n");
    }

    /// Name and data of the events of a stream, as section 9.2.6 interprets it.
    fn interpreted(stream: &str) -> Vec<(String, String)> {
        let (mut events, mut name, mut data) = (Vec::new(), String::new(), String::new());
        for line in stream.replace("\r\n", "\n").replace('\r', "\n").split('\n') {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() => {
                    let (name, mut data) = (std::mem::take(&mut name), std::mem::take(&mut data));
                    if data.pop().is_some() {
                        events.push((name, data));
                    }
                }
                "event" => name = value.to_owned(),
                "data" => data = data + value + "\n",
                _ => {}
            }
        }
        events
    }

    proptest! {
        #[test]
        fn browsers_read_what_was_written(
            texts in prop::collection::vec("[a: \r\n\u{f6}]{0,12}", 0..4),
            bytes in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let mut stream = String::from_utf8(KEEP_ALIVE.to_vec()).unwrap();
            let mut expected = Vec::new();
            for data in texts.iter().map(String::as_bytes).chain([&bytes[..]]) {
                stream += &written(Some("n"), data);
                expected.push(match std::str::from_utf8(data) {
                    Ok(text) => ("n".to_owned(), text.replace("\r\n", "\n").replace('\r', "\n")),
                    Err(_) => (BINARY.to_owned(), STANDARD.encode(data)),
                });
            }
            prop_assert_eq!(interpreted(&stream), expected);
        }
    }
}
