//! An origin of server-sent events: one every [`PERIOD`], each written at once.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

use super::serve;

/// Time between two events.
pub const PERIOD: Duration = Duration::from_millis(100);

/// Starts an origin that sends `count` events and then ends the response.
pub fn start(count: usize) -> SocketAddr {
    serve(move |mut stream| {
        stream.set_nodelay(true)?;
        for line in BufReader::new(stream.try_clone()?).lines() {
            if line?.is_empty() {
                break;
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")?;
        for number in 0..count {
            let event = format!("data: {number}\n\n");
            stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            sleep(PERIOD);
        }
        stream.write_all(b"0\r\n\r\n")
    })
}
