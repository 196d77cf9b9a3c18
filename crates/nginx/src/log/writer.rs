//! A log file and this worker's buffer for it.
//!
//! Lines are put together directly in the buffer and written when it is full, when the flush
//! time is over, when nginx reopens its files (`USR1`) and when the worker ends. Workers append
//! with one `write` of whole lines, so lines of several workers never mix.
//!
//! A write that fails or stops half-way (full disk, slow reader of a FIFO) leaves what is not
//! written in the buffer for the next try; once the buffer is full new lines are dropped whole
//! and counted. Nothing blocks: FIFOs and the like are made non-blocking. The rest of a torn line
//! stays at the front of the buffer, so the reader sees it whole unless the file is reopened,
//! in which case it is dropped rather than written to the new file.

use std::io::{Error, ErrorKind};
use std::os::fd::RawFd;

use nginx_sys::{ngx_add_timer, ngx_event_t, ngx_log_t, ngx_msec_t, ngx_open_file_t};

use crate::worker;

/// Buffer size unless configured: a thousand lines or so.
pub const DEFAULT_BUFFER: usize = 64 * 1024;

/// Flush time unless configured, in milliseconds.
pub const DEFAULT_FLUSH_MS: usize = 1000;

/// The most that a pipe takes at once without mixing it with other writers (POSIX PIPE_BUF).
const PIPE_ATOMIC: usize = 4096;

/// Which of the worker's counters a file's lines count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Access log.
    Access,
    /// Attack log.
    Attack,
    /// Heartbeat log.
    Heartbeat,
}

/// One log file in one worker.
///
/// nginx's own access log takes `ngx_open_file_t.data` for its buffer (three pointers first) if
/// the same path is given to `access_log ... buffer=`. The zeros in front make it find a
/// conflicting size and refuse the configuration, instead of writing into this structure.
#[repr(C)]
pub struct LogFile {
    guard: [usize; 8],
    file: *mut ngx_open_file_t,
    kind: Kind,
    limit: usize,
    flush_ms: ngx_msec_t,
    buffer: Vec<u8>,
    /// The buffer begins in the middle of a line whose beginning has been written.
    torn: bool,
    /// Whether the error log has been told that lines cannot be written.
    complained: bool,
    is_pipe: bool,
    prepared: RawFd,
    event: ngx_event_t,
}

impl LogFile {
    /// A log file that nginx opens and reopens.
    pub fn new(file: *mut ngx_open_file_t, kind: Kind, limit: usize, flush_ms: usize) -> Self {
        Self {
            guard: [0; 8],
            file,
            kind,
            limit,
            flush_ms: flush_ms as ngx_msec_t,
            buffer: Vec::new(),
            torn: false,
            complained: false,
            is_pipe: false,
            prepared: -1,
            // SAFETY: ngx_event_t is plain data; nginx itself starts with zeroed ones.
            event: unsafe { std::mem::zeroed() },
        }
    }

    /// Connects the file to nginx's reopening. Called once the value has its final address.
    ///
    /// # Safety
    /// `this` stays where it is as long as the cycle.
    pub unsafe fn register(this: *mut Self) {
        // SAFETY: the file belongs to the cycle, as does `this`.
        unsafe {
            (*(*this).file).flush = Some(reopen);
            (*(*this).file).data = this.cast();
        }
    }

    /// The log file that already stands behind an open file, if it is one of ours.
    ///
    /// # Safety
    /// `file` belongs to the cycle being configured.
    pub unsafe fn registered(file: *mut ngx_open_file_t) -> Option<*mut Self> {
        // SAFETY: data is ours if and only if flush is.
        unsafe {
            let ours =
                (*file).flush.is_some_and(|flush| std::ptr::fn_addr_eq(flush, reopen as unsafe extern "C" fn(_, _)));
            ours.then(|| (*file).data.cast())
        }
    }

    /// What the file was configured with: kind, buffer, flush time.
    pub fn parameters(&self) -> (Kind, usize, usize) {
        (self.kind, self.limit, self.flush_ms)
    }

    /// Adds one line, which `write` puts together without the newline.
    ///
    /// # Safety
    /// Called in a worker with the file's final address.
    pub unsafe fn line(this: *mut Self, write: impl FnOnce(&mut Vec<u8>)) {
        // SAFETY: workers are single-threaded and nobody else holds a reference to it now.
        let log = unsafe { &mut *this };
        if log.buffer.capacity() == 0 {
            log.buffer.reserve_exact(log.limit + PIPE_ATOMIC);
        }
        let start = log.buffer.len();
        write(&mut log.buffer);
        log.buffer.push(b'\n');
        if log.buffer.len() >= log.limit {
            log.flush();
            if log.buffer.len() > log.limit && start > 0 {
                // Nothing or too little went out: the line that does not fit is dropped.
                log.drop_last_line();
                return;
            }
        }
        worker::count_line(log.kind);
        if !log.buffer.is_empty() && log.event.timer_set() == 0 {
            // SAFETY: `this` stays where it is; the timer is deleted when the worker ends.
            unsafe { Self::arm(this) };
        }
    }

    fn drop_last_line(&mut self) {
        let before = &self.buffer[..self.buffer.len() - 1];
        let keep = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if keep == 0 && self.torn {
            return; // its beginning is in the file already
        }
        self.buffer.truncate(keep);
        worker::count_dropped(1);
    }

    unsafe fn arm(this: *mut Self) {
        // SAFETY: as for `line`.
        unsafe {
            let event = &raw mut (*this).event;
            (*event).data = this.cast();
            (*event).handler = Some(on_timer);
            (*event).log = (*worker::cycle()).log;
            (*event).set_cancelable(1);
            ngx_add_timer(event, (*this).flush_ms);
        }
    }

    /// Writes as much of the buffer as the file takes now.
    pub fn flush(&mut self) {
        // SAFETY: the open file lives as long as the cycle.
        let fd = unsafe { (*self.file).fd };
        if fd < 0 || self.buffer.is_empty() {
            return;
        }
        if self.prepared != fd {
            self.prepare(fd);
        }
        let mut done = 0;
        while done < self.buffer.len() {
            let chunk = &self.buffer[done..self.chunk_end(done)];
            // SAFETY: the bytes of `chunk`, to a descriptor that nginx keeps open.
            match unsafe { libc::write(fd, chunk.as_ptr().cast(), chunk.len()) } {
                written @ 1.. => done += written as usize,
                -1 if Error::last_os_error().kind() == ErrorKind::Interrupted => {}
                _ => {
                    // Full, or nobody reads: the rest waits, within the buffer's bound.
                    self.complain(&Error::last_os_error());
                    break;
                }
            }
        }
        if done == self.buffer.len() {
            self.complained = false;
        }
        if done > 0 {
            self.torn = self.buffer[done - 1] != b'\n';
            self.buffer.drain(..done);
        }
    }

    /// Says once in the error log that lines cannot be written, until they can again.
    fn complain(&mut self, error: &Error) {
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        // SAFETY: the cycle and its open file live as long as the worker.
        let (log, name) = unsafe { ((*worker::cycle()).log, crate::ffi::bytes(&(*self.file).name)) };
        crate::note!(
            log,
            Error,
            "weir: cannot write to \"{}\" ({error}): lines wait in the buffer, then they are dropped and counted",
            String::from_utf8_lossy(name)
        );
    }

    /// Everything at once to a file; whole lines of at most [`PIPE_ATOMIC`] bytes to a pipe.
    fn chunk_end(&self, from: usize) -> usize {
        let rest = &self.buffer[from..];
        if !self.is_pipe || rest.len() <= PIPE_ATOMIC {
            return self.buffer.len();
        }
        let whole = rest[..PIPE_ATOMIC].iter().rposition(|byte| *byte == b'\n');
        from + whole.map_or(PIPE_ATOMIC, |at| at + 1)
    }

    /// Makes everything but regular files non-blocking, once per descriptor.
    fn prepare(&mut self, fd: RawFd) {
        self.prepared = fd;
        // SAFETY: fstat and fcntl on a descriptor that nginx keeps open.
        unsafe {
            let mut facts: libc::stat = std::mem::zeroed();
            self.is_pipe = libc::fstat(fd, &raw mut facts) == 0 && facts.st_mode & libc::S_IFMT != libc::S_IFREG;
            if self.is_pipe {
                let flags = libc::fcntl(fd, libc::F_GETFL);
                libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
            }
        }
    }

    /// Before nginx opens the file anew: what cannot be written any more but began in the old
    /// file is dropped, whole lines wait for the new one.
    fn before_reopening(&mut self) {
        self.flush();
        if self.torn {
            let end = self.buffer.iter().position(|byte| *byte == b'\n').map_or(self.buffer.len(), |at| at + 1);
            self.buffer.drain(..end);
            self.torn = false;
            worker::count_dropped(1);
        }
        self.prepared = -1; // the same number may be another file next time
    }

    /// The last flush of a worker.
    pub fn finish(&mut self) {
        self.flush();
        let lost = self.buffer.iter().filter(|byte| **byte == b'\n').count();
        if lost > 0 {
            worker::count_dropped(lost as u64);
        }
        if self.event.timer_set() != 0 {
            // SAFETY: the timer is set, as just asked.
            unsafe { nginx_sys::ngx_del_timer(&raw mut self.event) };
        }
    }
}

/// nginx calls this before it reopens or closes the file.
unsafe extern "C" fn reopen(file: *mut ngx_open_file_t, _log: *mut ngx_log_t) {
    // SAFETY: data was set together with this function.
    let log = unsafe { (*file).data.cast::<LogFile>().as_mut() };
    crate::fault::contain("log reopening", || {
        if let Some(log) = log {
            log.before_reopening();
        }
    });
}

unsafe extern "C" fn on_timer(event: *mut ngx_event_t) {
    // SAFETY: data was set when the timer was armed.
    let this = unsafe { (*event).data.cast::<LogFile>() };
    crate::fault::contain("log flush", || {
        // SAFETY: no other reference exists in an event handler.
        let log = unsafe { &mut *this };
        log.flush();
        if !log.buffer.is_empty() {
            // SAFETY: `this` stays where it is.
            unsafe { LogFile::arm(this) };
        }
    });
}
