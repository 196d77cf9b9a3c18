//! The consumer side of a BPF ring buffer.
//!
//! libbpf's own reader passes records to callbacks that live as long as the reader, which does not fit a session that
//! lends its state to them; and it would only save the few lines of `drain`. The protocol is that of
//! Documentation/bpf/ringbuf.rst: the producer publishes its position, each record has a word of length and flags,
//! the data pages are mapped twice in a row so that no record wraps.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The record is still being written.
const BUSY: u32 = 1 << 31;
/// The record was discarded.
const DISCARDED: u32 = 1 << 30;
const HEADER_BYTES: u64 = 8;

pub(crate) struct Ring {
    consumer: Mapping,
    producer: Mapping,
    bytes: u64,
    page: usize,
}

impl Ring {
    /// Maps the ring of `bytes` (a power of two) of a map's descriptor.
    pub(crate) fn map(fd: BorrowedFd<'_>, bytes: u32) -> io::Result<Self> {
        // SAFETY: no pointers.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("pages have a size");
        let consumer = Mapping::new(fd, page, 0, libc::PROT_READ | libc::PROT_WRITE)?;
        let producer = Mapping::new(fd, page + 2 * bytes as usize, page, libc::PROT_READ)?;
        Ok(Self { consumer, producer, bytes: u64::from(bytes), page })
    }

    /// Passes every finished record to `take`, until that says to stop, and frees its space. Returns how full the
    /// ring was, 0 to 1. Records written meanwhile are left for the next call, so that this ends.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> f64 {
        let consumer = self.consumer.position();
        let mut at = consumer.load(Ordering::Relaxed);
        let start = at;
        let end = self.producer.position().load(Ordering::Acquire);
        while at < end {
            let Some((length, flags)) = self.header(at) else { break };
            let go_on = if flags & DISCARDED == 0 { take(self.record(at, length)) } else { ControlFlow::Continue(()) };
            at += (u64::from(length) + HEADER_BYTES).next_multiple_of(8);
            self.consumer.position().store(at, Ordering::Release);
            if go_on.is_break() {
                break;
            }
        }
        end.saturating_sub(start) as f64 / self.bytes as f64
    }

    /// Length and flags of the record at a position; `None` while it is being written.
    fn header(&self, at: u64) -> Option<(u32, u32)> {
        // SAFETY: positions are multiples of 8, so the word is aligned, and the mask keeps it inside the mapping.
        let word = unsafe { &*self.data(at).cast::<AtomicU32>().as_ptr() }.load(Ordering::Acquire);
        (word & BUSY == 0).then_some((word & !(BUSY | DISCARDED), word & DISCARDED))
    }

    fn record(&self, at: u64, length: u32) -> &[u8] {
        let length = u64::from(length).min(self.bytes - HEADER_BYTES) as usize;
        // SAFETY: a record is shorter than the ring, whose pages are mapped twice in a row; the
        // kernel does not write to it before the consumer's position has passed it.
        unsafe { std::slice::from_raw_parts(self.data(at).as_ptr().add(HEADER_BYTES as usize), length) }
    }

    fn data(&self, at: u64) -> NonNull<u8> {
        let offset = self.page + (at & (self.bytes - 1)) as usize;
        // SAFETY: below page + bytes, which is inside the mapping.
        unsafe { self.producer.start.add(offset) }
    }
}

/// Shared pages, unmapped when dropped.
pub(crate) struct Mapping {
    pub start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    pub(crate) fn new(fd: BorrowedFd<'_>, bytes: usize, offset: usize, protection: i32) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).expect("a page's size");
        // SAFETY: creates a new mapping at an address chosen by the kernel.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd.as_raw_fd(), offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("mmap never gives page 0"), bytes })
    }

    /// The position in the mapping's first word.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: the mapping begins with an aligned word that both sides access only atomically.
        unsafe { self.start.cast().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: the mapping is not bound to a thread; `drain` takes `&mut self`.
unsafe impl Send for Mapping {}
