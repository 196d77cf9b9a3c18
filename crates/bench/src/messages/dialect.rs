//! As much of each protocol as a comparison needs: subscribe, publish, and know a message again. Clients of our own, because
//! what is measured is the server, and because all servers are then asked by the same code.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use memchr::memmem;

use weir_measure::error::MeasureError;
use weir_measure::http::{Address, parse};

/// Bytes of every message.
pub const PAYLOAD: usize = 64;
/// The beginning of a message, by which it is known: no head of a response has it.
pub const MARK: usize = 16;
/// How long a server may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that are read at a time.
const CHUNK: usize = 4096;

/// A protocol between a server and its clients.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What a subscriber says first, by its number.
    subscribe: fn(usize) -> Vec<u8>,
    /// What is in the answer to that once the subscriber gets messages.
    subscribed: &'static [u8],
    /// What a publisher says first, if anything, and the end of the answer.
    greeting: &'static [u8],
    greeted: &'static [u8],
    /// A message of this payload.
    publish: fn(&[u8; PAYLOAD]) -> Vec<u8>,
    /// Whether a publisher is answered, in HTTP.
    is_answered: bool,
}

/// The path of the topic, at servers of HTTP.
pub const PATH: &str = "/live/t";

/// Server-sent events; published by POST.
pub const EVENTS: Dialect = Dialect {
    subscribe: |_| format!("GET {PATH} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n").into_bytes(),
    subscribed: b"\r\n\r\n",
    greeting: b"",
    greeted: b"",
    publish: post,
    is_answered: true,
};

/// Weir's WebSockets, which say when they have subscribed; published by POST.
pub const WEBSOCKET: Dialect = Dialect {
    subscribe: |_| {
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        format!("GET {PATH} HTTP/1.1\r\nHost: bench\r\n{upgrade}\r\n{key}\r\n\r\n").into_bytes()
    },
    subscribed: b"\"subscribed\"",
    ..EVENTS
};

/// A connection of HTTP that is kept and says nothing after one request.
pub const IDLE: Dialect =
    Dialect { subscribe: |_| format!("GET {PATH} HTTP/1.1\r\nHost: bench\r\n\r\n").into_bytes(), ..EVENTS };

/// A request of HTTP that does not end: the server keeps what it has of it.
pub const OPEN: Dialect = Dialect {
    subscribe: |_| format!("GET {PATH} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n").into_bytes(),
    subscribed: b"",
    ..EVENTS
};

/// MQTT 3.1.1 at QoS 0.
pub const MQTT: Dialect = Dialect {
    subscribe: |number| {
        // Section 3.1: no keep-alive, and a name of eight letters. Section 3.8: packet 1, the topic `t` at QoS 0.
        let mut packets = vec![0x10, 20, 0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0, 0, 0, 8];
        packets.extend_from_slice(format!("{number:08}").as_bytes());
        packets.extend_from_slice(&[0x82, 6, 0, 1, 0, 1, b't', 0]);
        packets
    },
    // Section 3.9: packet 1 at QoS 0.
    subscribed: &[0x90, 3, 0, 1, 0],
    greeting: &[0x10, 13, 0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0, 0, 0, 1, b'p'],
    greeted: &[0x20, 2, 0, 0],
    publish: |payload| [&[0x30, 3 + PAYLOAD as u8, 0, 1, b't'][..], payload].concat(),
    is_answered: false,
};

/// NATS, without confirmations.
pub const NATS: Dialect = Dialect {
    subscribe: |_| b"CONNECT {\"verbose\":false}\r\nSUB t 1\r\nPING\r\n".to_vec(),
    subscribed: b"PONG\r\n",
    greeting: b"CONNECT {\"verbose\":false}\r\nPING\r\n",
    greeted: b"PONG\r\n",
    publish: |payload| [format!("PUB t {PAYLOAD}\r\n").as_bytes(), payload, b"\r\n"].concat(),
    is_answered: false,
};

fn post(payload: &[u8; PAYLOAD]) -> Vec<u8> {
    let head =
        format!("POST {PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: text/plain\r\nContent-Length: {PAYLOAD}\r\n\r\n");
    [head.as_bytes(), payload].concat()
}

/// What message `number` begins with.
#[must_use]
pub fn mark(number: u64) -> [u8; MARK] {
    let mut mark = [b'm'; MARK];
    write_mark(number, &mut mark);
    mark
}

/// Writes the digits of the mark behind its first letter; no memory is taken.
pub fn write_mark(mut number: u64, mark: &mut [u8]) {
    for digit in mark.iter_mut().skip(1).rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Message `number`.
#[must_use]
pub fn payload(number: u64) -> [u8; PAYLOAD] {
    let mut payload = [b'x'; PAYLOAD];
    payload[..MARK].copy_from_slice(&mark(number));
    payload
}

impl Dialect {
    /// Connects a subscriber, and returns what the server has said.
    pub fn subscriber(&self, port: u16, number: usize) -> Result<(TcpStream, Vec<u8>), MeasureError> {
        opened(port, &(self.subscribe)(number), self.subscribed)
    }

    /// Connects a publisher.
    pub fn publisher(&self, port: u16) -> Result<Publisher, MeasureError> {
        let (stream, _) = opened(port, self.greeting, self.greeted)?;
        Ok(Publisher { stream, dialect: *self, answer: Vec::with_capacity(CHUNK) })
    }
}

/// A publisher's connection.
#[derive(Debug)]
pub struct Publisher {
    stream: TcpStream,
    dialect: Dialect,
    answer: Vec<u8>,
}

impl Publisher {
    /// The bytes of message `number`.
    #[must_use]
    pub fn message(&self, number: u64) -> Vec<u8> {
        (self.dialect.publish)(&payload(number))
    }

    /// Sends a message.
    pub fn send(&mut self, message: &[u8]) -> Result<(), MeasureError> {
        self.stream.write_all(message).map_err(failed)
    }

    /// Waits until the server has taken it, where that is said. Returns the head of the answer.
    pub fn taken(&mut self) -> Result<&[u8], MeasureError> {
        self.answer.clear();
        while self.dialect.is_answered {
            read_more(&mut self.stream, &mut self.answer)?;
            let Some(answer) = parse(&self.answer).map_err(|error| MeasureError::wrong("publish", error))? else {
                continue;
            };
            if !(200..=202).contains(&answer.status) {
                let words = String::from_utf8_lossy(&self.answer).into_owned();
                return Err(MeasureError::wrong("publish", format!("answered {words:.500}")));
            }
            return Ok(&self.answer[answer.head]);
        }
        Ok(&[])
    }
}

fn opened(port: u16, hello: &[u8], until: &[u8]) -> Result<(TcpStream, Vec<u8>), MeasureError> {
    let weir_measure::http::Stream::Tcp(mut stream) = Address::local(port).connect(PATIENCE).map_err(failed)? else {
        unreachable!("the address is one of TCP")
    };
    stream.set_nodelay(true).map_err(failed)?;
    stream.write_all(hello).map_err(failed)?;
    let mut said = Vec::new();
    while memmem::find(&said, until).is_none() {
        read_more(&mut stream, &mut said)?;
    }
    Ok((stream, said))
}

fn read_more(stream: &mut TcpStream, into: &mut Vec<u8>) -> Result<(), MeasureError> {
    let mut chunk = [0; CHUNK];
    match read(stream, &mut chunk).map_err(failed)? {
        0 => {
            let words = String::from_utf8_lossy(into).into_owned();
            Err(MeasureError::wrong("server", format!("hung up after {words:.500}")))
        }
        length => {
            into.extend_from_slice(&chunk[..length]);
            Ok(())
        }
    }
}

/// Reads once; a process that was stopped meanwhile goes on.
pub fn read(stream: &mut TcpStream, into: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn failed(error: std::io::Error) -> MeasureError {
    MeasureError::program("client", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_decimal_and_of_one_length() {
        assert_eq!(&mark(42), b"m000000000000042");
        assert_eq!(&mark(0), b"m000000000000000");
        assert!(payload(7).starts_with(&mark(7)));
    }

    #[test]
    fn lengths_in_packets_of_mqtt_are_right() {
        let packets = (MQTT.subscribe)(3);
        let connect = 2 + usize::from(packets[1]);
        assert_eq!(packets[connect], 0x82);
        assert_eq!(packets.len(), connect + 2 + usize::from(packets[connect + 1]));
        let publish = (MQTT.publish)(&payload(1));
        assert_eq!(publish.len(), 2 + usize::from(publish[1]));
        assert_eq!(MQTT.greeting.len(), 2 + usize::from(MQTT.greeting[1]));
    }
}
