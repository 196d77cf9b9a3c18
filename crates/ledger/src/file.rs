//! A file of fixed size in a shared mapping: complete before it gets its name, checked before it is
//! mapped.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};

use crate::LedgerError;

/// A mapped file. The mapping lives as long as the value; over `fork` the child shares it.
pub(crate) struct Mapped {
    map: MmapRaw,
    pub(crate) path: PathBuf,
}

/// What to do if the file already exists.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Existing {
    /// Keep it and return `None`.
    Keep,
    /// Replace it; processes that have mapped it keep the old file.
    Replace,
}

impl Mapped {
    /// Creates a file of `bytes` zero bytes, lets `fill` write to it, and then names it `path`.
    pub(crate) fn create(
        path: &Path,
        bytes: usize,
        existing: Existing,
        fill: impl FnOnce(&Self),
    ) -> Result<Option<Self>, LedgerError> {
        let io = |doing| move |source| LedgerError::Io { path: path.to_owned(), doing, source };
        let unnamed = path.with_extension(format!("new.{}", std::process::id()));
        let _ = fs::remove_file(&unnamed);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&unnamed)
            .map_err(io("create it"))?;
        let mapped =
            reserve(&file, bytes).map_err(io("reserve its space")).and_then(|()| Self::map(&file, path, bytes));
        let named = mapped.and_then(|mapped| {
            fill(&mapped);
            let named = match existing {
                Existing::Keep => fs::hard_link(&unnamed, path),
                Existing::Replace => fs::rename(&unnamed, path),
            };
            match named {
                Ok(()) => Ok(Some(mapped)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
                Err(error) => Err(io("name it")(error)),
            }
        });
        let _ = fs::remove_file(&unnamed);
        named
    }

    /// Opens and maps a file. `length` gets the first `header` words of the file (zeros past its end) and
    /// returns the length that the file must have.
    pub(crate) fn open(
        path: &Path,
        header: usize,
        length: impl FnOnce(&[u64]) -> Result<usize, LedgerError>,
    ) -> Result<Self, LedgerError> {
        let io = |doing| move |source| LedgerError::Io { path: path.to_owned(), doing, source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => LedgerError::Missing { path: path.to_owned() },
                _ => io("open it")(source),
            })?;
        let metadata = file.metadata().map_err(io("look at it"))?;
        if !metadata.is_file() {
            return Err(LedgerError::Foreign { path: path.to_owned(), detail: "it is not a regular file".into() });
        }
        let mut bytes = vec![0; header * 8];
        read_start(&file, &mut bytes).map_err(io("read it"))?;
        let words: Vec<u64> =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect();
        let length = length(&words)?;
        if metadata.len() != length as u64 {
            let detail = format!("it has {} bytes instead of {length}", metadata.len());
            return Err(LedgerError::Damaged { path: path.to_owned(), detail });
        }
        Self::map(&file, path, length)
    }

    fn map(file: &File, path: &Path, bytes: usize) -> Result<Self, LedgerError> {
        let map = MmapOptions::new().len(bytes).map_raw(file).map_err(|source| LedgerError::Io {
            path: path.to_owned(),
            doing: "map it",
            source,
        })?;
        Ok(Self { map, path: path.to_owned() })
    }

    /// All of the file as words. `bytes` were checked to be the file's length when it was mapped.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, `len` bytes long, readable and writable, lives as
        // long as `self`, and is only ever accessed as atomics, here and in other processes.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<AtomicU64>(), self.map.len() / 8) }
    }
}

/// Creates the directory, accessible to its owner only; an existing one is left as it is.
pub(crate) fn make_dir(dir: &Path) -> Result<(), LedgerError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| LedgerError::Io { path: dir.to_owned(), doing: "create the runtime directory", source })
}

/// Refuses a file that another user could have prepared: its owner must be this user or root.
pub(crate) fn check_owner(path: &Path) -> Result<(), LedgerError> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.uid() != me && metadata.uid() != 0 => {
            let detail = format!("it belongs to user {}, this process runs as user {me}", metadata.uid());
            Err(LedgerError::Foreign { path: path.to_owned(), detail })
        }
        _ => Ok(()),
    }
}

/// Gives the file its length and reserves its blocks: writing to a sparse file would raise SIGBUS once the
/// file system is full.
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    // SAFETY: the descriptor is open for writing as long as `file` lives.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn read_start(file: &File, into: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let mut have = 0;
    while have < into.len() {
        match file.read_at(&mut into[have..], have as u64)? {
            0 => return Ok(()),
            n => have += n,
        }
    }
    Ok(())
}
