//! Opening the store, also when its file is not what it was.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::change_log::{self, ChangeLog, Line};
use super::snapshot::LAST_GOOD;
use super::{Loaded, Store, StoreError, schema};

/// The name of the file.
const NAME: &str = "store.sqlite";
pub(super) fn open(dir: &Path, now_ms: u64) -> Result<(Store, Loaded), StoreError> {
    make_dir(dir)?;
    let path = dir.join(NAME);
    let first = schema::connect(&path).and_then(|connection| {
        let loaded = Loaded::read(&connection)?;
        Ok((connection, loaded))
    });
    let (connection, loaded) = match first {
        Ok(opened) => opened,
        Err(error) if error.is_corrupt() => {
            let aside = move_aside(&path, now_ms)?;
            let (mut loaded, used) = from_files(dir)?;
            loaded.recovered = Some(format!("{error}; the file is now {}; started from {used}", aside.display()));
            (schema::connect(&path)?, loaded)
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
    Ok((Store { connection, log, path, open: false, epoch }, loaded))
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

/// `last-good.json` and the logs of what has changed since.
fn from_files(dir: &Path) -> Result<(Loaded, String), StoreError> {
    let path = dir.join(LAST_GOOD);
    let (mut loaded, mut used) = match std::fs::read(&path) {
        Ok(text) => (Loaded::parse(&text)?, LAST_GOOD.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Loaded::default(), "nothing".to_owned()),
        Err(error) => return Err(StoreError::io("read", &path)(error)),
    };
    used.push_str(&format!(" (revision {})", loaded.revision));
    let mut more = 0;
    'logs: for (_, path) in change_log::all(dir) {
        let text = std::fs::read(&path).map_err(StoreError::io("read", &path))?;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = Line::parse(line) else { break };
            match line.revision.cmp(&(loaded.revision + 1)) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    loaded.apply(line.revision, &line.changes);
                    more += 1;
                }
                std::cmp::Ordering::Greater => break 'logs,
            }
        }
    }
    if more > 0 {
        used.push_str(&format!(" and {more} revisions of its change log"));
    }
    Ok((loaded, used))
}
