//! Frames of a client, and the requests in them. The first two bytes are the bound of a message and where the input is cut:
//! in one piece, cut once, or byte by byte, the events are the same, and memory stays within the bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_messages::frame;
use weir_messages::websocket::{Decoder, Event, ProtocolError};

fuzz_target!(|bytes: &[u8]| {
    let [limit, cut, bytes @ ..] = bytes else { return };
    let limit = usize::from(*limit) * 8;
    let whole = events(limit, [bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(events(limit, [first, second]), whole, "cut in two");
    assert_eq!(events(limit, bytes.chunks(1)), whole, "byte by byte");
});

/// The events as text, and the error that ended them.
fn events<'p>(limit: usize, pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<String>, Option<ProtocolError>) {
    let mut decoder = Decoder::new(limit);
    let mut seen = Vec::new();
    for mut piece in pieces {
        loop {
            match decoder.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    check(event, limit);
                    seen.push(format!("{event:?}"));
                }
                Err(error) => return (seen, Some(error)),
            }
        }
        assert!(decoder.heap_bytes() <= limit);
        assert!(decoder.is_in_message() || decoder.heap_bytes() == 0, "memory of no message");
    }
    (seen, None)
}

fn check(event: Event<'_>, limit: usize) {
    match event {
        Event::Text(text) => {
            assert!(text.len() <= limit && std::str::from_utf8(text).is_ok());
            let _ = frame::parse(text);
        }
        Event::Binary(bytes) => assert!(bytes.len() <= limit),
        Event::Ping(bytes) | Event::Pong(bytes) => assert!(bytes.len() <= 125),
        Event::Close { reason, .. } => assert!(reason.len() <= 123),
    }
}
