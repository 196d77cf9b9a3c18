//! Writing the journal: control, and no one else at a time.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::file::{self, Access};
use super::format::journal_format;
use super::frame::Frame;
use super::header::{AREA_BYTES, Description, Header, area_start};
use crate::region::{now_ms, reserve};

/// Blocks are reserved in steps of this many bytes, so that a full file system shows before anything is written.
const STEP: u64 = 1 << 20;

/// Bytes of a base that are collected before they are written.
const CHUNK: usize = 1 << 20;

/// Deltas may grow to this many bytes, or to the size of the base if that is more: a worker that starts reads them all, and
/// they are memory. Some 200,000 changes.
const DELTAS_MAX: u64 = 32 << 20;

/// Writes the journal. It holds a lock on the file until it is dropped.
pub struct Writer {
    file: File,
    path: PathBuf,
    header: Header,
    /// The generation that this writer has begun, and how far it has got.
    current: Option<Current>,
}

/// What the journal's name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file that is written.
    Kept,
    /// Another file: the runtime directory was replaced.
    Taken,
    /// Nothing, or it cannot be looked at.
    Gone,
}

#[derive(Clone, Copy)]
struct Current {
    generation: u64,
    base_bytes: u64,
    committed: u64,
    reserved: u64,
}

impl Writer {
    /// Opens the journal in the runtime directory, or makes one. What is in it stays readable until
    /// [`begin`](Writer::begin): the writer does not go on where another one has stopped.
    pub fn open(dir: &Path) -> Result<Writer, JournalError> {
        let path = file::path(dir);
        let file = file::create_or_open(&path, Access::Write)?;
        let header = file::map_header(&file, &path, Access::Write)?;
        if !file::lock(&file).map_err(JournalError::io("lock", &path))? {
            return Err(JournalError::Locked { path, pid: header.writer() });
        }
        header.set_writer(std::process::id());
        Ok(Writer { file, path, header, current: None })
    }

    /// What the journal's name in the runtime directory leads to.
    pub fn place(&self) -> Place {
        let there = |about: std::fs::Metadata| (about.dev(), about.ino());
        match (std::fs::symlink_metadata(&self.path).map(there), self.file.metadata().map(there)) {
            (Err(_), _) => Place::Gone,
            (Ok(named), Ok(own)) if named == own => Place::Kept,
            _ => Place::Taken,
        }
    }

    /// Maps the header again, after a page of the mapping was lost.
    pub fn map_again(&mut self) -> Result<(), JournalError> {
        self.header = file::map_header(&self.file, &self.path, Access::Write)?;
        Ok(())
    }

    /// Begins a generation. `base` are the operations, in JSON, that make the state of `revision` from nothing; a commit
    /// of `revision` follows them. `epoch` and `digest` are the caller's, readers see them. If it fails, the generation
    /// before stays the newest, and can be appended to.
    pub fn begin(
        &mut self,
        epoch: u64,
        revision: u64,
        digest: u64,
        base: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<(), JournalError> {
        let before = self.header.active();
        // 0 means that there is none; after a damaged header the number may be anything.
        let generation = before.wrapping_add(1).max(1);
        let mut next = Current { generation, base_bytes: 0, committed: 0, reserved: 0 };
        // Bytes of a writer that was killed in this area.
        file::punch(&self.file, area_start(generation), AREA_BYTES);
        if let Err(error) = self.write_base(&mut next, revision, base) {
            file::punch(&self.file, area_start(generation), AREA_BYTES);
            return Err(error);
        }
        next.base_bytes = next.committed;
        let (base_bytes, format) = (next.base_bytes, journal_format());
        let description = Description { generation, epoch, revision, digest, base_bytes, format };
        self.header.activate(description, next.committed);
        self.current = Some(next);
        // The area of the generation before `before`: readers that are still in it find that out.
        file::punch(&self.file, area_start(before.wrapping_sub(1)), AREA_BYTES);
        Ok(())
    }

    /// Appends frames and makes them visible, all of them or, if it fails, none.
    pub fn append(&mut self, frames: &[Frame<'_>]) -> Result<(), JournalError> {
        let mut current = self.current.ok_or(JournalError::NotBegun)?;
        let mut bytes = Vec::new();
        for frame in frames {
            encode(&current, frame, &mut bytes)?;
        }
        self.write(&mut current, &bytes)?;
        self.header.commit(current.generation, current.committed);
        self.current = Some(current);
        Ok(())
    }

    /// Whether the deltas have grown so much that a new generation is due.
    pub fn needs_rotation(&self) -> bool {
        self.current.is_none_or(|current| current.committed - current.base_bytes > DELTAS_MAX.max(current.base_bytes))
    }

    fn write_base(
        &self,
        next: &mut Current,
        revision: u64,
        base: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<(), JournalError> {
        let mut bytes = Vec::with_capacity(CHUNK);
        for op in base {
            encode(next, &Frame::Op(&op), &mut bytes)?;
            if bytes.len() >= CHUNK {
                self.write(next, &bytes)?;
                bytes.clear();
            }
        }
        encode(next, &Frame::Commit { revision, time_ms: now_ms() }, &mut bytes)?;
        self.write(next, &bytes)
    }

    /// Writes behind what is committed, without committing it.
    fn write(&self, current: &mut Current, bytes: &[u8]) -> Result<(), JournalError> {
        let start = area_start(current.generation);
        let end = current.committed + bytes.len() as u64;
        if end > AREA_BYTES {
            return Err(JournalError::AreaFull);
        }
        if end > current.reserved {
            let more = (end - current.reserved).next_multiple_of(STEP).min(AREA_BYTES - current.reserved);
            reserve(&self.file, (start + current.reserved) as usize, more as usize)
                .map_err(JournalError::io("reserve space for", &self.path))?;
            current.reserved += more;
        }
        self.file.write_all_at(bytes, start + current.committed).map_err(JournalError::io("append to", &self.path))?;
        current.committed = end;
        Ok(())
    }
}

/// Encodes a frame that comes after what is committed and collected.
fn encode(current: &Current, frame: &Frame<'_>, collected: &mut Vec<u8>) -> Result<(), JournalError> {
    frame.bytes().map_err(|bytes| JournalError::TooLong { bytes })?;
    frame.encode(current.generation, current.committed + collected.len() as u64, collected);
    Ok(())
}
