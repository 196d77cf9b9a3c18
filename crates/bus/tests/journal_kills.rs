//! Writers of the journal are killed at random, again and again, in the middle of appends and of new generations. A
//! reader that lives through it all sees whole revisions only, in order, and never a damaged journal. One test in a file
//! of its own, since it forks.
#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::path::Path;
use std::time::{Duration, Instant};

use weir_bus::{Frame, Read, Reader, Writer};

const ROUNDS: u64 = 60;

/// Operations of a revision, and of the state after it: enough that a base takes several writes.
const OPERATIONS: u64 = 7;
const STATE: u64 = 20_000;

fn operation(revision: u64, n: u64) -> Vec<u8> {
    let mut bytes = format!("{revision}/{n} ").into_bytes();
    bytes.resize(bytes.len() + (revision * 31 + n * 7) as usize % 200, b'.');
    bytes
}

/// Goes on with the last revision that can be read, and writes until it is killed.
fn write(dir: &Path, epoch: u64) -> ! {
    let mut revision = last_revision(dir);
    let mut writer = Writer::open(dir).unwrap();
    loop {
        writer.begin(epoch, revision, revision, (0..STATE).map(|n| operation(revision, n))).unwrap();
        for _ in 0..2000 {
            revision += 1;
            let operations: Vec<_> = (0..OPERATIONS).map(|n| operation(revision, n)).collect();
            let mut frames: Vec<_> = operations.iter().map(|op| Frame::Op(op)).collect();
            frames.push(Frame::Commit { revision, time_ms: 0 });
            writer.append(&frames).unwrap();
        }
    }
}

fn last_revision(dir: &Path) -> u64 {
    let mut reader = Reader::open(dir).unwrap();
    let mut buffer = Vec::new();
    let mut last = 0;
    while let Some(read) = reader.next(&mut buffer).unwrap() {
        match read {
            Read::Base { revision, .. } => {
                last = revision;
                reader.skip_base();
            }
            Read::Commit { revision, .. } => last = revision,
            Read::Op(_) | Read::Runtime(_) => {}
        }
    }
    last
}

/// Checks what it reads: every revision has all of its operations.
#[derive(Default)]
struct Checker {
    /// The revision that the next operation belongs to.
    revision: u64,
    /// The next operation, and how many there are in all before the commit.
    next: u64,
    expected: u64,
    commits: u64,
    bases: u64,
}

impl Checker {
    fn read(&mut self, reader: &mut Reader, buffer: &mut Vec<u8>) -> bool {
        match reader.next(buffer).expect("never damaged") {
            None => return false,
            Some(Read::Base { revision, digest, .. }) => {
                assert_eq!(revision, digest);
                assert!(revision + 1 >= self.revision, "back from {} to {revision}", self.revision);
                // Overtaken or not: what was begun is forgotten.
                *self = Checker { revision, next: 0, expected: STATE, bases: self.bases + 1, ..*self };
                if revision % 3 == 0 {
                    reader.skip_base();
                    (self.revision, self.expected) = (revision + 1, OPERATIONS);
                }
            }
            Some(Read::Op(op)) => {
                assert_eq!(op, operation(self.revision, self.next));
                self.next += 1;
            }
            Some(Read::Commit { revision, .. }) => {
                assert_eq!((revision, self.next), (self.revision, self.expected));
                (self.revision, self.next, self.expected) = (revision + 1, 0, OPERATIONS);
                self.commits += 1;
            }
            Some(Read::Runtime(_)) => panic!("none was written"),
        }
        true
    }
}

#[test]
fn a_reader_sees_whole_revisions_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut reader = Reader::create_or_open(dir.path()).unwrap();
    let mut buffer = Vec::new();
    let mut checker = Checker::default();
    for round in 1..=ROUNDS {
        // SAFETY: the child uses nothing that other threads could hold, but the allocator, which glibc makes usable
        // after a fork; it never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: a plain setting: should the test fail, its writer ends with it.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let _ = std::panic::catch_unwind(|| write(dir.path(), round));
            // SAFETY: ends the child.
            unsafe { libc::_exit(3) }
        }
        let life = Duration::from_micros(3000 + round * 7919 % 40_000);
        let start = Instant::now();
        while start.elapsed() < life {
            // In some rounds the reader is slow, and overtaken.
            if !checker.read(&mut reader, &mut buffer) || round % 4 == 0 {
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        let mut status = 0;
        // SAFETY: the child is this process's and not reaped yet.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, &raw mut status, 0);
        }
        assert!(libc::WIFSIGNALED(status), "the writer has failed by itself");
        while checker.read(&mut reader, &mut buffer) {}
        // Both have seen the same end; a base's revision may stand for a commit.
        assert_eq!(last_revision(dir.path()) + 1, checker.revision.max(1), "round {round}");
    }
    println!("{} revisions, {} bases", checker.commits, checker.bases);
    assert!(checker.commits > 1000 && checker.bases > 10);
}
