//! Snapshots: the whole state as text, made by a thread beside the loop and put into SQLite part by part, so that a state
//! of 10,000 routes does not hold up the changes that come meanwhile.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use rusqlite::params;

use super::{Store, StoreError, change_log, to_sql};
use crate::state::{Held, Key};

/// How much is written to SQLite at a time.
const PART_BYTES: usize = 128 << 10;
/// The newest snapshots that are kept.
const KEPT: u64 = 2;
/// The name of the copy beside the store.
pub(super) const LAST_GOOD: &str = "last-good.json";

/// A snapshot that is being made.
#[derive(Debug)]
pub struct Snapshot {
    revision: u64,
    made: Receiver<Result<Vec<u8>, StoreError>>,
    text: Option<Vec<u8>>,
    next: usize,
}

impl Snapshot {
    /// The revision of the snapshot.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

impl Store {
    /// Begins a snapshot of the state. Goes on in [`Store::snapshot_step`].
    ///
    /// # Errors
    /// If the next log cannot be begun.
    pub fn snapshot(&mut self, revision: u64, time_ms: u64, state: Vec<(Key, Held)>) -> Result<Snapshot, StoreError> {
        let dir = self.dir();
        let kept = self.log.rotate(&dir, revision)?;
        let (sender, made) = channel();
        let work = move || {
            let text = render(revision, time_ms, &state);
            let written = write_last_good(&dir, text.as_bytes()).map(|()| text.into_bytes());
            if written.is_ok() {
                remove_logs_before(&dir, kept);
            }
            let _ = sender.send(written);
        };
        let spawned = std::thread::Builder::new().name("snapshot".to_owned()).spawn(work);
        spawned.map_err(StoreError::io("start a thread for", self.path()))?;
        Ok(Snapshot { revision, made, text: None, next: 0 })
    }

    /// Puts the next part in; true if there is no more to do. Not within a group.
    ///
    /// # Errors
    /// If it could not be made or stored; it is then given up.
    pub fn snapshot_step(&mut self, snapshot: &mut Snapshot) -> Result<bool, StoreError> {
        if snapshot.text.is_none() {
            match snapshot.made.try_recv() {
                Ok(text) => snapshot.text = Some(text?),
                Err(TryRecvError::Empty) => return Ok(false),
                Err(TryRecvError::Disconnected) => return Err(StoreError::Damaged("a snapshot was given up".into())),
            }
        }
        let text = snapshot.text.as_deref().expect("it was received above");
        let parts = text.len().div_ceil(PART_BYTES);
        let body = text.chunks(PART_BYTES).nth(snapshot.next).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO snapshots (revision, part, parts, body) VALUES (?1, ?2, ?3, ?4)";
        let revision = to_sql(snapshot.revision);
        self.connection.prepare_cached(sql)?.execute(params![revision, snapshot.next, parts, body])?;
        snapshot.next += 1;
        if snapshot.next < parts {
            return Ok(false);
        }
        let sql = "DELETE FROM snapshots WHERE revision < (SELECT min(revision) FROM
                   (SELECT DISTINCT revision FROM snapshots ORDER BY revision DESC LIMIT ?1))";
        self.connection.execute(sql, [to_sql(KEPT)])?;
        Ok(true)
    }

    /// Waits until the thread has made it, then stores all of it: at the end.
    ///
    /// # Errors
    /// As [`Store::snapshot_step`].
    pub fn snapshot_finish(&mut self, mut snapshot: Snapshot) -> Result<(), StoreError> {
        if snapshot.text.is_none() {
            let made = snapshot.made.recv();
            snapshot.text = Some(made.map_err(|_| StoreError::Damaged("a snapshot was given up".into()))??);
        }
        while !self.snapshot_step(&mut snapshot)? {}
        Ok(())
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.path.parent().map_or_else(PathBuf::new, Path::to_path_buf)
    }
}

fn render(revision: u64, time_ms: u64, state: &[(Key, Held)]) -> String {
    let bytes: usize = state.iter().map(|(key, held)| held.document.text.len() + key.id.len() + 64).sum();
    let mut out = String::with_capacity(bytes + 128);
    let _ = write!(out, "{{\"revision\":{revision},\"time_ms\":{time_ms},\"documents\":[");
    for (n, (key, held)) in state.iter().enumerate() {
        let separator = if n == 0 { "\n" } else { ",\n" };
        let (kind, id, text) = (key.kind.plural(), &key.id, &held.document.text);
        let _ = write!(
            out,
            "{separator}{{\"kind\":\"{kind}\",\"id\":\"{id}\",\"revision\":{},\"document\":{text}}}",
            held.revision
        );
    }
    out.push_str("\n]}\n");
    out
}

fn write_last_good(dir: &Path, text: &[u8]) -> Result<(), StoreError> {
    let (path, new) = (dir.join(LAST_GOOD), dir.join("last-good.json.new"));
    let write = || {
        let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text)?;
        file.sync_all()?;
        std::fs::rename(&new, &path)
    };
    write().map_err(StoreError::io("write", &new))
}

fn remove_logs_before(dir: &Path, revision: u64) {
    for (_, path) in change_log::all(dir).into_iter().filter(|(first, _)| *first < revision) {
        let _ = std::fs::remove_file(path);
    }
}
