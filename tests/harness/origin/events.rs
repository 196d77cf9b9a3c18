//! An origin of server-sent events, which sends one for each word of the test's.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::serve;

/// Starts an origin that sends an event each time when it is told to, and ends the response when the sender is dropped.
///
/// # Panics
/// If no port can be bound.
#[must_use]
pub fn start() -> (SocketAddr, Sender<()>) {
    let (sender, next) = channel();
    let next: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(next));
    let address = serve(move |mut stream| {
        stream.set_nodelay(true)?;
        for line in BufReader::new(stream.try_clone()?).lines() {
            if line?.is_empty() {
                break;
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")?;
        for (number, ()) in next.lock().expect("no thread panics").iter().enumerate() {
            let event = format!("data: {number}\n\n");
            stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
        }
        stream.write_all(b"0\r\n\r\n")
    });
    (address, sender)
}
