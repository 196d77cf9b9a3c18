//! Reading the journal: every worker, and control for what its predecessor has left.
//!
//! A reader goes through a generation to its end and then on to the newest one. If it was so slow that two have begun
//! since, what it reads may be gone already: it notices, and goes on with the newest base.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::file::{self, Access};
use super::format::journal_format;
use super::frame::{Frame, PREFIX};
use super::header::{AREA_BYTES, Description, Header, area_start};

/// Bytes that are read at once: a base of 10,000 routes in a dozen system calls, and little enough for each worker.
const CHUNK: usize = 256 << 10;

/// Generations that a reader may find gone in one call before it lets others run; each was overtaken twice while a few
/// words were read.
const ATTEMPTS: usize = 16;

/// An item of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A generation begins. The operations that make its state from nothing follow, then a commit of `revision`. A
    /// caller that has that state already calls [`Reader::skip_base`]; another one starts from nothing.
    Base {
        /// The epoch given to [`Writer::begin`](super::Writer::begin).
        epoch: u64,
        /// The revision of the state.
        revision: u64,
        /// The digest of the state.
        digest: u64,
    },
    /// An operation of the revision that the next commit ends, in JSON.
    Op(&'a [u8]),
    /// The operations since the last commit are this revision.
    Commit {
        /// Number of the revision.
        revision: u64,
        /// Time of the commit, in milliseconds since 1970.
        time_ms: u64,
    },
    /// An operation outside of revisions, in JSON.
    Runtime(&'a [u8]),
}

/// Reads the journal.
pub struct Reader {
    file: File,
    path: PathBuf,
    header: Header,
    /// The generation that is read; 0 before the first.
    generation: u64,
    /// Bytes of the generation that have been read.
    position: u64,
    /// The base's length in bytes.
    base_bytes: u64,
    /// What was read ahead: `chunk[used..filled]` lies at `position` of the area.
    chunk: Vec<u8>,
    used: usize,
    filled: usize,
    damaged: bool,
}

/// The next step of a reader.
enum Next {
    Nothing,
    Enter(u64),
    /// A frame, before this end.
    Frame(u64),
}

/// The reason that nothing was read.
enum Failure {
    Overtaken,
    Error(JournalError),
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Failure::Error(error)
    }
}

impl Reader {
    /// Opens the journal that is in the runtime directory.
    pub fn open(dir: &Path) -> Result<Reader, JournalError> {
        let path = file::path(dir);
        Self::new(file::open(&path, Access::Read)?, path)
    }

    /// Opens the journal; makes an empty one if there is none. For the master, whose workers may not open it.
    pub fn create_or_open(dir: &Path) -> Result<Reader, JournalError> {
        let path = file::path(dir);
        Self::new(file::create_or_open(&path, Access::Read)?, path)
    }

    /// Reads through an fd that was inherited; `as_fd` of another reader gives it.
    pub fn from_fd(fd: OwnedFd) -> Result<Reader, JournalError> {
        Self::new(fd.into(), PathBuf::from("(inherited)"))
    }

    fn new(file: File, path: PathBuf) -> Result<Reader, JournalError> {
        let header = file::map_header(&file, &path, Access::Read)?;
        let (chunk, generation, position, base_bytes) = (Vec::new(), 0, 0, 0);
        Ok(Reader { file, path, header, generation, position, base_bytes, chunk, used: 0, filled: 0, damaged: false })
    }

    /// The next thing, or None if there is nothing new. What it holds lies in `buffer`, which is the caller's to reuse.
    /// Takes a system call for each 256 KiB, and none if there is nothing.
    ///
    /// A damaged journal, and a newest generation in another format, is an error at each call until there is a new
    /// generation; nothing behind it is read.
    pub fn next<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Option<Read<'b>>, JournalError> {
        for _ in 0..ATTEMPTS {
            let step = match self.whereto() {
                Next::Nothing => break,
                Next::Enter(generation) => self.enter(generation).map(Some),
                Next::Frame(end) => self.load(end).map(|()| None),
            };
            match step {
                Ok(Some(base)) => return Ok(Some(base)),
                Ok(None) => return self.take(buffer).map(Some),
                Err(Failure::Overtaken) => {}
                Err(Failure::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether the next thing is a frame too long to be read beside other work: more than 256 KiB. What
    /// [`Reader::next`] then gives may still be something else, if the writer was faster.
    pub fn is_long(&mut self) -> bool {
        let Next::Frame(end) = self.whereto() else { return false };
        let left = (end - self.position).min(AREA_BYTES) as usize;
        // `next` finds and reports the error again.
        let begun = self.have(PREFIX, left).is_ok();
        begun && Frame::needs(&self.chunk[self.used..self.filled]).is_ok_and(|bytes| bytes > CHUNK)
    }

    /// After [`Read::Base`]: goes on behind the base and its commit.
    pub fn skip_base(&mut self) {
        self.move_to(self.base_bytes.max(self.position));
    }

    /// Begins again: the next thing is the newest base.
    pub fn restart(&mut self) {
        self.generation = 0;
        self.move_to(0);
    }

    fn move_to(&mut self, position: u64) {
        (self.position, self.used, self.filled, self.damaged) = (position, 0, 0, false);
    }

    fn whereto(&self) -> Next {
        let newest = self.header.active();
        if newest == 0 || self.generation == 0 {
            return if newest == 0 { Next::Nothing } else { Next::Enter(newest) };
        }
        // `newest` was loaded first: if it is another generation, the length of this one is final.
        let committed = self.header.committed(self.generation);
        let at_end = self.position >= committed;
        if newest != self.generation && (at_end || self.damaged || newest.wrapping_sub(self.generation) >= 2) {
            Next::Enter(newest)
        } else if at_end {
            Next::Nothing
        } else {
            Next::Frame(committed)
        }
    }

    /// Goes to the beginning of the newest generation. A reader that has nothing yet and cannot read its format begins
    /// with the generation before, as long as that is there: during an upgrade, the state that its predecessors serve.
    fn enter(&mut self, newest: u64) -> Result<Read<'static>, Failure> {
        let reads = journal_format();
        let mut description = self.describe(newest)?;
        if description.format != reads {
            let found = description.format;
            let before = if self.generation == 0 { self.describe(newest.wrapping_sub(1)).ok() } else { None };
            let before = before.filter(|before| before.generation > 0 && before.format == reads);
            description = before.ok_or(JournalError::OtherFormat { found, reads })?;
        }
        self.generation = description.generation;
        self.base_bytes = description.base_bytes;
        self.move_to(0);
        Ok(Read::Base { epoch: description.epoch, revision: description.revision, digest: description.digest })
    }

    /// The header's description of a generation, if it can be trusted.
    fn describe(&self, generation: u64) -> Result<Description, Failure> {
        let description = self.header.describe(generation);
        let committed = self.header.committed(generation);
        if !self.header.still_holds(generation) {
            return Err(Failure::Overtaken);
        }
        if description.generation != generation || committed > AREA_BYTES || description.base_bytes > committed {
            let reason = "the header does not describe it";
            return Err(JournalError::Damaged { offset: 0, generation, reason }.into());
        }
        Ok(description)
    }

    /// Sees to it that the frame at `position` is in the chunk as a whole.
    fn load(&mut self, end: u64) -> Result<(), Failure> {
        let left = (end - self.position).min(AREA_BYTES) as usize;
        self.have(PREFIX, left)?;
        match Frame::needs(&self.chunk[self.used..self.filled]) {
            Ok(bytes) => self.have(bytes, left),
            Err(reason) => Err(self.damage(reason).into()),
        }
    }

    /// Sees to it that `bytes` bytes are in the chunk, of `left` that are committed.
    fn have(&mut self, bytes: usize, left: usize) -> Result<(), Failure> {
        if self.filled - self.used >= bytes {
            return Ok(());
        }
        if bytes > left {
            return Err(self.damage("what is committed ends within a frame").into());
        }
        let length = bytes.max(CHUNK);
        if self.chunk.len() != length {
            // Longer than usual for one long frame only.
            self.chunk = vec![0; length];
        }
        let fresh = length.min(left);
        let offset = area_start(self.generation) + self.position;
        (self.used, self.filled) = (0, 0);
        let read = self.file.read_exact_at(&mut self.chunk[..fresh], offset);
        if !self.header.still_holds(self.generation) {
            return Err(Failure::Overtaken);
        }
        read.map_err(JournalError::io("read", &self.path))?;
        self.filled = fresh;
        Ok(())
    }

    /// Takes the frame that is in the chunk.
    fn take<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Read<'b>, JournalError> {
        let bytes = &self.chunk[self.used..self.filled];
        let (frame, length) = match Frame::decode(self.generation, self.position, bytes) {
            Ok(decoded) => decoded,
            Err(reason) => {
                return Err(self.damage(reason));
            }
        };
        if let Frame::Op(payload) | Frame::Runtime(payload) = frame {
            buffer.clear();
            buffer.extend_from_slice(payload);
        }
        let read = match frame {
            Frame::Op(_) => Read::Op(buffer),
            Frame::Runtime(_) => Read::Runtime(buffer),
            Frame::Commit { revision, time_ms } => Read::Commit { revision, time_ms },
        };
        self.used += length;
        self.position += length as u64;
        if self.chunk.len() > CHUNK && self.used == self.filled {
            (self.chunk, self.used, self.filled) = (Vec::new(), 0, 0);
        }
        Ok(read)
    }

    /// Remembers that the journal is damaged here: a newer generation is gone to at once. What was read ahead is read
    /// again.
    fn damage(&mut self, reason: &'static str) -> JournalError {
        let offset = area_start(self.generation) + self.position;
        self.move_to(self.position);
        self.damaged = true;
        JournalError::Damaged { offset, generation: self.generation, reason }
    }
}

impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
