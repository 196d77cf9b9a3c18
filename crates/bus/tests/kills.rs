//! Workers that send to each other at random are killed at random, again and again. Then: every message whose `send`
//! returned arrives, once or again after its receiver's death, in the order of its sender; and nobody sleeps on while
//! something is there for it. One test in a file of its own, since it forks.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, fence};
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};
use weir_bus::{Address, Endpoint, Region, SendError, State, Topic};

const WORKERS: usize = 3;
const TOPIC: Topic = Topic(16);
/// Rounds of traffic, each with kills, each followed by silence in which everything has to arrive.
const ROUNDS: u64 = 100;
/// How long the silence may last until someone counts as asleep for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the processes note for the checker, for one sender and one receiver. It survives them.
#[repr(C)]
struct Pair {
    /// The last number that was tried, and the last whose `send` returned.
    tried: AtomicU64,
    sent: AtomicU64,
    /// Numbers that were tried by someone who was killed before he knew, and the last of them.
    unsure: AtomicU64,
    last_unsure: AtomicU64,
    /// The last number that arrived.
    arrived: AtomicU64,
    /// Numbers that were passed over on arrival.
    missing: AtomicU64,
    /// Arrivals in the wrong order.
    disorder: AtomicU64,
}

#[repr(C)]
struct Notes {
    traffic: AtomicU64,
    pairs: [[Pair; WORKERS]; WORKERS],
}

fn notes(map: &MmapRaw) -> &Notes {
    // SAFETY: the mapping is large enough, zeroed and page-aligned; all fields are atomics.
    unsafe { &*map.as_ptr().cast::<Notes>() }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Sleeps until the bell rings; with traffic on, for a millisecond at most.
fn sleep(endpoint: &Endpoint, notes: &Notes) {
    let timeout = if notes.traffic.load(SeqCst) == 1 { 1 } else { -1 };
    let mut poll = libc::pollfd { fd: endpoint.bell(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, timeout) };
}

fn send(endpoint: &Endpoint, notes: &Notes, me: usize, to: usize, length: usize) {
    let pair = &notes.pairs[me][to];
    let number = pair.tried.load(SeqCst) + 1;
    pair.tried.store(number, SeqCst);
    let mut payload = [0u8; 600];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    match endpoint.send(Address::Worker(to as u16), TOPIC, &payload[..length.max(8)]) {
        Ok(()) => pair.sent.store(number, SeqCst),
        // Nothing was sent: the number is free again.
        Err(SendError::Full | SendError::Gone) => pair.tried.store(number - 1, SeqCst),
        Err(other) => panic!("{other}"),
    }
}

fn receive(endpoint: &Endpoint, notes: &Notes, me: usize) {
    endpoint.receive(&mut |message| {
        let Address::Worker(from) = message.from else { return };
        let number = u64::from_le_bytes(message.payload[..8].try_into().unwrap());
        let pair = &notes.pairs[usize::from(from)][me];
        let last = pair.arrived.load(SeqCst);
        // The last one again: the predecessor was killed with it in hand.
        if number < last {
            pair.disorder.fetch_add(1, SeqCst);
        } else if number > last {
            pair.missing.fetch_add(number - last - 1, SeqCst);
        }
        pair.arrived.store(number.max(last), SeqCst);
    });
}

fn worker(region: &Arc<Region>, notes: &Notes, me: usize, seed: u64) -> ! {
    let mut random = Random(seed);
    let endpoint = region.attach(Address::Worker(me as u16)).unwrap();
    for to in 0..WORKERS {
        let pair = &notes.pairs[me][to];
        let tried = pair.tried.load(SeqCst);
        if tried != pair.sent.load(SeqCst) && pair.last_unsure.swap(tried, SeqCst) != tried {
            pair.unsure.fetch_add(1, SeqCst);
        }
    }
    let mut keys = 0u64;
    loop {
        if notes.traffic.load(SeqCst) == 1 {
            for _ in 0..random.below(200) {
                let to = (me + 1 + random.below(WORKERS as u64 - 1) as usize) % WORKERS;
                let length = random.below(600) as usize;
                send(&endpoint, notes, me, to, length);
            }
            keys += 1;
            let key = (keys % 50).to_le_bytes();
            if endpoint.claim(&key).is_ok() && keys.is_multiple_of(3) {
                assert!(endpoint.release(&key));
            }
        }
        receive(&endpoint, notes, me);
        sleep(&endpoint, notes);
    }
}

fn start(region: &Arc<Region>, notes: &Notes, me: usize, seed: u64) -> libc::pid_t {
    // SAFETY: the child uses nothing that another thread of this process could hold, but the allocator, which glibc
    // makes usable after a fork; it leaves with `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a plain setting: should the test fail, its workers end with it.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker(region, notes, me, seed)));
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(if ended.is_err() { 3 } else { 0 }) }
        }
        child => child,
    }
}

fn kill(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the child is this process's and not reaped yet.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    assert!(libc::WIFSIGNALED(status), "a worker has failed by itself");
}

fn everything_arrived(notes: &Notes) -> bool {
    notes.pairs.iter().flatten().all(|pair| pair.arrived.load(SeqCst) >= pair.sent.load(SeqCst))
}

#[test]
fn nothing_is_lost_and_nobody_sleeps_on() {
    let dir = tempfile::tempdir().unwrap();
    let region = Arc::new(Region::create(dir.path(), 1, WORKERS).unwrap());
    let file = tempfile::tempfile().unwrap();
    file.set_len(size_of::<Notes>() as u64).unwrap();
    let map = MmapOptions::new().map_raw(&file).unwrap();
    let notes = notes(&map);
    let control = region.attach(Address::Control).unwrap();
    let mut random = Random(0x5eed_1234_5678_9abc);
    let mut children: Vec<_> = (0..WORKERS).map(|me| start(&region, notes, me, me as u64 + 1)).collect();
    for round in 1..=ROUNDS {
        notes.traffic.store(1, SeqCst);
        control.wake_workers();
        for _ in 0..1 + random.below(4) {
            std::thread::sleep(Duration::from_micros(random.below(10_000)));
            let victim = random.below(WORKERS as u64) as usize;
            kill(children[victim]);
            children[victim] = start(&region, notes, victim, round * 64 + victim as u64 + 1);
        }
        notes.traffic.store(0, SeqCst);
        fence(SeqCst);
        let silence = Instant::now();
        while !everything_arrived(notes) {
            assert!(silence.elapsed() < PATIENCE, "round {round}: somebody sleeps on");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    // Whoever was killed last has left something unsure that only a successor counts.
    children.into_iter().for_each(kill);
    let total = |f: fn(&Pair) -> &AtomicU64| notes.pairs.iter().flatten().map(|pair| f(pair).load(SeqCst)).sum::<u64>();
    assert_eq!(total(|pair| &pair.disorder), 0, "order");
    for pair in notes.pairs.iter().flatten() {
        assert!(pair.missing.load(SeqCst) <= pair.unsure.load(SeqCst), "a message whose send returned is missing");
    }
    let counts: Vec<_> = region.slots().map(|slot| slot.counts()).collect();
    assert!(counts.iter().all(|counts| counts.damaged == 0 && counts.abandoned == 0), "{counts:?}");
    println!(
        "{} messages, {} unsure, {} of them missing",
        total(|p| &p.sent),
        total(|p| &p.unsure),
        total(|p| &p.missing)
    );
    assert!(total(|pair| &pair.sent) > 10_000, "there was hardly any traffic");
    assert_eq!(region.reap(), WORKERS);
    assert!(region.slots().all(|slot| slot.state() == State::Gone));
}
