//! Backups: everything that a state directory has to have, as a tar archive.
//!
//! The first entry, `manifest.json`, says which files follow, in order, with their sizes and hashes. So a backup that was
//! cut off or damaged is noticed before anything of it is used, names in the archive are never trusted, and `tar` can
//! look into it. Entries are the store with all its revisions, the contents of files (`objects/SHA256`) and the hashes
//! of tokens.

mod pipe;
mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_gateway::resource::Sha256Hash;

use crate::objects;
use crate::store::StoreError;

pub(crate) use pipe::{Receiving, Sending};
pub use read::{install, unpack, verify};
pub(crate) use write::{Source, write};

/// The media type of a backup.
pub const MEDIA_TYPE: &str = "application/x-tar";
/// The version of the format; others are refused.
const FORMAT: u32 = 1;
/// The first entry.
const MANIFEST: &str = "manifest.json";
/// The store, in the archive and in the directory that it is unpacked to.
pub(crate) const STORE: &str = "store.sqlite";
/// The hashes of tokens.
const TOKENS: &str = "tokens";
/// Largest manifest; about 100,000 files.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;
/// Largest backup.
pub(crate) const MAX_BYTES: u64 = 64 << 30;
/// The beginning of the names of directories in which backups are made and unpacked.
const TEMPORARY: &str = ".backup-";

/// The contents of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The version of Weir that made it.
    pub weir: String,
    /// The newest revision in it.
    pub revision: u64,
    /// When it was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// The files, in their order.
    pub files: Vec<Entry>,
}

/// A file in a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// `store.sqlite`, `tokens` or `objects/SHA256`.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its hash.
    pub sha256: Sha256Hash,
    /// Its mode.
    pub mode: u32,
}

impl Manifest {
    /// The length of all files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|entry| entry.size).sum()
    }

    /// The contents of files that it has.
    pub fn objects(&self) -> impl Iterator<Item = &Entry> {
        self.files.iter().filter(|entry| entry.object().is_some())
    }

    fn check(&self) -> Result<(), BackupError> {
        if self.format != FORMAT {
            let message =
                format!("its format is {}, written by Weir {}; this version reads {FORMAT}", self.format, self.weir);
            return Err(BackupError::Invalid(message));
        }
        let known =
            |entry: &Entry| [STORE, TOKENS].contains(&entry.name.as_str()) || entry.object() == Some(entry.sha256);
        if let Some(entry) = self.files.iter().find(|entry| !known(entry)) {
            return Err(BackupError::Invalid(format!("there is no place for a file {:?}", entry.name)));
        }
        if self.files.iter().filter(|entry| entry.name == STORE).count() != 1 {
            return Err(BackupError::Invalid(format!("it has not exactly one {STORE}")));
        }
        let sizes = self.files.iter().try_fold(0u64, |sum, entry| sum.checked_add(entry.size));
        if sizes.is_none_or(|bytes| bytes > MAX_BYTES) {
            return Err(BackupError::Invalid(format!("it is larger than {} GiB", MAX_BYTES >> 30)));
        }
        Ok(())
    }
}

impl Entry {
    fn object(&self) -> Option<Sha256Hash> {
        self.name.strip_prefix(objects::NAME)?.strip_prefix('/')?.parse().ok()
    }
}

/// A backup could not be made, read or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// An error of the system.
    #[error("cannot {what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// The file is not a whole backup.
    #[error("this is not a complete backup: {0}")]
    Invalid(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whether there is no space left.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)),
            Self::Invalid(_) => false,
            Self::Store(error) => error.is_full(),
        }
    }
}

/// A directory for a backup in progress, beside what it is made of. Removed when dropped.
#[derive(Debug)]
pub struct TemporaryDir(PathBuf);

impl TemporaryDir {
    /// Makes one in a state directory.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(state: &Path) -> Result<Self, BackupError> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = state.join(format!("{TEMPORARY}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(BackupError::io(format!("make {}", path.display())))?;
        Ok(Self(path))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes those that killed processes have left in a state directory.
    pub(crate) fn remove_old(state: &Path) {
        for entry in std::fs::read_dir(state).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
