//! A crowd of subscribers while nginx is reloaded and its workers are killed, and a checker of what each of them got.
//!
//! Clients resume as those of users do: server-sent events with `Last-Event-ID`, WebSockets with `since`. Some stay away for
//! longer than the history reaches, and must be told so. Sizes are small here; `make messages-crowd` takes those of
//! `WEIR_CROWD`: subscribers, reloads, kills and seconds between these.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tungstenite::Message;
use weir_tests::{Connection, Gateway, Nginx, Setup};

const TOPICS: u64 = 100;
const PUBLISHERS: u64 = 4;
/// One in so many stays away for longer than the history reaches.
const SLEEPERS: u64 = 50;
/// Longer than the pause that a reload asks for.
const HISTORY: Duration = Duration::from_secs(8);
/// The last messages, one a topic, are of this publisher.
const LAST: u64 = PUBLISHERS;

/// A message: publisher, and its number there.
type Id = (u64, u64);

/// What a subscriber got.
#[derive(Default)]
struct Heard {
    cursor: Option<String>,
    ids: Vec<Id>,
    last: HashMap<u64, u64>,
    gaps: Vec<RangeInclusive<u64>>,
    wrong: Option<String>,
    is_over: bool,
    sessions: u32,
}

impl Heard {
    fn message(&mut self, cursor: &str, data: &str) {
        self.cursor = Some(cursor.to_owned());
        let mut words = data.split(' ').map(|word| word.parse::<u64>().unwrap());
        let id: Id = (words.next().unwrap(), words.next().unwrap());
        let before = self.last.insert(id.0, id.1);
        if before.is_some_and(|before| before >= id.1) {
            self.wrong.get_or_insert(format!("{id:?} after {before:?}"));
        }
        self.is_over |= id.0 == LAST;
        self.ids.push(id);
    }

    fn gap(&mut self, object: &Value) {
        let end = |name: &str| position(object[name].as_str().unwrap());
        self.gaps.push(end("from")..=end("to"));
        self.cursor = object["to"].as_str().map(str::to_owned);
    }
}

fn position(cursor: &str) -> u64 {
    cursor.rsplit(':').next().unwrap().parse().unwrap()
}

/// A connection, and the bytes that are not yet whole frames.
struct Session {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Session {
    async fn open(port: u16, request: &str, status: &str) -> Option<Self> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut session = Self { stream, bytes: Vec::new() };
        loop {
            if let Some(end) = session.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = session.bytes.drain(..end + 4).collect();
                return head.starts_with(format!("HTTP/1.1 {status} ").as_bytes()).then_some(session);
            }
            session.more().await?;
        }
    }

    async fn more(&mut self) -> Option<()> {
        timeout(Duration::from_secs(60), self.stream.read_buf(&mut self.bytes)).await.ok()?.ok().filter(|n| *n > 0)?;
        Some(())
    }

    /// The next chunk of a body.
    async fn chunk(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.bytes.windows(2).position(|two| two == b"\r\n") {
                let size = std::str::from_utf8(&self.bytes[..line]).unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                if self.bytes.len() >= line + size + 4 {
                    let text = String::from_utf8(self.bytes[line + 2..][..size].to_vec()).unwrap();
                    self.bytes.drain(..line + size + 4);
                    return (size > 0).then_some(text);
                }
            }
            self.more().await?;
        }
    }

    /// The next text frame. Those of servers are not masked; the long form is of no use here.
    async fn frame(&mut self) -> Option<Value> {
        loop {
            if let [first, second, rest @ ..] = &*self.bytes {
                let (skip, size) = match (*second, rest) {
                    (126, [high, low, ..]) => (4, usize::from(u16::from_be_bytes([*high, *low]))),
                    (126, _) => (4, usize::MAX - 4),
                    (127.., _) => panic!("a frame of 64 KiB, or masked"),
                    (short, _) => (2, usize::from(short)),
                };
                if self.bytes.len() >= skip + size {
                    let opcode = first & 0x0f;
                    let payload: Vec<u8> = self.bytes.drain(..skip + size).skip(skip).collect();
                    match opcode {
                        1 => return Some(serde_json::from_slice(&payload).unwrap()),
                        8 => return None,
                        _ => continue,
                    }
                }
            }
            self.more().await?;
        }
    }
}

/// Follows a topic by server-sent events until the connection ends. Returns the pause that the server asks for.
async fn events(port: u16, topic: u64, heard: &RefCell<Heard>) -> u64 {
    let last = heard.borrow().cursor.as_ref().map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
    let request = format!("GET /live/t/{topic} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n{last}\r\n");
    let Some(mut session) = Session::open(port, &request, "200").await else { return 100 };
    heard.borrow_mut().sessions += 1;
    let (mut text, mut pause) = (String::new(), 100);
    while let Some(chunk) = session.chunk().await {
        text.push_str(&chunk);
        while let Some(end) = text.find("\n\n") {
            let event: String = text.drain(..end + 2).collect();
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            let mut heard = heard.borrow_mut();
            if let Some(ms) = field("retry: ") {
                pause = ms.parse().unwrap();
            }
            match (field("event: "), field("id: "), field("data: ")) {
                (Some("gap"), _, Some(data)) => heard.gap(&serde_json::from_str(data).unwrap()),
                (None, Some(id), Some(data)) => heard.message(id, data),
                (None, Some(id), None) => _ = heard.cursor.get_or_insert(id.to_owned()),
                _ => {}
            }
        }
        if heard.borrow().is_over {
            break;
        }
    }
    pause
}

/// Follows a topic by a WebSocket until the connection ends.
async fn socket(port: u16, topic: u64, heard: &RefCell<Heard>) -> u64 {
    let request = "GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let Some(mut session) = Session::open(port, request, "101").await else { return 100 };
    heard.borrow_mut().sessions += 1;
    let mut wanted = json!({"subscribe": [format!("t/{topic}")]});
    if let Some(cursor) = &heard.borrow().cursor {
        wanted["since"] = json!(cursor);
    }
    let wanted = wanted.to_string();
    // Masked with zeros.
    let mut frame = vec![0x81, 0x80 | 126, (wanted.len() >> 8) as u8, wanted.len() as u8, 0, 0, 0, 0];
    if wanted.len() < 126 {
        frame.splice(1..4, [0x80 | wanted.len() as u8]);
    }
    frame.extend_from_slice(wanted.as_bytes());
    let mut pause = 100;
    if session.stream.write_all(&frame).await.is_err() {
        return pause;
    }
    while let Some(object) = session.frame().await {
        let mut heard = heard.borrow_mut();
        if let (Some(id), Some(data)) = (object["id"].as_str(), object["data"].as_str()) {
            heard.message(id, data);
        } else if object.get("gap").is_some() {
            heard.gap(&object);
        } else if let Some(at) = object["at"].as_str() {
            heard.cursor.get_or_insert(at.to_owned());
        } else if let Some(ms) = object["reconnect_ms"].as_u64() {
            pause = ms;
        } else {
            heard.wrong.get_or_insert(object.to_string());
        }
        if heard.is_over {
            break;
        }
    }
    pause
}

/// Follows a topic until its last message, over as many connections as it takes.
async fn subscriber(port: u16, n: u64, heard: Rc<RefCell<Heard>>) {
    let is_sleeper = n % SLEEPERS == 7;
    while !heard.borrow().is_over {
        let topic = n % TOPICS;
        let pause =
            if n.is_multiple_of(2) { socket(port, topic, &heard).await } else { events(port, topic, &heard).await };
        let away = if is_sleeper { HISTORY.as_millis() as u64 * 3 / 2 } else { pause + n * 7 % 100 };
        sleep(Duration::from_millis(away)).await;
    }
}

/// What a publisher sent and had acknowledged, with the position of each message.
type Acknowledged = HashMap<Id, (u64, u64)>;

/// Publishes until `stop`, by `POST` or WebSocket. A message that was not acknowledged is not sent again: it may have been
/// published nevertheless.
fn publish(nginx: &Nginx, publisher: u64, stop: &AtomicBool) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let (mut connection, mut socket) = (None, None);
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let topic = (publisher * 31 + number * 7) % TOPICS;
        let text = format!("{publisher} {number}");
        let at = if publisher.is_multiple_of(2) {
            post(nginx, &mut connection, topic, &text)
        } else {
            let target = || {
                let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, nginx.port)).ok()?;
                stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
                tungstenite::client(format!("ws://127.0.0.1:{}/live", nginx.port), stream).ok()
            };
            if socket.is_none() {
                socket = target().map(|(socket, _)| socket);
            }
            socket.as_mut().and_then(|socket| {
                let frame = json!({"publish": format!("t/{topic}"), "data": text, "id": number}).to_string();
                socket.send(Message::text(frame)).ok()?;
                loop {
                    let Message::Text(text) = socket.read().ok()? else { continue };
                    let answer: Value = serde_json::from_str(&text).unwrap();
                    if let Some(cursor) = answer["published"].as_str() {
                        break Some(position(cursor));
                    }
                    assert!(answer.get("reconnect_ms").is_some(), "{answer}");
                }
            })
        };
        match at {
            Some(at) => _ = acknowledged.insert((publisher, number), (topic, at)),
            None => (connection, socket) = (None, None),
        }
        std::thread::sleep(Duration::from_millis(if at.is_some() { 15 } else { 50 }));
    }
    acknowledged
}

/// Publishes over a connection that is kept; the position, if it is acknowledged.
fn post(nginx: &Nginx, kept: &mut Option<Connection>, topic: u64, text: &str) -> Option<u64> {
    if kept.is_none() {
        *kept = Connection::try_open(nginx.port).ok();
    }
    let connection = kept.as_mut()?;
    let head = format!("POST /live/t/{topic} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{text}", text.len());
    connection.try_send(head.as_bytes()).ok()?;
    let response = connection.try_receive(false).ok()?;
    assert_eq!(response.status, 200, "{}", response.text());
    let answer: Value = serde_json::from_str(&response.text()).unwrap();
    answer["id"].as_str().map(position)
}

/// All subscribers, in this thread.
fn crowd(port: u16, size: u64, begun: &AtomicBool) -> Vec<Heard> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let all: Vec<_> = (0..size).map(|_| Rc::<RefCell<Heard>>::default()).collect();
    let tasks: Vec<_> =
        (0..).zip(&all).map(|(n, one)| local.spawn_local(subscriber(port, n, Rc::clone(one)))).collect();
    local.block_on(&runtime, async {
        while all.iter().any(|heard| heard.borrow().cursor.is_none()) {
            sleep(Duration::from_millis(20)).await;
        }
        begun.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.unwrap();
        }
    });
    all.iter().map(|heard| heard.take()).collect()
}

#[test]
fn nothing_is_lost_doubled_or_out_of_order_while_workers_are_killed_and_reloaded() {
    let sizes = std::env::var("WEIR_CROWD").unwrap_or_else(|_| "200 6 6 0.7".to_owned());
    let sizes: Vec<f64> = sizes.split_whitespace().map(|size| size.parse().expect("WEIR_CROWD: numbers")).collect();
    let [subscribers, reloads, kills, pause] = sizes[..] else { panic!("WEIR_CROWD: four numbers") };
    let (subscribers, reloads, kills) = (subscribers as u64, reloads as u64, kills as u64);
    let gateway = Gateway::start_with(
        Setup::gateway().workers(2).connections(16_384),
        &[
            (
                "topics/past",
                json!({"topics": ["#"], "history": {"count": 10_000, "age": format!("{}s", HISTORY.as_secs())}}),
            ),
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/live", json!({"site": "all", "path": "/live", "messages": {"topics": "past", "publish": true}})),
        ],
    );
    let nginx = &gateway.nginx;
    let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let start = Instant::now();
    let (acknowledged, heard) = std::thread::scope(|scope| {
        let crowd = scope.spawn(|| crowd(nginx.port, subscribers, &begun));
        while !begun.load(Ordering::Relaxed) {
            assert!(!crowd.is_finished(), "the crowd has gone");
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("{subscribers} subscribers after {:.1?}", start.elapsed());
        let stop = &stop;
        let publishers: Vec<_> =
            (0..PUBLISHERS).map(|publisher| scope.spawn(move || publish(nginx, publisher, stop))).collect();
        let rounds = reloads.max(kills);
        for round in 1..=rounds {
            std::thread::sleep(Duration::from_secs_f64(pause));
            // Spread evenly, whichever there are more of.
            if round * kills / rounds > (round - 1) * kills / rounds {
                let _ = nginx.kill_worker();
            }
            if round * reloads / rounds > (round - 1) * reloads / rounds {
                nginx.reload();
            }
            if round % 10 == 0 {
                println!("round {round} of {rounds}, {:.0?}", start.elapsed());
            }
        }
        stop.store(true, Ordering::Relaxed);
        let mut acknowledged = Acknowledged::new();
        publishers.into_iter().for_each(|publisher| acknowledged.extend(publisher.join().unwrap()));
        // Sleepers are told by the history what the last message was.
        while !crowd.is_finished() {
            let number = start.elapsed().as_millis() as u64;
            (0..TOPICS).for_each(|topic| _ = post(nginx, &mut None, topic, &format!("{LAST} {number}")));
            std::thread::sleep(Duration::from_secs(1));
        }
        (acknowledged, crowd.join().unwrap())
    });
    let (mut deliveries, mut gaps, mut told, mut sessions, mut wrong) = (0, 0, 0, 0, Vec::new());
    for (n, heard) in (0..).zip(&heard) {
        deliveries += heard.ids.len();
        gaps += heard.gaps.len();
        sessions += u64::from(heard.sessions);
        wrong.extend(heard.wrong.iter().map(|words| format!("subscriber {n}: {words}")));
        let found: std::collections::HashSet<&Id> = heard.ids.iter().collect();
        for (id, (_, at)) in acknowledged.iter().filter(|(id, (topic, _))| *topic == n % TOPICS && !found.contains(id))
        {
            if heard.gaps.iter().any(|gap| gap.contains(at)) {
                told += 1;
            } else {
                wrong.push(format!("subscriber {n} has lost {id:?} at {at}; gaps {:?}", heard.gaps));
            }
        }
    }
    println!(
        "{} messages acknowledged, {deliveries} deliveries over {sessions} connections, {reloads} reloads, {kills} kills, \
         {gaps} gaps announced with {told} messages in them, {} lost, doubled or out of order, {:.0?}",
        acknowledged.len(),
        wrong.len(),
        start.elapsed()
    );
    assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(20)]);
    assert!(acknowledged.len() as u64 > 20 * reloads.max(kills), "{} acknowledged", acknowledged.len());
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}
