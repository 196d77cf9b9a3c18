//! A line that a full disk has cut, in a file to which several workers append.
//!
//! The next worker that writes would glue its line to the beginning of that one. So the workers of a cycle share a mark: the
//! one whose line was cut sets it, and finishes the line if the mark is still there. Another that finds it ends the line in
//! the file first; the cut one is then written again, whole. Looking at the mark, writing and setting it are one turn, under
//! a lock of the file ([`Turn`]): a write that was under way while another was cut would be glued to it.

use std::io::Error;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use weir_log::LineBuffer;

/// A worker's turn to write to a file. The lock is that of the process (fcntl), so it ends with it; waiting for it is what
/// the kernel would have the write do. Files that cannot be locked, such as pipes, are written without.
pub struct Turn(RawFd);

impl Turn {
    /// Waits for this worker's turn.
    pub fn take(fd: RawFd) -> Self {
        lock(fd, libc::F_WRLCK);
        Self(fd)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(self.0, libc::F_UNLCK);
    }
}

/// Locks a whole file, or unlocks it.
fn lock(fd: RawFd, kind: libc::c_int) {
    // SAFETY: the structure is plain data, of which zeros mean the whole file; the descriptor is one that nginx keeps open.
    unsafe {
        let mut whole: libc::flock = std::mem::zeroed();
        whole.l_type = kind as libc::c_short;
        libc::fcntl(fd, libc::F_SETLKW, &raw const whole);
    }
}

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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn processes_that_inherited_the_descriptor_write_one_after_the_other() {
        let path = std::env::temp_dir().join(format!("weir-turn-{}", std::process::id()));
        let file = File::options().read(true).append(true).create_new(true).open(&path).expect("a new file");
        std::fs::remove_file(&path).expect("it is there");
        let (mut begun, child_begins) = std::io::pipe().expect("a pipe");
        // SAFETY: the child makes system calls only, with bytes of constants and descriptors that are open. Its turn ends
        // with it.
        unsafe {
            if libc::fork() == 0 {
                let turn = Turn::take(file.as_raw_fd());
                libc::write(child_begins.as_raw_fd(), c"x".as_ptr().cast(), 1);
                libc::usleep(200_000);
                libc::write(turn.0, c"first".as_ptr().cast(), 5);
                libc::_exit(0);
            }
        }
        begun.read_exact(&mut [0]).expect("the child has its turn");
        let _turn = Turn::take(file.as_raw_fd());
        assert_eq!(file.metadata().expect("it is open").len(), 5, "the child had not finished");
    }
}
