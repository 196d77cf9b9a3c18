//! A worker's buffer of log lines, and what becomes of them when the file does not take them.
//!
//! Lines are put together directly in the buffer. A write that fails or stops half-way (full disk, slow reader of a
//! FIFO) leaves what is not written in the buffer for the next try; once the buffer is full, new lines are dropped whole.
//! A torn line stays at the front of the buffer, so that its rest can follow, or all of it again if the file has been
//! reopened or others have written to it meanwhile.

use std::io::{Error, ErrorKind};

/// The most that a pipe takes at once without mixing it with other writers (POSIX PIPE_BUF).
const PIPE_ATOMIC: usize = 4096;

/// What lines are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file: everything at once.
    File,
    /// A pipe or the like: whole lines, as many at a time as it takes without mixing them with others'.
    Pipe,
}

/// Lines that wait to be written.
pub struct LineBuffer {
    bytes: Vec<u8>,
    limit: usize,
    /// Bytes of the first line that have been written.
    torn: usize,
}

impl LineBuffer {
    /// A buffer that is full with `limit` bytes. It takes memory with its first line.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, torn: 0 }
    }

    /// The bytes that make it full.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the beginning of a line has been written, and the rest has not.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.torn > 0
    }

    /// A torn line will be written anew: what has been written of it is not where its rest would go.
    pub fn restart_line(&mut self) {
        self.torn = 0;
    }

    /// Lines that wait, whole or in part.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Adds a line, which `write` puts together without the newline, and calls `flush` if the buffer is full. False if
    /// the line did not fit even then: it has been dropped. A line longer than the limit fits into an empty buffer.
    #[inline]
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>), flush: impl FnOnce(&mut Self)) -> bool {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.limit + PIPE_ATOMIC);
        }
        let was_empty = self.bytes.is_empty();
        write(&mut self.bytes);
        self.bytes.push(b'\n');
        if self.bytes.len() < self.limit {
            return true;
        }
        flush(self);
        self.bytes.len() <= self.limit || was_empty || !self.drop_last_line()
    }

    /// False if the last line's beginning is in the file already.
    fn drop_last_line(&mut self) -> bool {
        let before = &self.bytes[..self.bytes.len() - 1];
        let keep = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let dropped = keep > 0 || !self.is_torn();
        if dropped {
            self.bytes.truncate(keep);
        }
        dropped
    }

    /// Writes as much as `write` takes now; it says how many bytes it took, as `write(2)` does.
    ///
    /// # Errors
    /// Why `write` took no more. What is left waits.
    pub fn flush(
        &mut self,
        destination: Destination,
        mut write: impl FnMut(&[u8]) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let mut done = self.torn;
        let mut result = Ok(());
        while done < self.bytes.len() && result.is_ok() {
            match write(&self.bytes[done..self.chunk_end(done, destination)]) {
                Ok(0) => result = Err(ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => result = Err(error),
            }
        }
        let whole = self.bytes[..done].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.torn = done - whole;
        self.bytes.drain(..whole);
        result
    }

    fn chunk_end(&self, from: usize, destination: Destination) -> usize {
        let rest = &self.bytes[from..];
        if destination == Destination::File || rest.len() <= PIPE_ATOMIC {
            return self.bytes.len();
        }
        let whole = rest[..PIPE_ATOMIC].iter().rposition(|byte| *byte == b'\n');
        from + whole.map_or(PIPE_ATOMIC, |at| at + 1)
    }
}
