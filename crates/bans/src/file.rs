//! Making, opening and mapping the file.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use crate::error::BansError;
use crate::layout::{FILE_BYTES, FORMAT, HEADER_WORDS, MAGIC};

/// The file's name in the runtime directory.
const NAME: &str = "bans.table";

pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

/// The mapped file.
pub(crate) struct Map(MmapRaw);

impl Map {
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, has FILE_BYTES, and lives as long as `self`; words that are shared with
        // other processes are accessed as atomics only, and loads need no permission to write.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), FILE_BYTES / 8) }
    }
}

/// Opens and maps the file, and makes it first if there is none. Two may do that at a time; one file results.
pub(crate) fn open(path: &Path, is_writer: bool) -> Result<(File, Map), BansError> {
    let open = || {
        let mut options = OpenOptions::new();
        options.read(true).write(is_writer).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    };
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(path)?;
            open()
        }
        opened => opened,
    };
    let file = file.map_err(BansError::io("open", path))?;
    let foreign = || BansError::Foreign { path: path.to_path_buf() };
    if file.metadata().map_err(BansError::io("look at", path))?.len() != FILE_BYTES as u64 {
        return Err(foreign());
    }
    let mut options = MmapOptions::new();
    options.len(FILE_BYTES);
    let map = if is_writer { options.map_raw(&file) } else { options.map_raw_read_only(&file) };
    let map = Map(map.map_err(BansError::io("map", path))?);
    if map.words()[FORMAT].load(Ordering::Acquire) != MAGIC {
        return Err(foreign());
    }
    Ok((file, map))
}

fn create(path: &Path) -> Result<(), BansError> {
    let unnamed = path.with_extension(format!("new.{}", std::process::id()));
    let _ = fs::remove_file(&unnamed);
    let made = (|| {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&unnamed)?;
        file.set_len(FILE_BYTES as u64)?;
        reserve(&file, 0, HEADER_WORDS)?;
        let random = || RandomState::new().hash_one(0u8);
        let header = [MAGIC, 0, random(), random()].map(u64::to_ne_bytes).concat();
        file.write_all_at(&header, 0)?;
        // A link, unlike a renaming, does not take the place of a file that someone else has made meanwhile.
        match fs::hard_link(&unnamed, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    let _ = fs::remove_file(&unnamed);
    made.map_err(BansError::io("create", path))
}

/// Gives words of the file their blocks. A file system that cannot do it is taken as is.
pub(crate) fn reserve(file: &File, at: usize, words: usize) -> io::Result<()> {
    let (at, bytes) = ((at * 8) as libc::off_t, (words * 8) as libc::off_t);
    // SAFETY: the call reads no memory.
    if unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, at, bytes) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EOPNOTSUPP) { Ok(()) } else { Err(error) }
}
