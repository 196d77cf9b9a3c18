//! What is metered, by name: the file beside the numbers.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LedgerError;

/// What kind of thing an entry meters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A part of Weir that is no rule: building the transaction, geo look-up, a log, ...
    Plugin,
    /// The exact evaluation of one rule and its actions.
    Rule,
    /// One transformation and filter pass that several rules share.
    Lane,
}

/// One thing that is metered. Its number is its place in the list given to `Ledger::create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Of which kind.
    pub kind: EntryKind,
    /// The policy of a rule, else empty.
    pub policy: String,
    /// The rule's id, the plugin's or the lane's name.
    pub id: String,
    /// The name of a rule's first action; for a plugin its own name.
    pub plugin: String,
    /// Of a lane: the rules that share it, counted among the entries of kind `Rule`.
    pub rules: Vec<u32>,
}

/// Names and facts of one generation that never change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Names {
    pub revision: String,
    pub sample_every: u32,
    pub entries: Vec<Entry>,
}

impl Names {
    /// Writes the file whole before it gets its name.
    pub fn write(&self, path: &Path) -> Result<(), LedgerError> {
        let io = |doing| move |source| LedgerError::Io { path: path.to_owned(), doing, source };
        let unnamed = path.with_extension(format!("new.{}", std::process::id()));
        let _ = fs::remove_file(&unnamed);
        let text = serde_json::to_vec(self).expect("names are plain data");
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unnamed)
            .and_then(|mut file| file.write_all(&text));
        let named = written.and_then(|()| fs::rename(&unnamed, path)).map_err(io("write it"));
        let _ = fs::remove_file(&unnamed);
        named
    }

    pub fn read(path: &Path) -> Result<Self, LedgerError> {
        let text = fs::read(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => LedgerError::Missing { path: path.to_owned() },
            _ => LedgerError::Io { path: path.to_owned(), doing: "read it", source },
        })?;
        serde_json::from_slice(&text)
            .map_err(|error| LedgerError::Damaged { path: path.to_owned(), detail: error.to_string() })
    }
}
