//! Compares ways to carry 64 bytes from one process to another that sleeps in `epoll_wait`: what docs/adr/008-bus.md
//! rests on. Two processes, each on a core of its own; rounds interleaved, medians of rounds.
//!
//! `cargo bench -p weir-bus --bench transports [-- ROUNDS [PART OF A NAME]]`; the floor is always measured.

use std::os::fd::RawFd;
use std::time::Instant;

#[path = "transports/lanes.rs"]
mod lanes;

use lanes::{LANES, Lane, Make, Who};

/// Round trips of one measurement.
const TRIPS: usize = 10_000;
/// Messages of one measurement one way: as long as a quarter of a second of a good ring.
const MESSAGES: usize = 2_000_000;
/// Bytes of a message.
pub const MESSAGE: usize = 64;

/// What one measurement of one lane gave.
#[derive(Default, Clone)]
struct Row {
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
    per_second: Vec<f64>,
    /// CPU time of both processes for a message; unlike the rate, it hardly depends on what else the machine does.
    cpu_ns: Vec<f64>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let rounds = arguments.first().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let part = arguments.get(1).map_or("", String::as_str);
    let lanes: Vec<_> =
        (0..).zip(LANES).filter(|(n, (name, ..))| *n == 0 || name.contains(part)).map(|(_, lane)| lane).collect();
    let mut rows = vec![Row::default(); lanes.len()];
    for _ in 0..rounds {
        for (row, (_, make, carries)) in rows.iter_mut().zip(&lanes) {
            let (p50, p99) = ping_pong(*make);
            row.p50_us.push(p50);
            row.p99_us.push(p99);
            if *carries {
                let before = cpu_ns();
                row.per_second.push(one_way(*make));
                row.cpu_ns.push((cpu_ns() - before) / MESSAGES as f64);
            }
        }
    }
    let floor = median(&rows[0].p50_us);
    println!("| transport | p50 µs | p99 µs | of bare eventfd | messages/s one way | CPU ns each |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (row, (name, ..)) in rows.iter().zip(lanes) {
        let (p50, p99) = (median(&row.p50_us), median(&row.p99_us));
        let carried = match &row.per_second[..] {
            [] => " | ".into(),
            rates => format!("{:.2} M | {:.0}", median(rates) / 1e6, median(&row.cpu_ns)),
        };
        println!("| {name} | {p50:.1} | {p99:.1} | {:.2} | {carried} |", p50 / floor);
    }
}

/// p50 and p99 of round trips, in microseconds.
fn ping_pong(make: Make) -> (f64, f64) {
    let lanes = make();
    let child = fork(|| {
        let mut lane = lanes(Who::Child);
        let mut sleeper = Sleeper::new(&lane);
        for _ in 0..TRIPS {
            sleeper.take(&mut lane, 1);
            send(&mut lane);
        }
    });
    pin(0);
    let mut lane = lanes(Who::Parent);
    let mut sleeper = Sleeper::new(&lane);
    let mut times: Vec<f64> = (0..TRIPS)
        .map(|_| {
            let start = Instant::now();
            send(&mut lane);
            sleeper.take(&mut lane, 1);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    wait(child);
    times.sort_by(f64::total_cmp);
    (times[TRIPS / 2], times[TRIPS * 99 / 100])
}

/// Messages per second from the child to the parent. What arrives is counted and its order checked by the lane.
fn one_way(make: Make) -> f64 {
    let lanes = make();
    let child = fork(|| {
        let mut lane = lanes(Who::Child);
        Sleeper::new(&lane).take(&mut lane, 1);
        (0..MESSAGES).for_each(|_| send(&mut lane));
    });
    pin(0);
    let mut lane = lanes(Who::Parent);
    let mut sleeper = Sleeper::new(&lane);
    let start = Instant::now();
    send(&mut lane);
    sleeper.take(&mut lane, MESSAGES);
    let rate = MESSAGES as f64 / start.elapsed().as_secs_f64();
    wait(child);
    rate
}

fn send(lane: &mut Lane) {
    while !(lane.send)() {
        std::thread::yield_now();
    }
}

/// Sleeps in `epoll_wait` as an event loop does; or as the lane wants to.
struct Sleeper {
    epoll: RawFd,
    /// Messages that came along with one that was waited for.
    early: usize,
}

impl Sleeper {
    fn new(lane: &Lane) -> Self {
        // SAFETY: makes a file descriptor.
        let epoll = unsafe { libc::epoll_create1(0) };
        if let Some(bell) = lane.bell {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: both are open, `event` is valid.
            unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, bell, &raw mut event) };
        }
        Self { epoll, early: 0 }
    }

    /// Sleeps and receives until so many messages have come.
    fn take(&mut self, lane: &mut Lane, wanted: usize) {
        while self.early < wanted {
            if lane.bell.is_some() {
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                // SAFETY: room for one event.
                unsafe { libc::epoll_wait(self.epoll, &raw mut event, 1, -1) };
            }
            self.early += (lane.receive)();
        }
        self.early -= wanted;
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // SAFETY: it is this value's.
        unsafe { libc::close(self.epoll) };
    }
}

fn fork(run: impl FnOnce()) -> libc::pid_t {
    // SAFETY: this program has one thread.
    match unsafe { libc::fork() } {
        0 => {
            pin(1);
            run();
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        child => child,
    }
}

fn wait(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the child is this process's.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the other process has failed");
}

/// Binds the process to a core, if the machine has it.
fn pin(core: usize) {
    // SAFETY: the set is plain data, and valid zeroed.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// CPU time of this process and of the children that have ended, in nanoseconds.
fn cpu_ns() -> f64 {
    let used = |who| {
        // SAFETY: plain data, valid zeroed, for the call to fill in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        [usage.ru_utime, usage.ru_stime]
            .iter()
            .map(|time| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3)
            .sum::<f64>()
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
