//! Opening the store, also when its file is not what it was.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::change_log::{self, ChangeLog, Line};
use super::lock::Lock;
use super::snapshot::LAST_GOOD;
use super::{Loaded, Store, StoreError, StoreFiles, keys, schema};
use crate::log;

/// The name of the file.
const NAME: &str = "store.sqlite";

/// A state directory without a store, locked.
#[derive(Debug)]
pub struct Claim {
    _lock: Lock,
}

/// Locks a directory that has no store, making it if need be.
///
/// # Errors
/// If it has one, or another process has the directory.
pub fn claim(dir: &Path) -> Result<Claim, StoreError> {
    make_dir(dir)?;
    let lock = Lock::take(dir)?;
    if dir.join(NAME).exists() {
        return Err(StoreError::Exists { dir: dir.to_owned() });
    }
    Ok(Claim { _lock: lock })
}

pub(super) fn open(dir: &Path, now_ms: u64) -> Result<(Store, Loaded), StoreError> {
    make_dir(dir)?;
    let lock = Lock::take(dir)?;
    let path = dir.join(NAME);
    let unclean = lock.was_unclean();
    let first = schema::connect(&path, unclean).and_then(|connection| {
        let mut loaded = Loaded::read(&connection)?;
        if unclean {
            compare(dir, &connection, &mut loaded, now_ms)?;
        }
        Ok((connection, loaded))
    });
    let (connection, loaded) = match first {
        Ok(opened) => opened,
        Err(error) if error.is_corrupt() => {
            let aside = move_aside(&path, now_ms)?;
            let (mut loaded, used) = from_files(dir)?;
            loaded.recovered = Some(format!("{error}; the file is now {}; started from {used}", aside.display()));
            (schema::connect(&path, false)?, loaded)
        }
        Err(error) => return Err(error),
    };
    let epoch = match schema::meta(&connection, "epoch")? {
        Some(epoch) => epoch,
        None => {
            schema::set_meta(&connection, "epoch", now_ms)?;
            now_ms
        }
    };
    let log = ChangeLog::begin(dir, loaded.revision)?;
    let files = Arc::new(StoreFiles::open(&path)?);
    Ok((Store { connection, log, path, open: false, epoch, files, copying: Arc::default(), lock }, loaded))
}

/// Compares the store with the files beside it after an unclean end. Of a power cut or a copy of a directory in use each
/// may have lost what the other has; both together have everything that was flushed.
fn compare(dir: &Path, connection: &Connection, loaded: &mut Loaded, now_ms: u64) -> Result<(), StoreError> {
    let mut lines = Vec::new();
    let beside = match from_logs(dir, &mut |revision, line| {
        if revision > loaded.revision {
            lines.push((revision, line.changes.get().to_owned(), line.key.clone()));
        }
    }) {
        Ok((beside, _)) => beside,
        Err(error) => {
            log::warning!("{error}: the store is used as it is");
            return Ok(());
        }
    };
    if beside.revision == loaded.revision && beside.documents != loaded.documents {
        let what = format!("revision {} differs from {LAST_GOOD} and its change log", loaded.revision);
        return Err(StoreError::Damaged(what));
    }
    if beside.revision <= loaded.revision {
        return Ok(());
    }
    if lines.first().is_none_or(|(first, ..)| *first != loaded.revision + 1) {
        let what = format!("it ends at revision {}, {LAST_GOOD} is newer", loaded.revision);
        return Err(StoreError::Damaged(what));
    }
    for (revision, changes, key) in &lines {
        let sql = "INSERT OR REPLACE INTO revisions (revision, time_ms, actor, message, changes)
                   VALUES (?1, 0, 'weir', 'recovered from the change log', ?2)";
        connection.execute(sql, rusqlite::params![super::to_sql(*revision), changes])?;
        key.iter().try_for_each(|key| keys::insert(connection, key, *revision, true, now_ms))?;
    }
    log::warning!(
        "the store ended at revision {}; {} newer revisions were recovered from the change log",
        loaded.revision,
        lines.len()
    );
    let snapshot = loaded.snapshot;
    *loaded = Loaded { snapshot, ..beside };
    Ok(())
}

fn make_dir(dir: &Path) -> Result<(), StoreError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(StoreError::io("make", dir))?;
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(dir, private).map_err(StoreError::io("protect", dir))
}

fn move_aside(path: &Path, now_ms: u64) -> Result<PathBuf, StoreError> {
    let aside = schema::with_suffix(path, &format!(".corrupt-{now_ms}"));
    std::fs::rename(path, &aside).map_err(StoreError::io("move aside", path))?;
    for suffix in ["-wal", "-shm", "-journal"] {
        // What is not there need not move; what stays would be taken for a part of the new file.
        let part = schema::with_suffix(path, suffix);
        if part.exists() {
            std::fs::rename(&part, schema::with_suffix(&aside, suffix)).map_err(StoreError::io("move aside", &part))?;
        }
    }
    Ok(aside)
}

/// `last-good.json` and the logs of what has changed since, with what was used, in words.
fn from_files(dir: &Path) -> Result<(Loaded, String), StoreError> {
    let (loaded, more) = from_logs(dir, &mut |_, _| {})?;
    let from = loaded.revision - more;
    let mut used = if from > 0 { LAST_GOOD.to_owned() } else { "nothing".to_owned() };
    used.push_str(&format!(" (revision {from})"));
    if more > 0 {
        used.push_str(&format!(" and {} of its change log", weir_policy::counted(more as usize, "revision")));
    }
    Ok((loaded, used))
}

/// The state from `last-good.json` and the logs, and the number of revisions from logs, each of which `each` sees.
fn from_logs(dir: &Path, each: &mut dyn FnMut(u64, &Line<'_>)) -> Result<(Loaded, u64), StoreError> {
    let path = dir.join(LAST_GOOD);
    let mut loaded = match std::fs::read(&path) {
        Ok(text) => Loaded::parse(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Loaded::default(),
        Err(error) => return Err(StoreError::io("read", &path)(error)),
    };
    let mut more = 0;
    for (_, path) in change_log::all(dir) {
        let text = std::fs::read(&path).map_err(StoreError::io("read", &path))?;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = Line::parse(line) else { break };
            let Some(changes) = line.parsed() else { break };
            match line.revision.cmp(&(loaded.revision + 1)) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    each(line.revision, &line);
                    loaded.apply(line.revision, &changes);
                    more += 1;
                }
                std::cmp::Ordering::Greater => return Ok((loaded, more)),
            }
        }
    }
    Ok((loaded, more))
}
