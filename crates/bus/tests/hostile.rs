//! A region whose memory another process changes at will: calls end, read within the region, and what is handed over is a
//! message within the bounds. Once the memory is left alone, a new worker works.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};
use weir_bus::{Address, BATCH, Endpoint, MESSAGE_MAX, Region, Topic};

/// Workers of the region.
const WORKERS: usize = 3;
/// How long it is attacked.
const ATTACK: Duration = Duration::from_secs(2);
/// How long a call may last until it counts as one that never ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// The region as a worker that was taken over sees it.
struct Taken(MmapRaw);

impl Taken {
    fn over(dir: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(dir.join("bus.1")).unwrap();
        Self(MmapOptions::new().map_raw(&file).unwrap())
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: page-aligned and this long; only accessed as atomics here.
        unsafe { std::slice::from_raw_parts(self.0.as_mut_ptr().cast(), self.0.len() / 8) }
    }
}

/// xorshift64 (Marsaglia 2003).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A word that is likely to be taken for something: small numbers, words that begin messages, neighbours of what is there.
fn odd(state: &mut u64, there: u64) -> u64 {
    let r = random(state);
    match r % 6 {
        0 => r,
        1 => r >> 40 & 0xff,
        2 => 0xb5 << 56 | (r >> 8 & 7) << 48 | r >> 16 & 0xffff_ffff,
        3 => there.wrapping_add(r >> 60),
        4 => u64::MAX - (r >> 60),
        _ => there ^ 1 << (r >> 58),
    }
}

fn use_all(endpoint: &Endpoint, handed: &mut usize) {
    *handed += endpoint.receive(&mut |message| {
        assert!(message.key.len() + message.payload.len() <= 4 * MESSAGE_MAX);
        std::hint::black_box(String::from_utf8_lossy(message.payload).len());
        let _ = endpoint.reply(&message, b"reply");
    });
    endpoint.acknowledge(7, 7);
    let _ = endpoint.broadcast(Topic::PING, b"all");
    let _ = endpoint.send(Address::Control, Topic::PING, b"one");
    let _ = endpoint.claim(b"key");
    let _ = endpoint.owner(b"key");
    let _ = endpoint.release(b"key");
    let region = endpoint.region();
    region.slots().for_each(|slot| _ = (slot.acknowledged(), slot.pid(), slot.counts(), slot.lives()));
}

#[test]
fn any_contents_of_the_memory_are_survived() {
    let dir = tempfile::tempdir().unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, WORKERS).unwrap());
    let opened = Arc::new(Region::open(dir.path(), 1).unwrap());
    let calls = Arc::new(AtomicU64::new(0));
    let made = Arc::clone(&calls);
    let users = std::thread::spawn(move || {
        let endpoints = [opened.attach(Address::Control).unwrap(), region.attach(Address::Worker(0)).unwrap()];
        let (begun, mut handed) = (Instant::now(), 0);
        while begun.elapsed() < ATTACK {
            for endpoint in &endpoints {
                let before = handed;
                use_all(endpoint, &mut handed);
                assert!(handed - before <= BATCH * (WORKERS + 1), "{before} messages, then {handed}");
            }
            made.fetch_add(1, Ordering::Relaxed);
        }
        handed
    });
    let taken = Taken::over(dir.path());
    let (words, mut state) = (taken.words(), 0x9e37_79b9_7f4a_7c15);
    // Slots and indices are before the owner table and get as much as all the rest.
    let front = words.len().min(1024);
    let (mut seen, mut since) = (0, Instant::now());
    while !users.is_finished() {
        for _ in 0..10_000 {
            let r = random(&mut state);
            let word = &words[if r & 1 == 0 { (r >> 8) as usize % front } else { (r >> 8) as usize % words.len() }];
            word.store(odd(&mut state, word.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
        if calls.load(Ordering::Relaxed) > seen {
            (seen, since) = (calls.load(Ordering::Relaxed), Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "a call does not end");
    }
    let handed = users.join().unwrap();
    assert!(seen > 100 && handed > 0, "{handed} messages in {seen} rounds");
    // The memory is left alone: whoever attaches now is in order, and control reads what it says.
    let again = Arc::new(Region::create(dir.path(), 2, WORKERS).unwrap());
    let control = Arc::new(Region::open(dir.path(), 2).unwrap()).attach(Address::Control).unwrap();
    let worker = again.attach(Address::Worker(1)).unwrap();
    worker.acknowledge(9, 9);
    assert_eq!(control.region().slot(1).acknowledged(), (9, 9));
    worker.refuse(10, "reason").unwrap();
    let mut reasons = 0;
    control.receive(&mut |message| reasons += usize::from(message.topic == Topic::REFUSED));
    assert_eq!(reasons, 1);
}

#[test]
fn a_header_that_changes_while_it_is_read_is_refused_or_right() {
    let dir = tempfile::tempdir().unwrap();
    let _region = Region::create(dir.path(), 1, WORKERS).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let taken = Taken::over(dir.path());
            for n in (0..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                taken.words()[2].store([3, 64, 0, u64::MAX][n % 4], Ordering::Relaxed);
                taken.words()[4].store(if n % 3 == 0 { u64::MAX } else { 1 << 20 }, Ordering::Relaxed);
            }
        });
        for _ in 0..2000 {
            if let Ok(region) = Region::open(dir.path(), 1) {
                assert_eq!(region.workers(), WORKERS);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
