//! Clients of messages: those that publish, and those that read events and frames.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tungstenite::{Message, WebSocket};
use weir_tests::{Nginx, Request};

/// Publishes, and returns the message's id.
#[track_caller]
pub fn publish(nginx: &Nginx, target: &str, text: &str) -> String {
    let response = nginx.send(&Request::post(target, "text/plain", text));
    assert_eq!(response.status, 200, "{}", response.text());
    let answer: Value = serde_json::from_str(response.text().as_str()).unwrap();
    answer["id"].as_str().unwrap().to_owned()
}

/// A stream of server-sent events.
pub struct Events(BufReader<TcpStream>, Vec<u8>);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: String,
    pub retry: String,
}

impl Events {
    #[track_caller]
    pub fn open(nginx: &Nginx, target: &str, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", nginx.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("text/event-stream") && head.contains("chunked"), "{head}");
        Self(reader, Vec::new())
    }

    /// The next line without its end; `None` at the end of the response.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.1.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.1.drain(..=at).collect();
                return Some(String::from_utf8(line[..at].to_vec()).unwrap());
            }
            let mut size = String::new();
            self.0.read_line(&mut size).ok().filter(|read| *read > 0)?;
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("chunk {size:?}"));
            let mut chunk = vec![0; size + 2];
            std::io::Read::read_exact(&mut self.0, &mut chunk).unwrap();
            if size == 0 {
                return None;
            }
            self.1.extend_from_slice(&chunk[..size]);
        }
    }

    /// The next event; `None` at the end of the response.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut event.id),
                Some(("event", value)) => value.clone_into(&mut event.name),
                Some(("data", value)) => event.data = format!("{}{value}", event.data),
                Some(("retry", value)) => value.clone_into(&mut event.retry),
                _ if line.is_empty() && event != Event::default() => return Some(event),
                _ => {}
            }
        }
    }
}

pub fn socket(nginx: &Nginx, target: &str) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", nginx.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let url = format!("ws://127.0.0.1:{}{target}", nginx.port);
    let (socket, answer) = tungstenite::client(url, stream).unwrap();
    assert_eq!(answer.status(), 101);
    socket
}

#[track_caller]
pub fn read(socket: &mut WebSocket<TcpStream>) -> Value {
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Close(frame) => panic!("closed: {frame:?}"),
            _ => {}
        }
    }
}

#[track_caller]
pub fn say(socket: &mut WebSocket<TcpStream>, frame: Value) {
    socket.send(Message::text(frame.to_string())).unwrap();
}

/// As [`Events::open`], if the worker lives that long.
pub fn try_open(nginx: &Nginx, target: &str, last: &str) -> Option<Events> {
    std::panic::catch_unwind(|| Events::open(nginx, target, Some(last))).ok()
}
