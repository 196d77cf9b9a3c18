//! A copy of the store while it is in use, for backups.
//!
//! SQLite's own means (its backup interface, `VACUUM INTO`) work on the only connection that the lock allows, and changes
//! would wait for them. But between two checkpoints the main file does not change and the WAL only grows, so both can
//! be read beside the store, up to the length that the WAL had between two commits.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::{Loaded, Store, StoreError, StoreFiles, schema};

/// Bytes that are copied at a time.
const CHUNK: usize = 1 << 20;

/// The store at one moment. Until this is dropped, there is no checkpoint.
#[derive(Debug)]
pub struct Copying {
    files: Arc<StoreFiles>,
    main_bytes: u64,
    wal_bytes: u64,
    _held: Arc<()>,
}

impl Store {
    /// The store as it is now. Not within a group.
    ///
    /// # Errors
    /// If its files cannot be looked at.
    pub fn copying(&self) -> Result<Copying, StoreError> {
        debug_assert!(!self.open, "a group is written as a whole");
        let length = |file: io::Result<&File>| match file.and_then(File::metadata) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            found => found.map(|about| about.len()).map_err(StoreError::io("look at", &self.path)),
        };
        Ok(Copying {
            main_bytes: length(Ok(&self.files.main))?,
            wal_bytes: length(self.files.wal())?,
            files: Arc::clone(&self.files),
            _held: Arc::clone(&self.copying),
        })
    }
}

impl Copying {
    /// Writes the store to a new file, which then needs no WAL, and checks it.
    ///
    /// # Errors
    /// If a file cannot be written, as when the disk is full, or the copy is corrupt.
    pub fn write(&self, to: &Path) -> Result<(), StoreError> {
        let wal = schema::wal(to);
        copy(&self.files.main, self.main_bytes, to).map_err(StoreError::io("write", to))?;
        if self.wal_bytes > 0 {
            let source = self.files.wal().map_err(StoreError::io("open", &self.files.path))?;
            copy(source, self.wal_bytes, &wal).map_err(StoreError::io("write", &wal))?;
        }
        let connection = Connection::open(to)?;
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        schema::check(&connection)
    }
}

/// Reads the state from a copy.
///
/// # Errors
/// If it is not a store, or corrupt.
pub fn read_copy(path: &Path) -> Result<Loaded, StoreError> {
    let connection = Connection::open(path)?;
    schema::check(&connection)?;
    Loaded::read(&connection)
}

fn copy(from: &File, bytes: u64, to: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let mut chunk = vec![0; CHUNK];
    let mut place = 0;
    while place < bytes {
        let part = CHUNK.min(usize::try_from(bytes - place).unwrap_or(CHUNK));
        from.read_exact_at(&mut chunk[..part], place)?;
        file.write_all(&chunk[..part])?;
        place += part as u64;
    }
    Ok(())
}
