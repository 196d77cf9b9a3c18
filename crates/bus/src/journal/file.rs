//! Making, opening and checking the journal's file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memmap2::MmapOptions;

use super::error::JournalError;
use super::header::{FILE_BYTES, HEADER_BYTES, Header, MAGIC};
use crate::region::reserve;

/// The journal's name in the runtime directory.
const NAME: &str = "policy.journal";

pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

/// Whether a file is opened for the writer or for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// For reading: workers inherit the descriptor, and are not to write through it or map it for writing.
    Read,
    /// For writing as well.
    Write,
}

/// Opens the file that is there.
pub(crate) fn open(path: &Path, access: Access) -> Result<File, JournalError> {
    OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(JournalError::io("open", path))
}

/// Opens the file, and makes an empty journal first if there is none. Two may do that at a time; one file results.
pub(crate) fn create_or_open(path: &Path, access: Access) -> Result<File, JournalError> {
    match open(path, access) {
        Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let unnamed = path.with_extension(format!("new.{}", std::process::id()));
    let made = write_new(&unnamed);
    // A link, unlike a renaming, does not take the place of a file that someone else has made meanwhile.
    let named = made.and_then(|()| match fs::hard_link(&unnamed, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(JournalError::io("name", path)(error)),
        _ => Ok(()),
    });
    let _ = fs::remove_file(&unnamed);
    named.and_then(|()| open(path, access))
}

fn write_new(path: &Path) -> Result<(), JournalError> {
    let _ = fs::remove_file(path);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(JournalError::io("create", path))?;
    file.set_len(FILE_BYTES).map_err(JournalError::io("size", path))?;
    reserve(&file, 0, HEADER_BYTES).map_err(JournalError::io("reserve memory for", path))?;
    file.write_all_at(&MAGIC.to_ne_bytes(), 0).map_err(JournalError::io("write", path))
}

/// Maps the header for reading, or for writing too.
pub(crate) fn map_header(file: &File, path: &Path, access: Access) -> Result<Header, JournalError> {
    let foreign = |reason| JournalError::Foreign { path: path.to_path_buf(), reason };
    let length = file.metadata().map_err(JournalError::io("look at", path))?.len();
    if length != FILE_BYTES {
        return Err(foreign("its length is wrong"));
    }
    let mut options = MmapOptions::new();
    options.len(HEADER_BYTES);
    let map = if access == Access::Write { options.map_raw(file) } else { options.map_raw_read_only(file) };
    let header = Header::new(map.map_err(JournalError::io("map", path))?);
    if header.magic() != MAGIC {
        return Err(foreign("it does not begin as one"));
    }
    Ok(header)
}

/// Takes the writer's lock; false if someone else has it. It ends with the process, or when the file is closed.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: the call reads no memory.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}

/// Gives the blocks of a part of the file back. Where the file system cannot, they stay: that costs space only.
pub(crate) fn punch(file: &File, offset: u64, bytes: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the call reads no memory.
    unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as libc::off_t, bytes as libc::off_t) };
}
