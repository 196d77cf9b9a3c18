//! Messages for clients: what clients get wrong, on purpose or not.

use std::io::Write;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use serde_json::json;
use tungstenite::Message;
use tungstenite::protocol::CloseFrame;
use weir_tests::Request;

use crate::messages::{Events, publish, read, say, socket, start};

#[test]
fn what_clients_get_wrong_is_said() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let long = "x".repeat(300);
    for (method, target, status, said) in [
        ("POST", "/live/other", 403, "not among the topics"),
        ("POST", "/live/a/%2B", 400, "+"),
        ("POST", "/live", 400, "names no topic"),
        ("POST", "/live/a?topic=b", 400, "two topics"),
        ("POST", "/live?topic=a/x&topic=a/y", 400, "two topics"),
        ("HEAD", "/live/a/x", 405, ""),
        ("POST", "/read/a/x", 405, ""),
        ("GET", "/write/a/x", 405, ""),
        ("DELETE", "/live/a/x", 405, ""),
        ("GET", "/live", 400, "names no topic"),
        ("GET", "/live/%23", 403, "not among the topics"),
        ("GET", "/live/a/x?since=nonsense", 400, "since"),
        ("GET", "/live/a/x?format=xml", 400, "format"),
        ("POST", &format!("/live/a/{long}"), 400, "256"),
    ] {
        let body = if method == "POST" { "x" } else { "" };
        let request = Request::new(method, target).body(body);
        let response = nginx.send(&request);
        assert_eq!(response.status, status, "{method} {target}: {}", response.text());
        assert!(response.text().contains(said), "{method} {target}: {}", response.text());
    }
    let response = nginx.send(&Request::post("/live/a/x", "text/plain", "x".repeat(70_000)));
    assert_eq!(response.status, 413, "{}", response.text());
    assert!(response.text().contains("weir_messages_zone"), "{}", response.text());

    let mut socket = socket(nginx, "/read");
    for (frame, said) in [
        (json!({"subscribe": ["a/x", "other"]}), "not among"),
        (json!({"subscribe": ["a/#/b"]}), "#"),
        (json!({"publish": "a/x", "data": ""}), "may not publish"),
        (json!({"nonsense": 1}), "nonsense"),
        (json!([1]), "object"),
    ] {
        say(&mut socket, frame.clone());
        let answer = read(&mut socket);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{frame}: {answer}");
        assert!(answer["about"].as_str().is_none_or(|about| about != "a/x" || said == "may not publish"), "{answer}");
    }
    // After all of these it still works.
    say(&mut socket, json!({"ping": 3}));
    assert_eq!(read(&mut socket), json!({"pong": 3}));
}

#[test]
fn a_client_that_breaks_the_protocol_is_closed_with_its_code() {
    let gateway = start();
    let nginx = &gateway.nginx;
    for (bytes, code) in [
        (&[0x81, 0x01, b'x'][..], 1002),                           // not masked
        (&[0x91, 0x80, 0, 0, 0, 0], 1002),                         // a reserved bit
        (&[0x83, 0x80, 0, 0, 0, 0], 1002),                         // a reserved opcode
        (&[0x81, 0x81, 0, 0, 0, 0, 0xff], 1007),                   // not UTF-8
        (&[0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], 1009), // 4 GiB
        (&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8], 1000),             // a close frame
        (&[0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], 1009), // 64 KiB and a byte, of a client that may not publish
    ] {
        let mut socket = socket(nginx, "/read");
        socket.get_mut().write_all(bytes).unwrap();
        let closed = loop {
            match socket.read() {
                Ok(Message::Close(Some(CloseFrame { code, .. }))) => break u16::from(code),
                Ok(_) => {}
                Err(error) => panic!("{bytes:?}: {error}"),
            }
        };
        assert_eq!(closed, code, "{bytes:?}");
    }
}

#[test]
fn clients_that_reset_their_connections_at_any_moment_harm_nobody() {
    const CLIENTS: u64 = 4;
    let gateway = start();
    let nginx = &gateway.nginx;
    let mut steady = Events::open(nginx, "/now/a/x", None);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut state = 0x9e37_79b9 + client;
                let mut random = |below: u64| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state % below
                };
                for _ in 0..400 {
                    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", nginx.port)) else { continue };
                    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
                    let request = match random(5) {
                        0 => {
                            "GET /live/a/x?since=oldest HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n".into()
                        }
                        1 => format!("GET /live/a/x HTTP/1.1\r\nHost: a\r\n{upgrade}\r\n"),
                        2 => "GET /now/a/x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
                        3 => {
                            "POST /live/a/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n".to_owned()
                                + &"x".repeat(1000)
                        }
                        _ => "GET /now/%23 HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n".to_owned(),
                    };
                    let length = if random(4) == 0 { random(request.len() as u64) as usize } else { request.len() };
                    let _ = stream.write_all(&request.as_bytes()[..length]);
                    if random(2) == 0 {
                        std::thread::sleep(Duration::from_micros(random(3000)));
                        let _ = stream.write_all(&[0x81, 0x85, 1, 2, 3, 4, 5][..random(8) as usize]);
                    }
                    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
                    // SAFETY: an open socket and a structure of this length: closing it resets the connection.
                    unsafe {
                        libc::setsockopt(
                            stream.as_raw_fd(),
                            libc::SOL_SOCKET,
                            libc::SO_LINGER,
                            (&raw const linger).cast(),
                            size_of::<libc::linger>() as u32,
                        );
                    }
                }
            });
        }
        for n in 0..300 {
            let _ = publish(nginx, "/now/a/x", &n.to_string());
            assert_eq!(steady.next().unwrap().data, n.to_string());
        }
    });
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
    let _ = publish(nginx, "/now/a/x", "end");
    assert_eq!(steady.next().unwrap().data, "end");
}
