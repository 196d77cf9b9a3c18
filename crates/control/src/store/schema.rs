//! The tables, and how the file is opened.

use std::ffi::OsString;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::StoreError;
use crate::log;

/// After a clean end, a larger file is not checked as a whole at the start.
const CHECKED_BYTES: u64 = 32 << 20;

/// The longest that a check takes, about 2 GB from the page cache. What it has not reached by then is checked when it is
/// read; the state itself is read, and compared with the files beside the store, at every start.
const CHECK: Duration = Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS revisions (
    revision INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, actor TEXT NOT NULL, message TEXT, changes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS snapshots (
    revision INTEGER NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (revision, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, actor TEXT NOT NULL, what TEXT NOT NULL,
    status INTEGER NOT NULL, detail TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS costs (
    revision INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, requests INTEGER NOT NULL,
    cpu_ns INTEGER NOT NULL, weir_ns REAL NOT NULL, entries TEXT NOT NULL, PRIMARY KEY (from_ms, revision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS retired (
    revision INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL,
    PRIMARY KEY (revision, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS private_keys (
    sha256 TEXT PRIMARY KEY, revision INTEGER NOT NULL, pem TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS looked_at (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, actor TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    revision INTEGER NOT NULL, made INTEGER NOT NULL, time_ms INTEGER NOT NULL, undone_by INTEGER, reasons TEXT,
    UNIQUE (actor, key));
CREATE INDEX IF NOT EXISTS keys_by_revision ON keys (revision);
CREATE TABLE IF NOT EXISTS bans (
    network TEXT PRIMARY KEY, remedy TEXT NOT NULL, made_ms INTEGER NOT NULL, expires_s INTEGER NOT NULL,
    actor TEXT NOT NULL, reason TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shadows (
    app TEXT NOT NULL, revision INTEGER NOT NULL, time_ms INTEGER NOT NULL, actor TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (app, revision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
";

/// Opens the file, making it if there is none.
pub(super) fn connect(path: &Path, unclean: bool) -> Result<Connection, StoreError> {
    // SQLite would make it readable for all that the umask leaves in.
    let made = std::fs::File::options().write(true).create(true).truncate(false).mode(0o600).open(path);
    let length = made.and_then(|file| file.metadata()).map_err(StoreError::io("open", path))?.len();
    let connection = Connection::open(path)?;
    let locked = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { dir: path.to_path_buf(), owner: None }
        }
        _ => error.into(),
    };
    // The lock comes before the WAL, or SQLite would make its shared-memory index after all.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(locked)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(locked)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(32);
    if length > 0 && (unclean || length < CHECKED_BYTES) {
        check(&connection)?;
    }
    connection.execute_batch(TABLES).map_err(locked)?;
    Ok(connection)
}

/// Checks the file for at most [`CHECK`].
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    /// Instructions of SQLite between two looks at the clock: about a millisecond.
    const STEPS: i32 = 100_000;
    let begun = Instant::now();
    connection.progress_handler(STEPS, Some(move || begun.elapsed() > CHECK));
    let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    connection.progress_handler(0, None::<fn() -> bool>);
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(verdict) => Err(StoreError::Damaged(verdict)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            log::warning!("the store is so large that only a part of it was checked, in {} s", CHECK.as_secs());
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// A number in `meta`.
pub(super) fn meta(connection: &Connection, name: &str) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT value FROM meta WHERE name = ?1";
    Ok(connection.query_row(sql, [name], |row| row.get(0)).optional()?.map(super::from_sql))
}

pub(super) fn set_meta(connection: &Connection, name: &str, value: u64) -> Result<(), StoreError> {
    let sql = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2";
    connection.execute(sql, rusqlite::params![name, super::to_sql(value)])?;
    Ok(())
}

/// The WAL of a file.
pub(super) fn wal(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
