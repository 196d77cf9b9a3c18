//! A line for each revision since the last `last-good.json`: what is left of the newest changes if SQLite's file is lost.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::{Change, ChangeKey, Revision, StoreError};

/// The log that is being written.
#[derive(Debug)]
pub(super) struct ChangeLog {
    file: File,
    path: PathBuf,
    length: u64,
    /// The revision that it begins after.
    begun: u64,
    /// Lines of the group that is open.
    pending: Vec<u8>,
    /// Where the lines of the last group begin, by revision, for [`ChangeLog::take_back`].
    last: (u64, u64),
    first_pending: Option<u64>,
}

impl ChangeLog {
    /// Begins a log of the revisions after `revision`.
    pub fn begin(dir: &Path, revision: u64) -> Result<Self, StoreError> {
        let path = dir.join(format!("changes-{revision}.log"));
        let file = File::options().append(true).create(true).mode(0o600).open(&path);
        let file = file.map_err(StoreError::io("open", &path))?;
        let length = file.metadata().map_err(StoreError::io("read", &path))?.len();
        Ok(Self {
            file,
            path,
            length,
            begun: revision,
            pending: Vec::new(),
            last: (u64::MAX, length),
            first_pending: None,
        })
    }

    pub fn add(&mut self, revision: &Revision) {
        self.first_pending.get_or_insert(revision.revision);
        let _ = writeln!(self.pending, "{{\"revision\":{},\"changes\":{}}}", revision.revision, revision.changes);
    }

    /// Adds the idempotency key of the revision that was added last.
    pub fn key(&mut self, key: &ChangeKey) {
        if self.pending.ends_with(b"}\n") {
            self.pending.truncate(self.pending.len() - 2);
            let key = serde_json::to_string(key).expect("a key has only texts, so it can be written as JSON");
            let _ = writeln!(self.pending, ",\"key\":{key}}}");
        }
    }

    /// Writes the lines of the group; returns the length before, for [`ChangeLog::cut`].
    pub fn flush(&mut self) -> Result<u64, StoreError> {
        let before = self.length;
        if let Err(source) = self.file.write_all(&self.pending) {
            self.cut(before);
            self.forget();
            return Err(StoreError::Io { what: "write", path: self.path.clone(), source });
        }
        self.length += self.pending.len() as u64;
        self.last = (self.first_pending.unwrap_or(u64::MAX), before);
        self.forget();
        Ok(before)
    }

    pub fn forget(&mut self) {
        self.pending.clear();
        self.first_pending = None;
    }

    /// Takes back what was written behind `length`.
    pub fn cut(&mut self, length: u64) {
        // Cutting needs no space. A log that could not be cut holds a revision that was never answered, no harm.
        let _ = self.file.set_len(length);
        self.length = length;
    }

    /// Takes back the last group if it begins with this revision; otherwise the lines from it on.
    pub fn take_back(&mut self, from: u64) -> Result<(), StoreError> {
        if self.last.0 == from {
            self.cut(self.last.1);
            return Ok(());
        }
        let text = std::fs::read(&self.path).map_err(StoreError::io("read", &self.path))?;
        let mut length = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if Line::parse(line).is_none_or(|line| line.revision >= from) {
                break;
            }
            length += line.len() as u64;
        }
        self.cut(length);
        Ok(())
    }

    /// Begins the next log. When the snapshot of `revision` is there, logs may go that begin before the revision which
    /// is returned: those of one snapshot more are kept, for a copy of the directory that is made meanwhile.
    pub fn rotate(&mut self, dir: &Path, revision: u64) -> Result<u64, StoreError> {
        let before = std::mem::replace(self, Self::begin(dir, revision)?);
        Ok(before.begun)
    }

    /// A handle for syncing it.
    pub fn handle(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

/// A line of a log.
#[derive(serde::Deserialize)]
pub(super) struct Line<'t> {
    pub revision: u64,
    /// An array of [`super::Change`]s.
    #[serde(borrow)]
    pub changes: &'t RawValue,
    /// The idempotency key of the change, if it had one.
    #[serde(default)]
    pub key: Option<ChangeKey>,
}

impl<'t> Line<'t> {
    /// `None` for a line that was cut off.
    pub fn parse(line: &'t [u8]) -> Option<Self> {
        line.ends_with(b"\n").then(|| serde_json::from_slice(line).ok()).flatten()
    }

    /// The changes, parsed.
    pub fn parsed(&self) -> Option<Vec<Change<'t>>> {
        serde_json::from_str(self.changes.get()).ok()
    }
}

/// The logs in a directory, the oldest first.
pub(super) fn all(dir: &Path) -> Vec<(u64, PathBuf)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix("changes-")?.strip_suffix(".log")?.parse().ok();
    let mut logs: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| number(&entry.path()).map(|first| (first, entry.path()))).collect();
    logs.sort();
    logs
}
