//! Senders of a stream are killed at random, and stopped in the middle of messages, while one process writes rubbish into
//! its memory for some of the time. Then: what a reader is given is what some sender has published, once and in its order;
//! what was published while nobody wrote rubbish arrives; a reader is never stuck for longer than a stream allows. One
//! test in a file of its own, since it forks.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant, SystemTime};

use memmap2::{MmapOptions, MmapRaw};
use weir_bus::streams::{Outgoing, PATIENCE_MS, Read, Stream, Streams};

const SENDERS: usize = 3;
const KILLS: usize = 150;
const VANDAL_KILLS: usize = 30;

/// What senders note for the checker; it survives them.
#[repr(C)]
struct Notes {
    /// For each sender: the last number that it has tried, and the last whose `publish` returned.
    tried: [AtomicU64; SENDERS],
    published: [AtomicU64; SENDERS],
    /// Where the reader is.
    read: AtomicU64,
}

fn notes(map: &MmapRaw) -> &Notes {
    // SAFETY: the mapping is large enough, zeroed and page-aligned; all fields are atomics.
    unsafe { &*map.as_ptr().cast::<Notes>() }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn now_ms() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// The payload with this number: any reader can tell whether it is whole.
fn payload(sender: u64, number: u64) -> Vec<u8> {
    let word = (sender << 56 | number).to_le_bytes();
    word.repeat(2 + (number % 40) as usize)
}

fn send(stream: Stream<'_>, notes: &Notes, sender: usize) -> ! {
    loop {
        let number = notes.tried[sender].load(SeqCst) + 1;
        notes.tried[sender].store(number, SeqCst);
        let payload = payload(sender as u64, number);
        let message = Outgoing { kind: 1, target: 255, id: number, topic: b"t", payload: &payload };
        if stream.publish(&message, now_ms()).is_ok() {
            notes.published[sender].store(number, SeqCst);
        }
        for _ in 0..2000 {
            std::hint::spin_loop();
        }
        // The reader must see all of them, however little of the processors it gets.
        while stream.end().saturating_sub(notes.read.load(SeqCst)) > stream.messages_max() as u64 / 2 {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

fn fork(child: impl FnOnce()) -> i32 {
    // SAFETY: the child goes on with memory of its own, and leaves without running what the parent still has to.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: the child ends with its parent, however that ends.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            child();
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        pid => pid,
    }
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: a child of this process; it is reaped if it was killed.
    unsafe {
        libc::kill(pid, signal);
        if signal == libc::SIGKILL {
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Reads, and checks what it reads.
struct Reader {
    at: u64,
    last: [u64; SENDERS],
    seen: u64,
    lost: u64,
    stuck: Option<Instant>,
    buffer: Vec<u8>,
}

impl Reader {
    fn run(&mut self, stream: Stream<'_>, notes: &Notes, most: usize) {
        for _ in 0..most {
            notes.read.store(self.at, SeqCst);
            let read = stream.read(self.at, &mut self.buffer);
            if read == Read::Unfinished {
                let since = *self.stuck.get_or_insert_with(Instant::now);
                if since.elapsed() > Duration::from_millis(PATIENCE_MS) {
                    // The sender may come before it, and write the header first and then the rest.
                    let is_stuck = (0..3).all(|_| {
                        stream.abandon(self.at);
                        stream.read(self.at, &mut self.buffer) == Read::Unfinished
                    });
                    assert!(!is_stuck, "stuck at {}", self.at);
                }
                return;
            }
            self.stuck = None;
            match read {
                Read::Message(message, next) => {
                    let number = message.id;
                    let word = u64::from_le_bytes(message.payload(&self.buffer)[..8].try_into().unwrap());
                    let sender = (word >> 56) as usize;
                    assert_eq!(message.payload(&self.buffer), payload(sender as u64, number), "a message is whole");
                    assert!(number > self.last[sender], "{number} of {sender} after {}", self.last[sender]);
                    self.lost += number - self.last[sender] - 1;
                    self.last[sender] = number;
                    self.seen += 1;
                    self.at = next;
                }
                Read::Hole(next) | Read::Damaged(next) => self.at = next,
                Read::Overrun(_) => panic!("overrun at {}, though senders wait", self.at),
                Read::End | Read::Unfinished => return,
            }
        }
    }
}

#[test]
fn senders_that_are_killed_stopped_or_hostile_harm_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let streams = Arc::new(Streams::open_or_create(dir.path(), 64 << 20, 4).unwrap());
    let shared = tempfile::tempfile().unwrap();
    shared.set_len(4096).unwrap();
    let map = MmapOptions::new().map_raw(&shared).unwrap();
    let notes = notes(&map);
    let stream = streams.stream(0);
    let start = |sender: usize| fork(|| send(stream, notes, sender));
    let mut senders: Vec<i32> = (0..SENDERS).map(start).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut reader = Reader { at: 0, last: [0; SENDERS], seen: 0, lost: 0, stuck: None, buffer: Vec::new() };

    for _ in 0..KILLS {
        let victim = (random(&mut state) % SENDERS as u64) as usize;
        if random(&mut state).is_multiple_of(3) {
            signal(senders[victim], libc::SIGSTOP);
            let until = Instant::now() + Duration::from_millis(2);
            while Instant::now() < until {
                reader.run(stream, notes, 1000);
            }
            signal(senders[victim], libc::SIGCONT);
        }
        let until = Instant::now() + Duration::from_micros(random(&mut state) % 8000);
        while Instant::now() < until {
            reader.run(stream, notes, 1000);
        }
        signal(senders[victim], libc::SIGKILL);
        senders[victim] = start(victim);
    }
    senders.drain(..).for_each(|pid| signal(pid, libc::SIGKILL));
    let tried: u64 = notes.tried.iter().map(|tried| tried.load(SeqCst)).sum();
    let deadline = Instant::now() + Duration::from_millis(5 * PATIENCE_MS);
    while Instant::now() < deadline {
        reader.run(stream, notes, 1000);
    }
    // All that is missing was never published: of a killed sender, or one that was too slow, its last number.
    println!("{tried} tried, {} seen, {} lost, end {}", reader.seen, reader.lost, stream.end());
    for (sender, last) in reader.last.iter().enumerate() {
        assert!(*last >= notes.published[sender].load(SeqCst), "the last of {sender} has arrived");
    }
    assert!(reader.lost <= (KILLS + SENDERS) as u64 + stream.counts().1, "{} lost", reader.lost);
    assert!(reader.seen > 1000, "{} seen", reader.seen);

    // A process that was taken over writes anywhere: nobody crashes, hangs or reads what nobody has written.
    notes.read.store(u64::MAX, SeqCst); // and nobody waits for a reader
    let name = dir.path().join("messages");
    for round in 0..VANDAL_KILLS {
        let vandal = fork(|| {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
            let map = MmapOptions::new().map_raw(&file).unwrap();
            // SAFETY: page-aligned and this long; only accessed as atomics.
            let words = unsafe { std::slice::from_raw_parts(map.as_mut_ptr().cast::<AtomicU64>(), map.len() / 8) };
            let mut state = 77 + round as u64;
            loop {
                let at = random(&mut state) as usize % words.len();
                words[at].store(random(&mut state), SeqCst);
            }
        });
        let other = start(0);
        let until = Instant::now() + Duration::from_millis(5);
        let mut found = Vec::new();
        let mut at = reader.at;
        while Instant::now() < until {
            let end = stream.end();
            match stream.read(at, &mut found) {
                Read::Message(_, next) | Read::Hole(next) | Read::Damaged(next) | Read::Overrun(next) => at = next,
                Read::Unfinished => stream.abandon(at),
                Read::End => at = streams.oldest(0).min(end),
            }
        }
        signal(vandal, libc::SIGKILL);
        signal(other, libc::SIGKILL);
    }
}
