//! Mosquitto: what a broker costs that stands between two processes. Messages of 64 bytes at QoS 0
//! over a Unix socket, one way as fast as they go without loss, and there and back.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::contender::{Contender, Turn};
use super::forked::Forked;
use super::mqtt::{self, PACKET};
use super::seats::Seats;
use super::stage::Stage;
use super::timings::{Figures, Timings};
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::write;

/// How long it may take to its socket.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Messages in one write: what a client gains by not making a system call for each.
const BATCH: u64 = 32;
/// Messages on their way at most; past its socket's buffer the broker would drop some.
const WINDOW: u64 = 512;
/// How long the last messages may take.
const GRACE: Duration = Duration::from_secs(2);
/// Exchanges there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 100_000.0;

fn start(stage: &Stage<'_>, name: &'static str) -> Result<(Child, PathBuf), MeasureError> {
    let program = stage.needs("mosquitto")?;
    let directory = stage.site.directory_of(name)?;
    let (socket, file) = (directory.join("mqtt.sock"), directory.join("mosquitto.conf"));
    // SAFETY: geteuid only reads a number of the process.
    let user = if unsafe { libc::geteuid() } == 0 { "user root\n" } else { "" };
    let text =
        format!("listener 0 {}\nallow_anonymous true\npersistence false\nlog_type error\n{user}", socket.display());
    write(&file, &text)?;
    let mut child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: vec!["-c".into(), file.into_os_string()],
        environment: Vec::new(),
        core: stage.seats.hub,
        nice: stage.site.placement.nice,
        output: directory.join("mosquitto.out"),
    })?;
    let deadline = Instant::now() + START_LIMIT;
    while UnixStream::connect(&socket).is_err() {
        child.expect_running()?;
        if Instant::now() > deadline {
            return Err(MeasureError::program(
                "mosquitto",
                format!("no socket after {START_LIMIT:?}: {}", child.said()),
            ));
        }
        std::thread::sleep(POLL);
    }
    Ok((child, socket))
}

struct RoundTrip {
    seats: Seats,
    stream: UnixStream,
    _echo: Forked,
    _broker: Child,
}

/// Two clients: one publishes to the other, which publishes back.
pub fn start_round_trip(stage: &Stage<'_>, name: &'static str) -> Result<Box<dyn Contender>, MeasureError> {
    let (broker, socket) = start(stage, name)?;
    let stream = mqtt::connect(&socket, b'a')?;
    let other = mqtt::connect(&socket, b'b')?;
    other.set_read_timeout(None).map_err(MeasureError::file(&socket))?;
    let answer = mqtt::publish(b'a', 0);
    let echo = Forked::start(stage.seats.workers[1], || {
        let mut packet = [0; PACKET];
        while (&other).read_exact(&mut packet).is_ok() && (&other).write_all(&answer).is_ok() {}
    })?;
    Ok(Box::new(RoundTrip { seats: stage.seats, stream, _echo: echo, _broker: broker }))
}

impl RoundTrip {
    fn exchanges(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let failed = |error: std::io::Error| MeasureError::program("mosquitto", error.to_string());
        let (question, mut answer) = (mqtt::publish(b'b', 1), [0; PACKET]);
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            let before = Instant::now();
            self.stream.write_all(&question).map_err(failed)?;
            self.stream.read_exact(&mut answer).map_err(failed)?;
            timings.push(before.elapsed());
            check_interrupted()?;
        }
        timings.end().map(Turn::from).ok_or_else(|| MeasureError::wrong("mosquitto", "delivered nothing in its time"))
    }
}

impl Contender for RoundTrip {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        self.seats.as_client(|| self.exchanges(length))
    }
}

struct OneWay {
    sender: UnixStream,
    receiver: UnixStream,
    _broker: Child,
    next: u64,
}

/// Two clients: one publishes, the other receives.
pub fn start_one_way(stage: &Stage<'_>, name: &'static str) -> Result<Box<dyn Contender>, MeasureError> {
    let (broker, socket) = start(stage, name)?;
    let (sender, receiver) = (mqtt::connect(&socket, b'a')?, mqtt::connect(&socket, b'b')?);
    receiver.set_read_timeout(Some(Duration::from_millis(100))).map_err(MeasureError::file(&socket))?;
    Ok(Box::new(OneWay { sender, receiver, _broker: broker, next: 0 }))
}

/// What the two ends of a one-way turn tell each other.
#[derive(Default)]
struct Progress {
    received: AtomicU64,
    disorder: AtomicU64,
    ended: AtomicBool,
}

impl Contender for OneWay {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let progress = Progress::default();
        let (first, receiver) = (self.next, &self.receiver);
        let (mut sender, began) = (&self.sender, Instant::now());
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| receive(receiver, first, &progress));
            let sent = send(&mut sender, first, began, length, &progress);
            let deadline = Instant::now() + GRACE;
            let all = *sent.as_ref().unwrap_or(&0);
            while progress.received.load(Ordering::Acquire) < all && Instant::now() < deadline {
                std::thread::yield_now();
            }
            progress.ended.store(true, Ordering::Release);
            sent
        })?;
        self.next += sent;
        let elapsed = began.elapsed();
        if progress.disorder.load(Ordering::Relaxed) > 0 {
            return Err(MeasureError::wrong("mosquitto", "messages came out of order"));
        }
        let received = progress.received.load(Ordering::Relaxed);
        let each_us = elapsed.as_secs_f64() * 1e6 / received.max(1) as f64;
        let figures = Figures {
            mean_us: each_us,
            p50_us: each_us,
            p99_us: each_us,
            per_second: 1e6 / each_us,
            samples: received,
        };
        Ok(Turn { lost: Some(sent.saturating_sub(received)), ..Turn::from(figures) })
    }
}

/// Publishes for `length`; how many messages.
fn send(
    stream: &mut &UnixStream,
    first: u64,
    began: Instant,
    length: Duration,
    progress: &Progress,
) -> Result<u64, MeasureError> {
    let mut sent = 0;
    let mut bytes = Vec::with_capacity(BATCH as usize * PACKET);
    while began.elapsed() < length {
        check_interrupted()?;
        if sent - progress.received.load(Ordering::Acquire) > WINDOW - BATCH {
            std::thread::yield_now();
            continue;
        }
        bytes.clear();
        (0..BATCH).for_each(|more| bytes.extend_from_slice(&mqtt::publish(b'b', first + sent + more)));
        stream.write_all(&bytes).map_err(|error| MeasureError::program("mosquitto", error.to_string()))?;
        sent += BATCH;
    }
    Ok(sent)
}

/// Counts what comes until the sender has ended.
fn receive(mut stream: &UnixStream, first: u64, progress: &Progress) {
    let (mut buffer, mut held) = (vec![0; 1024 * PACKET], 0);
    let mut expected = first;
    while !progress.ended.load(Ordering::Acquire) {
        let Ok(read) = stream.read(&mut buffer[held..]) else { continue };
        held += read;
        let whole = held - held % PACKET;
        for packet in buffer[..whole].chunks_exact(PACKET) {
            match mqtt::number(packet) {
                Some(number) if number >= expected => expected = number + 1,
                _ => drop(progress.disorder.fetch_add(1, Ordering::Relaxed)),
            }
        }
        buffer.copy_within(whole..held, 0);
        held -= whole;
        progress.received.fetch_add((whole / PACKET) as u64, Ordering::AcqRel);
    }
}
