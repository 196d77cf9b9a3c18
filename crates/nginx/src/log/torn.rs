//! A line that a full disk has cut, in a file to which several workers append.
//!
//! The next worker that writes would glue its line to the beginning of that one. So the workers share a mark: the one whose
//! line was cut sets it, and finishes the line if the mark is still there. Another that finds it ends the line in the file
//! first; the cut one is then written again, whole.

use std::io::Error;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use weir_log::LineBuffer;

/// The mark of one file: a page that the master maps, and its workers inherit.
pub struct Torn(*mut AtomicUsize);

impl Torn {
    /// A mark that is not set. Without memory for it there is none.
    pub fn new() -> Self {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of zeros, which is an atomic.
        let page = unsafe {
            libc::mmap(ptr::null_mut(), size_of::<usize>(), access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
        };
        Self(if page == libc::MAP_FAILED { ptr::null_mut() } else { page.cast() })
    }

    fn mark(&self) -> Option<&AtomicUsize> {
        // SAFETY: null or mapped as long as `self`.
        unsafe { self.0.as_ref() }
    }

    /// Before a worker writes: ends a line that another has left cut, and begins its own anew if another has done that.
    pub fn heal(&self, lines: &mut LineBuffer, fd: RawFd) -> Result<(), Error> {
        let Some(mark) = self.mark() else { return Ok(()) };
        let cut_by = mark.load(Acquire);
        if cut_by == me() && lines.is_torn() {
            return Ok(());
        }
        if cut_by != 0 {
            // SAFETY: one byte, to a descriptor that nginx keeps open.
            if unsafe { libc::write(fd, c"\n".as_ptr().cast(), 1) } != 1 {
                return Err(Error::last_os_error());
            }
            let _ = mark.compare_exchange(cut_by, 0, AcqRel, Acquire);
        }
        lines.restart_line();
        Ok(())
    }

    /// After a worker has written.
    pub fn note(&self, lines: &LineBuffer) {
        if let Some(mark) = self.mark() {
            if lines.is_torn() {
                mark.store(me(), Release);
            } else {
                self.settle();
            }
        }
    }

    /// Takes this worker's own mark away.
    pub fn settle(&self) {
        if let Some(mark) = self.mark() {
            let _ = mark.compare_exchange(me(), 0, AcqRel, Acquire);
        }
    }
}

impl Drop for Torn {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: mapped by `new`, with that size.
            unsafe { libc::munmap(self.0.cast(), size_of::<usize>()) };
        }
    }
}

/// This worker in a mark.
fn me() -> usize {
    // SAFETY: set by nginx before workers begin; 0 without a master.
    unsafe { nginx_sys::ngx_worker + 1 }
}
