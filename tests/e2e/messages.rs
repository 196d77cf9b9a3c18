//! Messages for clients: published by one, to every worker, to server-sent events, WebSockets and requests that poll.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};
use weir_tests::tls::Certificate;
use weir_tests::wait::until;
use weir_tests::{Gateway, Nginx, Request, Setup, port};

/// A gateway whose route `/live` has topics with a past, `/now` some without.
pub fn start() -> Gateway {
    Gateway::start(&[
        ("topics/past", json!({"topics": ["a/#", "news"], "history": {"count": 1000}})),
        ("topics/now", json!({"topics": ["#"]})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/live", json!({"site": "all", "path": "/live", "messages": {"topics": "past", "publish": true}})),
        ("routes/now", json!({"site": "all", "path": "/now", "messages": {"topics": "now", "publish": true}})),
        ("routes/read", json!({"site": "all", "path": "/read", "messages": {"topics": "past"}})),
        (
            "routes/write",
            json!({"site": "all", "path": "/write", "messages": {"topics": "past", "publish": true, "subscribe": false}}),
        ),
    ])
}

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
                // An id alone says where the stream is.
                _ if line.is_empty() && event == (Event { id: event.id.clone(), ..Event::default() }) => {}
                _ if line.is_empty() => return Some(event),
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

#[test]
fn what_one_client_publishes_reaches_all_that_subscribe_in_every_worker() {
    let gateway = start();
    let nginx = &gateway.nginx;
    // Connections are spread over both workers.
    let mut events: Vec<_> = (0..8).map(|_| Events::open(nginx, "/now/a/x", None)).collect();
    let mut wild: Vec<_> = (0..8).map(|_| Events::open(nginx, "/now?topic=a/%2B&topic=b", None)).collect();
    let mut sockets: Vec<_> = (0..8).map(|_| socket(nginx, "/now")).collect();
    for socket in &mut sockets {
        say(socket, json!({"subscribe": ["a/#"]}));
        assert_eq!(read(socket)["subscribed"], json!(["a/#"]));
    }
    let id = publish(nginx, "/now/a/x", "line 1\nline 2");
    for events in &mut events {
        let event = events.next().unwrap();
        assert_eq!((event.id, event.data, event.name), (id.clone(), "line 1line 2".into(), String::new()));
    }
    for events in &mut wild {
        let object: Value = serde_json::from_str(&events.next().unwrap().data).unwrap();
        assert_eq!(object, json!({"topic": "a/x", "id": id, "data": "line 1\nline 2"}));
    }
    for socket in &mut sockets {
        assert_eq!(read(socket), json!({"topic": "a/x", "id": id, "data": "line 1\nline 2"}));
    }
    // A WebSocket publishes, too.
    say(&mut sockets[0], json!({"publish": "a/y", "data": "from a socket", "id": 7}));
    let mut seen = [read(&mut sockets[0]), read(&mut sockets[0])];
    seen.sort_by_key(|frame| frame["published"].is_null());
    assert_eq!((&seen[0]["id"], &seen[1]["data"]), (&json!(7), &json!("from a socket")));
    assert_eq!(read(&mut sockets[7])["data"], "from a socket");
}

#[test]
fn a_client_resumes_behind_the_last_message_it_has_and_is_told_of_gaps() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let ids: Vec<String> = (0..10).map(|n| publish(nginx, "/live/a/x", &n.to_string())).collect();
    for _ in 0..4 {
        let mut events = Events::open(nginx, "/live/a/x", Some(&ids[4]));
        let found: Vec<Event> = (0..5).map(|_| events.next().unwrap()).collect();
        assert!(found.iter().enumerate().all(|(n, event)| event.data == (n + 5).to_string() && event.id == ids[n + 5]));
        let mut socket = socket(nginx, "/live");
        say(&mut socket, json!({"subscribe": ["a/+"], "since": ids[7]}));
        let frames = [read(&mut socket), read(&mut socket), read(&mut socket)];
        let data: Vec<&Value> = frames.iter().filter_map(|frame| frame.get("data")).collect();
        assert_eq!(data, [&json!("8"), &json!("9")], "{frames:?}");
        let polled = nginx.get(&format!("/live/a/x?since={}", ids[8]));
        let polled: Value = serde_json::from_str(polled.text().as_str()).unwrap();
        assert_eq!((&polled["messages"][0]["data"], &polled["at"]), (&json!("9"), &json!(ids[9])));
    }
    // Positions that are not there any more, or never were.
    let (epoch, _) = ids[0].split_once(':').unwrap();
    for since in ["1:5".to_owned(), format!("{epoch}:99999999")] {
        let mut events = Events::open(nginx, "/live/a/x", Some(&since));
        assert_eq!(events.next().unwrap().name, "gap", "{since}");
        assert_eq!(events.next().unwrap().data, "0");
    }
    let mut oldest = Events::open(nginx, "/live/a/x?since=oldest", None);
    assert_eq!(oldest.next().unwrap().data, "0");
    let mut oldest = socket(nginx, "/live");
    say(&mut oldest, json!({"subscribe": ["a/x"], "since": "oldest"}));
    let frames = [read(&mut oldest), read(&mut oldest)];
    assert!(frames.iter().any(|frame| frame["data"] == "0"), "{frames:?}");
    // Where nothing is kept, a gap is all there is.
    let id = publish(nginx, "/now/a", "missed");
    let _ = publish(nginx, "/now/a", "missed, too");
    let mut events = Events::open(nginx, "/now/a", Some(&id));
    assert_eq!(events.next().unwrap().name, "gap");
}

#[test]
fn messages_survive_workers_reloads_and_restarts() {
    let mut gateway = start();
    let first = publish(&gateway.nginx, "/live/news", "0");
    let _ = gateway.nginx.kill_worker();
    let _ = publish(&gateway.nginx, "/live/news", "1");
    // A subscriber of an old worker is told when to come back, and until then gets what new workers are told.
    let mut old = Events::open(&gateway.nginx, "/live/news", None);
    gateway.nginx.reload();
    let _ = publish(&gateway.nginx, "/live/news", "2");
    let mut seen = Vec::new();
    while let Some(event) = old.next() {
        seen.push((event.data, event.retry));
    }
    assert!(seen.last().is_some_and(|(_, retry)| retry.parse::<u32>().is_ok_and(|ms| ms <= 6000)), "{seen:?}");
    let mut events = Events::open(&gateway.nginx, "/live/news", Some(&first));
    assert_eq!([events.next().unwrap().data, events.next().unwrap().data], ["1", "2"]);
    gateway.control.kill();
    let _ = publish(&gateway.nginx, "/live/news", "3");
    assert_eq!(events.next().unwrap().data, "3", "without control");
}

#[test]
fn pages_of_other_sites_can_neither_connect_nor_publish() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let allowed = |host: &str, origin: &str| {
        let upgrade = Request::get("/live/a/x")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let post = Request::post("/live/a/x", "text/plain", "x");
        let presence = Request::get("/live/a/x?presence");
        [upgrade, post, presence].map(|request| nginx.send(&request.host(host).header("Origin", origin)).status)
    };
    for (host, origin) in [
        ("weir.test", "https://evil.example"),
        ("weir.test", "null"),
        ("weir.test", "http://weir.test.evil.example"),
        ("weir.test", "http://evil.weir.test"),
        ("weir.test", "https://weir.test"),
        ("weir.test", "http://weir.test:8080"),
        ("weir.test:8080", "http://weir.test"),
        ("weir.test:8080", "http://weir.test:80"),
    ] {
        assert_eq!(allowed(host, origin), [403; 3], "{host} {origin}");
    }
    for (host, origin) in [
        ("weir.test", "http://weir.test"),
        ("weir.test:80", "http://weir.test"),
        ("weir.test:8080", "http://weir.test:8080"),
        ("Weir.Test:8080", "http://weir.test:8080"),
    ] {
        assert_eq!(allowed(host, origin)[..2], [101, 200], "{host} {origin}");
    }
}

/// A process's descriptors that are TCP connections, each as a copy.
fn connections_of(pid: i32) -> Vec<TcpStream> {
    // SAFETY: two system calls with numbers only; a descriptor that they return belongs to nobody else.
    let owned = |call, of: i64, number: i64| unsafe {
        let copy = libc::syscall(call, of, number, 0);
        (copy >= 0).then(|| OwnedFd::from_raw_fd(copy as i32))
    };
    let process = owned(libc::SYS_pidfd_open, pid.into(), 0).expect("it runs");
    let numbers = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let copies = numbers.filter_map(|number| owned(libc::SYS_pidfd_getfd, process.as_raw_fd().into(), number));
    copies.map(TcpStream::from).filter(|stream| stream.peer_addr().is_ok()).collect()
}

/// The kernel held the second of two frames until the first was acknowledged, which clients delay by 40 ms.
#[test]
fn frames_to_a_client_that_sends_are_not_held_back() {
    let gateway = start();
    let socket = socket(&gateway.nginx, "/now");
    let client = socket.get_ref().local_addr().unwrap();
    let all = gateway.nginx.workers().into_iter().flat_map(connections_of);
    let own: Vec<_> = all.filter(|stream| stream.peer_addr().is_ok_and(|peer| peer == client)).collect();
    assert_eq!(own.iter().map(|stream| stream.nodelay().unwrap()).collect::<Vec<_>>(), [true]);
}

#[test]
fn a_subscriber_that_does_not_read_is_bounded() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let mut slow = Events::open(nginx, "/live/a/x", None);
    let mut quick = Events::open(nginx, "/live/a/x", None);
    let text = "x".repeat(50_000);
    let ids: Vec<String> = (0..20)
        .map(|_| {
            let id = publish(nginx, "/live/a/x", &text);
            assert_eq!(quick.next().unwrap().id, id);
            id
        })
        .collect();
    // What it has not read is bounded; it catches up, in order, or is told of a gap.
    let mut expected = ids.iter();
    while let Some(id) = expected.next() {
        let event = slow.next().unwrap();
        if event.name == "gap" {
            let _ = expected.by_ref().position(|known| *known == event.id);
            continue;
        }
        assert_eq!(event.id, *id);
    }
}

#[test]
fn topics_that_are_removed_end_their_connections() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let mut events = Events::open(nginx, "/now/a", None);
    let _ = gateway.api().delete("routes/now").expect(200);
    let _ = gateway.api().delete("topics/now").expect(200);
    assert!(events.next().is_none_or(|event| !event.retry.is_empty()));
    assert_eq!(events.next(), None);
}

/// Whoever was connected kept what the route had allowed, even after the route was deleted.
#[test]
fn clients_of_a_route_that_changes_come_back_and_are_checked_again() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let (mut changed, mut other) = (socket(nginx, "/live/news"), socket(nginx, "/now/a"));
    let mut events = Events::open(nginx, "/live/news", None);
    let _ = (read(&mut changed), read(&mut other));
    let route = json!({"site": "all", "path": "/live", "messages": {"topics": "past"}});
    let _ = gateway.api().put("routes/live", &route).expect(200);
    assert!(read(&mut changed)["reconnect_ms"].as_u64().is_some_and(|ms| (500..6000).contains(&ms)));
    assert!(matches!(changed.read(), Ok(Message::Close(Some(frame))) if u16::from(frame.code) == 1001));
    assert!(!events.next().unwrap().retry.is_empty());
    let mut again = socket(nginx, "/live/news");
    let _ = read(&mut again);
    say(&mut again, json!({"publish": "news", "data": "x", "id": 1}));
    assert!(read(&mut again)["error"].as_str().is_some_and(|error| error.contains("may not publish")));
    say(&mut other, json!({"publish": "a", "data": "x"}));
    assert_eq!(read(&mut other)["data"], "x");
}

#[test]
fn events_reach_clients_over_tls_and_http_2_whatever_their_size() {
    let setup = Setup::gateway();
    let certificate = Certificate::create(setup.prefix());
    let port = port::free();
    let directives = certificate.directives();
    let server = format!("server {{ listen 127.0.0.1:{port} ssl http2; {directives} weir_gateway on; }}");
    let gateway = Gateway::start_with(
        setup.http(&server),
        &[
            ("topics/all", json!({"topics": ["#"], "history": {"count": 100}, "max_message": "100k"})),
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/live", json!({"site": "all", "path": "/live", "messages": {"topics": "all", "publish": true}})),
        ],
    );
    let nginx = &gateway.nginx;
    let texts: Vec<String> = (0..12).map(|n| format!("{n} {}", "x".repeat(n * 8000))).collect();
    for version in ["--http1.1", "--http2", "--http2 from the past"] {
        let url =
            format!("https://localhost:{port}/live/t{}", if version.ends_with("past") { "?since=oldest" } else { "" });
        let mut client = Command::new("curl")
            .args(["-sSNk", "-H", "Accept: text/event-stream", "--max-time", "20"])
            .args(["--resolve", &format!("localhost:{port}:127.0.0.1"), version.split(' ').next().unwrap(), &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let (send, data) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(data) = line.strip_prefix("data: ") {
                    send.send(data.to_owned()).unwrap();
                }
            }
        });
        if !version.ends_with("past") {
            // It is there when it has one.
            until("the client to subscribe", || {
                let _ = publish(nginx, "/live/t", "first");
                data.recv_timeout(Duration::from_millis(50)).ok()
            });
            texts.iter().for_each(|text| _ = publish(nginx, "/live/t", text));
        }
        // The memory holds the last of them.
        let mut expected = texts.iter().skip(if version.ends_with("past") { 8 } else { 0 });
        while expected.len() > 0 {
            let found = data.recv_timeout(Duration::from_secs(10));
            let found = found.unwrap_or_else(|error| panic!("{version}: {error}, {} are missing", expected.len()));
            if texts.contains(&found) && (expected.len() < 4 || !version.ends_with("past") || found == texts[8]) {
                assert!(Some(&found) == expected.next(), "{version}: {}", &found[..20.min(found.len())]);
            }
        }
        client.kill().unwrap();
        client.wait().unwrap();
        reader.join().unwrap();
    }
    assert!(nginx.crashes().is_empty());
}
