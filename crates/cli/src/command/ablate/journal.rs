//! The original policies, on disk before the first change, so that they can be restored.
//!
//! A run holds the lock beside the journal for as long as it lives, and the kernel lets go of it
//! however the run ends. So a journal without a holder of the lock is one that somebody has to
//! carry out: the guard at once, or the next run.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Failure;

/// Names in the state directory.
const JOURNAL: &str = "ablate.json";
const LOCK: &str = "ablate.lock";
/// Longest journal that is read, in bytes: what control takes in one answer.
const MAX_BYTES: u64 = 256 << 20;
/// Changes with what a journal means.
const VERSION: u32 = 1;

/// The original policies, and the gateway to restore them in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    /// Begins the message of every revision that the run makes.
    pub session: String,
    /// The process that runs.
    pub pid: u32,
    /// Where nginx's runtime files are.
    pub runtime: PathBuf,
    /// Where control answers, as `--control` says it.
    pub control: Option<String>,
    /// The policies by id, as they were.
    pub policies: BTreeMap<String, Value>,
}

impl Journal {
    /// Of this process.
    pub fn new(session: String, runtime: &Path, control: Option<&str>, policies: BTreeMap<String, Value>) -> Self {
        // Whoever carries it out may stand in another directory.
        let runtime = std::path::absolute(runtime).unwrap_or_else(|_| runtime.to_owned());
        let control = control.map(|control| match control.contains("://") {
            true => control.to_owned(),
            false => std::path::absolute(control)
                .map_or_else(|_| control.to_owned(), |path| path.to_string_lossy().into_owned()),
        });
        Self { version: VERSION, session, pid: std::process::id(), runtime, control, policies }
    }
}

/// The state directory, locked.
#[derive(Debug)]
pub(super) struct StateLock {
    directory: PathBuf,
    _lock: File,
}

impl StateLock {
    /// Takes the lock; `None` if a run or a guard has it.
    pub fn take(directory: &Path) -> Result<Option<Self>, Failure> {
        let lock = open_lock(directory)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { directory: directory.to_owned(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(fail(&directory.join(LOCK))(error)),
        }
    }

    /// Waits for the lock.
    pub fn wait(directory: &Path) -> Result<Self, Failure> {
        let lock = open_lock(directory)?;
        lock.lock().map_err(fail(&directory.join(LOCK)))?;
        Ok(Self { directory: directory.to_owned(), _lock: lock })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The journal that is there.
    pub fn read(&self) -> Result<Option<Journal>, Failure> {
        read(&self.directory)
    }

    /// Writes the journal, on disk when this returns.
    pub fn write(&self, journal: &Journal) -> Result<(), Failure> {
        let path = self.directory.join(JOURNAL);
        let unnamed = path.with_extension("new");
        let text = serde_json::to_vec(journal).map_err(Failure::new)?;
        let options = || File::options().write(true).create(true).truncate(true).mode(0o600).open(&unnamed);
        let written = options().and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        let named = written.and_then(|()| fs::rename(&unnamed, &path));
        named.and_then(|()| File::open(&self.directory)?.sync_all()).map_err(fail(&path))
    }

    /// Removes the journal once everything has been restored.
    pub fn clear(&self) -> Result<(), Failure> {
        let path = self.directory.join(JOURNAL);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(fail(&path)(error)),
            _ => Ok(()),
        }
    }
}

/// The journal in a directory, whoever holds its lock.
pub(super) fn read(directory: &Path) -> Result<Option<Journal>, Failure> {
    let path = directory.join(JOURNAL);
    let metadata = match fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(fail(&path))?,
    };
    let damaged = |why: String| {
        Failure::new(format!("{}: {why}", path.display()))
            .hint("weir revisions and weir rollback put policies back by hand; then remove this file")
    };
    if metadata.len() > MAX_BYTES {
        return Err(damaged(format!("longer than {} MiB", MAX_BYTES >> 20)));
    }
    let bytes = fs::read(&path).map_err(fail(&path))?;
    let journal: Journal =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("not a journal: {error}")))?;
    if journal.version != VERSION {
        return Err(damaged(format!("it is of version {}, and this weir reads {VERSION}", journal.version)));
    }
    Ok(Some(journal))
}

fn open_lock(directory: &Path) -> Result<File, Failure> {
    let open = |path: &Path| File::options().create(true).append(true).mode(0o600).open(path);
    let path = directory.join(LOCK);
    fs::create_dir_all(directory)
        .and_then(|()| open(&path))
        .map_err(|error| fail(&path)(error).hint("set --state or WEIR_STATE to a writable directory"))
}

fn fail(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::new(format!("{path}: {error}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn journal() -> Journal {
        let policies = BTreeMap::from([("p".to_owned(), json!({"rules": []}))]);
        Journal::new("weir ablate 1".into(), Path::new("run"), Some("http://a/"), policies)
    }

    #[test]
    fn what_is_written_is_read_and_then_gone() {
        let directory = tempfile::tempdir().unwrap();
        let held = StateLock::take(directory.path()).unwrap().unwrap();
        assert_eq!(held.read().unwrap(), None);
        held.write(&journal()).unwrap();
        assert_eq!(held.read().unwrap(), Some(journal()));
        assert!(journal().runtime.is_absolute() && journal().control.as_deref() == Some("http://a/"));
        held.clear().unwrap();
        held.clear().unwrap();
        assert_eq!(held.read().unwrap(), None);
    }

    #[test]
    fn there_is_one_holder_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let held = StateLock::take(directory.path()).unwrap().unwrap();
        assert!(StateLock::take(directory.path()).unwrap().is_none());
        drop(held);
        assert!(StateLock::take(directory.path()).unwrap().is_some());
    }

    #[test]
    fn a_damaged_journal_is_an_error_with_a_way_out_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["", "{}", "{\"version\": 1", &serde_json::to_string(&journal()).unwrap().replace(":1,", ":9,")] {
            fs::write(directory.path().join(JOURNAL), text).unwrap();
            let failure = read(directory.path()).unwrap_err();
            assert!(failure.to_string().contains(JOURNAL), "{failure}");
            assert!(directory.path().join(JOURNAL).exists());
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(StateLock::take(&file.path().join("state")).is_err());
    }
}
