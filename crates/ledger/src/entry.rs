//! The names of the metered entries: the file beside the counters.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LedgerError;

/// The kind of code that an entry meters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A part of Weir other than rules: building the transaction, geographic lookup, a log, and so on.
    Plugin,
    /// The exact evaluation of one rule and its actions.
    Rule,
    /// One pass of transformations and a filter that several rules share.
    Lane,
}

/// One metered part of Weir. Its number is its position in the list given to `Ledger::create`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// The policy of a rule; empty for other kinds.
    pub policy: String,
    /// The id of the rule, or the name of the plugin or lane.
    pub id: String,
    /// The name of a rule's first action, or the name of the plugin.
    pub plugin: String,
    /// The rules that share a lane, as positions among the entries of kind `Rule`.
    pub rules: Vec<u32>,
}

/// Names and settings of one generation, which never change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Names {
    pub revision: String,
    pub sample_every: u32,
    pub entries: Vec<Entry>,
}

impl Names {
    /// Writes the complete file before it gets its name.
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
