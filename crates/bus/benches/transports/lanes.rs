//! The ways that are compared. A lane is made before the fork and taken up by both processes after it.

use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use weir_bus::{Address, Region, Topic};

use crate::MESSAGE;

/// One end of a lane.
pub struct Lane {
    /// What to sleep on in epoll; None if `receive` sleeps by itself.
    pub bell: Option<RawFd>,
    /// Sends one message; false if there is no room.
    pub send: Box<dyn FnMut() -> bool>,
    /// Receives what is there, without sleeping, and says how many it was.
    pub receive: Box<dyn FnMut() -> usize>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Who {
    Parent,
    Child,
}

pub type Make = fn() -> Box<dyn Fn(Who) -> Lane>;

/// Name, how to make it, whether it carries messages (or only wakes).
pub const LANES: &[(&str, Make, bool)] = &[
    ("bare eventfd (the floor)", eventfd, false),
    ("bare FIFO", fifo, false),
    ("futex in shared memory, not in epoll", futex, false),
    ("the bus: ring, FIFO as bell", bus, true),
    ("plain ring, FIFO as bell", ring_fifo, true),
    ("plain ring, eventfd as bell", ring_eventfd, true),
    ("FIFO that carries the message", fifo_message, true),
    ("Unix sequenced packets", packets, true),
];

/// Two file descriptors, for the parent's bell and the child's.
type Bells = [RawFd; 2];

fn own(who: Who, bells: Bells) -> RawFd {
    bells[usize::from(who == Who::Child)]
}

fn other(who: Who, bells: Bells) -> RawFd {
    bells[usize::from(who == Who::Parent)]
}

fn eventfds() -> Bells {
    // SAFETY: makes file descriptors.
    [(); 2].map(|()| unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) })
}

fn fifos() -> Bells {
    let dir = tempfile::tempdir().expect("a directory");
    ["a", "b"].map(|name| {
        let path = std::ffi::CString::new(dir.path().join(name).to_str().expect("UTF-8")).expect("no zero byte");
        // SAFETY: the path is a C string.
        unsafe {
            libc::mkfifo(path.as_ptr(), 0o600);
            libc::open(path.as_ptr(), libc::O_RDWR | libc::O_NONBLOCK)
        }
    })
}

fn write(fd: RawFd, bytes: &[u8]) -> bool {
    // SAFETY: the bytes are there.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) == bytes.len() as isize }
}

fn read(fd: RawFd, bytes: &mut [u8]) -> usize {
    // SAFETY: there is room.
    unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()).max(0) as usize }
}

fn bare(bells: Bells, token: &'static [u8]) -> Box<dyn Fn(Who) -> Lane> {
    Box::new(move |who| Lane {
        bell: Some(own(who, bells)),
        send: Box::new(move || write(other(who, bells), token)),
        receive: Box::new(move || usize::from(read(own(who, bells), &mut [0; 8]) > 0)),
    })
}

fn eventfd() -> Box<dyn Fn(Who) -> Lane> {
    bare(eventfds(), &[1, 0, 0, 0, 0, 0, 0, 0])
}

fn fifo() -> Box<dyn Fn(Who) -> Lane> {
    bare(fifos(), &[1])
}

fn fifo_message() -> Box<dyn Fn(Who) -> Lane> {
    let bells = fifos();
    Box::new(move |who| Lane {
        bell: Some(own(who, bells)),
        send: Box::new(move || write(other(who, bells), &[7; MESSAGE])),
        receive: Box::new(move || read(own(who, bells), &mut [0; 64 * MESSAGE]) / MESSAGE),
    })
}

fn packets() -> Box<dyn Fn(Who) -> Lane> {
    let mut ends = [0; 2];
    // SAFETY: room for two file descriptors.
    unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK, 0, ends.as_mut_ptr()) };
    Box::new(move |who| {
        let end = own(who, ends);
        let receive = move || (0..512).take_while(|_| read(end, &mut [0; MESSAGE]) > 0).count();
        Lane { bell: Some(end), send: Box::new(move || write(end, &[7; MESSAGE])), receive: Box::new(receive) }
    })
}

fn bus() -> Box<dyn Fn(Who) -> Lane> {
    // Who has the region mapped needs its directory no more.
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let region = Arc::new(Region::create(dir.path(), 1, 2).expect("a region"));
    Box::new(move |who| {
        let (me, other) = if who == Who::Parent { (0, 1) } else { (1, 0) };
        let endpoint = Rc::new(region.attach(Address::Worker(me)).expect("a slot"));
        while !region.slot(usize::from(other)).lives() {
            std::thread::yield_now();
        }
        let (sender, mut sent, mut expected) = (Rc::clone(&endpoint), 0u64, 0u64);
        Lane {
            bell: Some(endpoint.bell()),
            send: Box::new(move || {
                let mut message = [7; MESSAGE];
                message[..8].copy_from_slice(&sent.to_le_bytes());
                let done = sender.send(Address::Worker(other), Topic::PING, &message).is_ok();
                sent += u64::from(done);
                done
            }),
            receive: Box::new(move || {
                endpoint.receive(&mut |message| {
                    let number = u64::from_le_bytes(message.payload[..8].try_into().expect("8 bytes"));
                    assert_eq!(number, expected, "lost or out of order");
                    expected += 1;
                })
            }),
        }
    })
}

/// The least that a ring can be: slots of 64 bytes, one sender, one receiver, and a flag instead of a bitmap.
#[repr(C, align(64))]
struct Plain {
    tail: AtomicU64,
    _line0: [u64; 7],
    head: AtomicU64,
    _line1: [u64; 7],
    rung: AtomicU32,
    _line2: [u32; 15],
    slots: [[u8; MESSAGE]; 1024],
}

impl Plain {
    fn send(&self, seen_head: &mut u64, ring: impl FnOnce()) -> bool {
        let tail = self.tail.load(Acquire);
        if tail - *seen_head == self.slots.len() as u64 {
            *seen_head = self.head.load(Acquire);
            if tail - *seen_head == self.slots.len() as u64 {
                return false;
            }
        }
        let slot = &raw const self.slots[tail as usize % self.slots.len()];
        // SAFETY: the slot is not published, so it is the sender's.
        unsafe { slot.cast_mut().write([7; MESSAGE]) };
        self.tail.store(tail + 1, Release);
        if self.rung.swap(1, AcqRel) == 0 {
            ring();
        }
        true
    }

    fn receive(&self) -> usize {
        let first = self.drain();
        self.rung.swap(0, AcqRel);
        first + self.drain()
    }

    fn drain(&self) -> usize {
        let (begin, mut head) = (self.head.load(Acquire), self.head.load(Acquire));
        while head != self.tail.load(Acquire) {
            let slot = &raw const self.slots[head as usize % self.slots.len()];
            // SAFETY: the slot is published, so nobody writes to it.
            assert_eq!(unsafe { slot.read_volatile() }[9], 7);
            head += 1;
            self.head.store(head, Release);
        }
        (head - begin) as usize
    }
}

/// Zeroed memory that a child shares.
fn shared<T>() -> &'static T {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, zeroed, never unmapped; all that is put there is valid zeroed.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), size_of::<T>(), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        &*at.cast::<T>()
    }
}

fn ring(bells: Bells, token: &'static [u8]) -> Box<dyn Fn(Who) -> Lane> {
    let rings: &'static [Plain; 2] = shared();
    Box::new(move |who| {
        let (out, into) = if who == Who::Parent { (&rings[0], &rings[1]) } else { (&rings[1], &rings[0]) };
        let mut seen_head = 0;
        Lane {
            bell: Some(own(who, bells)),
            send: Box::new(move || {
                out.send(&mut seen_head, || {
                    write(other(who, bells), token);
                })
            }),
            receive: Box::new(move || {
                read(own(who, bells), &mut [0; 64]);
                into.receive()
            }),
        }
    })
}

fn ring_fifo() -> Box<dyn Fn(Who) -> Lane> {
    ring(fifos(), &[1])
}

fn ring_eventfd() -> Box<dyn Fn(Who) -> Lane> {
    ring(eventfds(), &[1, 0, 0, 0, 0, 0, 0, 0])
}

fn futex() -> Box<dyn Fn(Who) -> Lane> {
    let words: &'static [AtomicU32; 32] = shared();
    Box::new(move |who| {
        let (out, into) = if who == Who::Parent { (&words[0], &words[16]) } else { (&words[16], &words[0]) };
        let mut seen = 0;
        Lane {
            bell: None,
            send: Box::new(move || {
                out.fetch_add(1, SeqCst);
                // SAFETY: the word lives for ever.
                unsafe { libc::syscall(libc::SYS_futex, out.as_ptr(), libc::FUTEX_WAKE, 1) };
                true
            }),
            receive: Box::new(move || {
                while into.load(SeqCst) == seen {
                    let none = std::ptr::null::<libc::timespec>();
                    // SAFETY: the word lives for ever; no timeout.
                    unsafe { libc::syscall(libc::SYS_futex, into.as_ptr(), libc::FUTEX_WAIT, seen, none) };
                }
                seen += 1;
                1
            }),
        }
    })
}
