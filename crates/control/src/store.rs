//! The persistent store: every revision, the last snapshot, and refused requests, in one SQLite file.
//!
//! A change waits for the commit but not for the disk: with `synchronous=OFF` a commit is a write to the page cache
//! (about 10 µs), which survives the death of any process, and [`flush::Flusher`] syncs within 50 ms, which is what the death
//! of the machine can cost. Checkpoints sync by themselves. `locking_mode=EXCLUSIVE` saves four system calls a commit and the shared-memory index; the
//! price is that `sqlite3 store.sqlite` has to wait until control stops. Checkpoints are ours, because SQLite's own
//! would not sync in between, and a WAL that is overwritten before its pages are on disk is a torn store.
//!
//! Beside it lie `last-good.json`, the whole state at some revision, and `changes-N.log`, a line for each revision since.
//! They are what control starts from if SQLite finds its file corrupt. The journal in the runtime directory would be
//! newer still, but holds what workers want, not what people wrote.

mod bans;
mod change_log;
mod copy;
mod costs;
mod error;
mod flush;
mod keys;
mod load;
mod lock;
mod owner;
mod prune;
mod recover;
mod retired;
mod revisions;
mod schema;
mod shadows;
mod snapshot;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rusqlite::{Connection, params};

pub(crate) use bans::StoredBan;
pub use copy::{Copying, read_copy};
pub use costs::{CostEntry, CostRecord, KEPT_COSTS};
pub use error::StoreError;
pub use flush::{Flushed, Flusher};
pub use keys::{ChangeKey, KEPT_KEYS, KEPT_KEYS_MS, KnownKey};
pub use load::{Loaded, StoredDocument};
pub use owner::Owner;
pub use recover::{Claim, claim};
pub use revisions::{Change, Revision};
pub(crate) use shadows::StoredShadow;
pub use snapshot::Snapshot;

use change_log::ChangeLog;
use lock::Lock;

/// The newest revisions that are kept.
pub const KEPT_REVISIONS: u64 = 100_000;
/// The newest refused changes that are kept.
pub const KEPT_AUDIT: u64 = 10_000;
/// A WAL of this length is written back. Most of its pages are versions of the same few.
pub const CHECKPOINT_BYTES: u64 = 16 << 20;

/// The store. Only one process can open it.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    log: ChangeLog,
    path: PathBuf,
    open: bool,
    epoch: u64,
    files: Arc<StoreFiles>,
    /// Held by copies that are being made.
    copying: Arc<()>,
    /// Declared last, so that it is released when everything else is closed.
    lock: Lock,
}

/// The files of SQLite, opened once: closing any descriptor of them would release SQLite's own lock.
#[derive(Debug)]
struct StoreFiles {
    main: File,
    path: PathBuf,
    wal: OnceLock<File>,
}

impl StoreFiles {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let main = File::open(path).map_err(StoreError::io("open", path))?;
        Ok(Self { main, path: schema::wal(path), wal: OnceLock::new() })
    }

    /// The WAL, which exists from the first commit on.
    fn wal(&self) -> std::io::Result<&File> {
        if let Some(wal) = self.wal.get() {
            return Ok(wal);
        }
        let file = File::open(&self.path)?;
        Ok(self.wal.get_or_init(|| file))
    }
}

impl Store {
    /// Opens the store in a directory, making both if need be, and reads the state. A corrupt file is moved aside, and
    /// [`Loaded::recovered`] says what was used instead.
    ///
    /// # Errors
    /// If it cannot be opened, or another process has it.
    pub fn open(dir: &Path, now_ms: u64) -> Result<(Self, Loaded), StoreError> {
        recover::open(dir, now_ms)
    }

    /// Identifies the history: a new one begins when a store is lost, so that its revision numbers are never mistaken
    /// for those of another.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Shows other hosts that this process lives, if the directory is on a network file system. Due every two seconds.
    pub fn beat(&mut self) {
        if self.lock.is_remote {
            self.lock.beat();
        }
    }

    /// Notes that everything was written: the next start need not look for what a power cut does.
    pub fn end(&mut self) {
        self.lock.end();
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether [`Store::mark`] has set a mark.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn is_marked(&self, name: &str) -> Result<bool, StoreError> {
        Ok(schema::meta(&self.connection, name)?.is_some())
    }

    /// Sets a mark.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn mark(&mut self, name: &str) -> Result<(), StoreError> {
        schema::set_meta(&self.connection, name, 1)
    }

    /// Begins a group of revisions.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn begin(&mut self) -> Result<(), StoreError> {
        debug_assert!(!self.open, "groups do not nest");
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.open = true;
        Ok(())
    }

    /// Adds a revision to the group.
    ///
    /// # Errors
    /// If SQLite fails; the group can then only be aborted.
    pub fn add(&mut self, revision: &Revision) -> Result<(), StoreError> {
        let sql = "INSERT INTO revisions (revision, time_ms, actor, message, changes) VALUES (?1, ?2, ?3, ?4, ?5)";
        let Revision { revision: number, time_ms, actor, message, changes } = revision;
        self.connection.prepare_cached(sql)?.execute(params![
            to_sql(*number),
            to_sql(*time_ms),
            &**actor,
            message.as_deref(),
            &**changes
        ])?;
        self.log.add(revision);
        Ok(())
    }

    /// Ends the group: all of it is there, or none.
    ///
    /// # Errors
    /// If it cannot be written, as when the disk is full. Nothing of the group is there.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let before = self.log.flush()?;
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
        if let Err(error) = committed {
            self.log.cut(before);
            return Err(error.into());
        }
        self.open = false;
        Ok(())
    }

    /// Drops the group.
    pub fn abort(&mut self) {
        self.log.forget();
        if std::mem::take(&mut self.open) && !self.connection.is_autocommit() {
            // Nothing can be done about an error: SQLite has rolled back by itself, or will when it opens the file.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    /// Deletes revisions that were stored but could not be published, with their keys.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn take_back(&mut self, from: u64) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM revisions WHERE revision >= ?1", [to_sql(from)])?;
        self.connection.execute("DELETE FROM keys WHERE revision >= ?1", [to_sql(from)])?;
        let sql = "UPDATE keys SET undone_by = NULL, reasons = NULL WHERE undone_by >= ?1";
        self.connection.execute(sql, [to_sql(from)])?;
        self.log.take_back(from)?;
        Ok(())
    }

    /// Records a refused change or a rejected request. Accepted changes are revisions.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn audit(
        &mut self,
        time_ms: u64,
        actor: &str,
        what: &str,
        status: u16,
        detail: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO audit (time_ms, actor, what, status, detail) VALUES (?1, ?2, ?3, ?4, ?5)";
        let short = &detail[..detail.floor_char_boundary(1_000)];
        self.connection.prepare_cached(sql)?.execute(params![to_sql(time_ms), actor, what, status, short])?;
        Ok(())
    }

    /// The newest refused requests.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn refused(&self, limit: u64) -> Result<Vec<serde_json::Value>, StoreError> {
        let sql = "SELECT time_ms, actor, what, status, detail FROM audit ORDER BY id DESC LIMIT ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([to_sql(limit)], |row| {
            Ok(serde_json::json!({
                "time_ms": row.get::<_, i64>(0)?, "actor": row.get::<_, String>(1)?, "what": row.get::<_, String>(2)?,
                "status": row.get::<_, u16>(3)?, "detail": row.get::<_, String>(4)?,
            }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether the WAL has grown so long that it should be written back.
    #[must_use]
    pub fn wants_checkpoint(&self) -> bool {
        Arc::strong_count(&self.copying) == 1
            && self.files.wal().and_then(File::metadata).is_ok_and(|found| found.len() > CHECKPOINT_BYTES)
    }

    /// Writes the WAL back into the file, which is on disk before the WAL is emptied. The WAL should be on disk already:
    /// then that takes a few milliseconds. Does nothing while a copy is being made.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        if Arc::strong_count(&self.copying) > 1 {
            return Ok(());
        }
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.connection.pragma_update(None, "synchronous", "OFF")?;
        Ok(done?)
    }
}

/// SQLite's integers are signed. Neither revisions nor milliseconds come near the end.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_sql(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests;
