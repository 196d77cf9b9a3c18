//! The ring buffer of perf events: `struct perf_event_mmap_page` and its data pages.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ring::Mapping;

/// Size of a CPU's data pages: at 99 Hz and 32 KiB of stack, half a second. An unprivileged user may lock 516 KiB for
/// each CPU (`kernel.perf_event_mlock_kb`); the size is then halved until it fits.
const BYTES: usize = 2 << 20;
const LEAST_BYTES: usize = 128 << 10;
/// Offsets of `data_head` and `data_tail`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// `struct perf_event_header`: type, misc, size.
const HEADER_BYTES: u64 = 8;

pub(super) struct PerfRing {
    mapping: Mapping,
    page: usize,
    bytes: u64,
    /// A record that wraps at the ring's end, reassembled; in words, because its addresses are aligned.
    whole: Vec<u64>,
}

impl PerfRing {
    pub(super) fn map(event: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: no pointers.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("pages have a size");
        let mut bytes = BYTES;
        loop {
            match Mapping::new(event, page + bytes, 0, libc::PROT_READ | libc::PROT_WRITE) {
                Ok(mapping) => return Ok(Self { mapping, page, bytes: bytes as u64, whole: Vec::new() }),
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && bytes > LEAST_BYTES => bytes /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes each record, header included and aligned to 8 bytes, to `take`, until that says to
    /// stop. Returns how full the ring was.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> f64 {
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        let start = tail;
        let head = self.position(HEAD).load(Ordering::Acquire);
        while head.saturating_sub(tail) >= HEADER_BYTES {
            // Records are multiples of 8 bytes, so a header never wraps.
            let header = self.word(tail);
            let length = header >> 48;
            if length < HEADER_BYTES || length > head - tail {
                tail = head;
                break;
            }
            self.whole.clear();
            for at in (tail..tail + length).step_by(8) {
                let word = self.word(at);
                self.whole.push(word);
            }
            tail += length;
            // SAFETY: bytes of integers.
            let go_on = take(unsafe { std::slice::from_raw_parts(self.whole.as_ptr().cast(), length as usize) });
            self.position(TAIL).store(tail, Ordering::Release);
            if go_on.is_break() {
                break;
            }
        }
        self.position(TAIL).store(tail, Ordering::Release);
        head.saturating_sub(start) as f64 / self.bytes as f64
    }

    fn word(&self, at: u64) -> u64 {
        let offset = self.page + (at & (self.bytes - 1) & !7) as usize;
        // SAFETY: aligned, and inside the data pages because of the mask.
        unsafe { self.mapping.start.add(offset).cast::<u64>().read() }
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: an aligned word of the first page, which both sides access only atomically.
        unsafe { self.mapping.start.add(offset).cast().as_ref() }
    }
}
