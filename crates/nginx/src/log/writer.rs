//! A log file and this worker's buffer for it.
//!
//! The buffer is written when it is full, when the flush time is over, when nginx reopens its files
//! (`USR1`) and when the worker ends. Workers append with one `write` of whole lines, so lines of
//! several workers never mix, even if a full disk cuts a line ([`Torn`]). Nothing blocks: FIFOs and the
//! like are made non-blocking. What cannot be written waits or is dropped as [`LineBuffer`] says, and is counted.

use std::io::Error;
use std::os::fd::RawFd;

use nginx_sys::{ngx_add_timer, ngx_event_t, ngx_log_t, ngx_msec_t, ngx_open_file_t};
use weir_log::{Destination, LineBuffer};

use super::torn::{Torn, Turn};
use crate::worker;

/// Buffer size unless configured: a thousand lines or so.
pub const DEFAULT_BUFFER: usize = 64 * 1024;

/// Flush time unless configured, in milliseconds.
pub const DEFAULT_FLUSH_MS: usize = 1000;

/// The log that a file is, which decides which of the worker's counters its lines count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
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
    output: Output,
    kind: LogKind,
    flush_ms: ngx_msec_t,
    lines: LineBuffer,
    event: ngx_event_t,
}

/// The file behind the buffer.
struct Output {
    file: *mut ngx_open_file_t,
    /// Whether the error log has been told that lines cannot be written.
    complained: bool,
    destination: Destination,
    /// The descriptor that `destination` was found out for.
    prepared: RawFd,
    torn: Torn,
}

impl LogFile {
    /// A log file that nginx opens and reopens.
    pub fn new(file: *mut ngx_open_file_t, kind: LogKind, limit: usize, flush_ms: usize) -> Self {
        Self {
            guard: [0; 8],
            output: Output { file, complained: false, destination: Destination::File, prepared: -1, torn: Torn::new() },
            kind,
            flush_ms: flush_ms as ngx_msec_t,
            lines: LineBuffer::new(limit),
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
            let file = (*this).output.file;
            (*file).flush = Some(reopen);
            (*file).data = this.cast();
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

    /// The parameters that the file was configured with: log, buffer, flush time.
    pub fn parameters(&self) -> (LogKind, usize, usize) {
        (self.kind, self.lines.limit(), self.flush_ms)
    }

    /// Adds one line, which `write` puts together without the newline.
    ///
    /// # Safety
    /// Called in a worker with the file's final address.
    pub unsafe fn line(this: *mut Self, write: impl FnOnce(&mut Vec<u8>)) {
        // SAFETY: workers are single-threaded and no other reference to it exists now.
        let log = unsafe { &mut *this };
        let LogFile { output, lines, .. } = log;
        if !lines.add(write, |lines| output.flush(lines)) {
            return worker::count_dropped(1);
        }
        worker::count_line(log.kind);
        if !log.lines.is_empty() && log.event.timer_set() == 0 {
            // SAFETY: `this` stays where it is; the timer is deleted when the worker ends.
            unsafe { Self::arm(this) };
        }
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

    /// Before nginx opens the file anew: whole lines wait for the new one.
    fn before_reopening(&mut self) {
        self.output.flush(&mut self.lines);
        self.lines.restart_line();
        self.output.torn.settle();
        self.output.prepared = -1; // the same number may be another file next time
    }

    /// The last flush of a worker.
    pub fn finish(&mut self) {
        self.output.flush(&mut self.lines);
        let lost = self.lines.waiting();
        if lost > 0 {
            worker::count_dropped(lost as u64);
        }
        if self.event.timer_set() != 0 {
            // SAFETY: the timer is set, as just asked.
            unsafe { nginx_sys::ngx_del_timer(&raw mut self.event) };
        }
    }
}

impl Output {
    /// Writes as much of the buffer as the file takes now.
    fn flush(&mut self, lines: &mut LineBuffer) {
        // SAFETY: the open file lives as long as the cycle.
        let fd = unsafe { (*self.file).fd };
        if fd < 0 || lines.is_empty() {
            return;
        }
        if self.prepared != fd {
            self.prepare(fd);
        }
        let _turn = Turn::take(fd);
        if let Err(error) = self.torn.heal(lines, fd) {
            return self.complain(&error);
        }
        let result = lines.flush(self.destination, |bytes| {
            // SAFETY: the bytes of the slice, to a descriptor that nginx keeps open.
            let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
            usize::try_from(written).map_err(|_| Error::last_os_error())
        });
        self.torn.note(lines);
        match result {
            Ok(()) => self.complained = false,
            Err(error) => self.complain(&error),
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

    /// Makes everything but regular files non-blocking, once per descriptor.
    fn prepare(&mut self, fd: RawFd) {
        self.prepared = fd;
        self.destination = Destination::File;
        // SAFETY: fstat and fcntl on a descriptor that nginx keeps open.
        unsafe {
            let mut facts: libc::stat = std::mem::zeroed();
            if libc::fstat(fd, &raw mut facts) == 0 && facts.st_mode & libc::S_IFMT != libc::S_IFREG {
                self.destination = Destination::Pipe;
                let flags = libc::fcntl(fd, libc::F_GETFL);
                libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
            }
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
        log.output.flush(&mut log.lines);
        if !log.lines.is_empty() {
            // SAFETY: `this` stays where it is.
            unsafe { LogFile::arm(this) };
        }
    });
}
