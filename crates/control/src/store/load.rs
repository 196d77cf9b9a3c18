//! Reading the state: the newest snapshot, and what has changed since.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Deserialize;
use serde_json::value::RawValue;
use weir_resource::ResourceKind;

use super::{Change, Revision, StoreError, from_sql, to_sql};
use crate::state::Key;

/// A stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// The document in JSON.
    pub text: Box<str>,
    /// The revision that it last changed in.
    pub revision: u64,
}

/// The state as read from the store.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The revision of the state.
    pub revision: u64,
    /// All documents.
    pub documents: BTreeMap<Key, StoredDocument>,
    /// The revision of the newest snapshot.
    pub snapshot: u64,
    /// If the store was lost: what was wrong, where it is now, and what was used instead.
    pub recovered: Option<String>,
}

/// A snapshot, as JSON.
#[derive(Deserialize)]
struct Whole<'t> {
    revision: u64,
    #[serde(borrow)]
    documents: Vec<SnapshotText<'t>>,
}

#[derive(Deserialize)]
struct SnapshotText<'t> {
    kind: ResourceKind,
    #[serde(borrow)]
    id: std::borrow::Cow<'t, str>,
    revision: u64,
    #[serde(borrow)]
    document: &'t RawValue,
}

impl Loaded {
    /// The documents, as [`crate::state::State::restore`] takes them.
    pub fn documents(&self) -> impl Iterator<Item = (&Key, (&str, u64))> {
        self.documents.iter().map(|(key, stored)| (key, (&*stored.text, stored.revision)))
    }

    /// Parses the text of a snapshot.
    pub(super) fn parse(text: &[u8]) -> Result<Self, StoreError> {
        let whole: Whole<'_> =
            serde_json::from_slice(text).map_err(|error| StoreError::Damaged(format!("snapshot: {error}")))?;
        let entry = |listed: SnapshotText<'_>| {
            let entry = StoredDocument { text: listed.document.get().into(), revision: listed.revision };
            (Key::new(listed.kind, &listed.id), entry)
        };
        let documents = whole.documents.into_iter().map(entry).collect();
        Ok(Self { revision: whole.revision, snapshot: whole.revision, documents, recovered: None })
    }

    /// Reads the state from SQLite.
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut loaded = match newest(connection)? {
            Some(text) => Self::parse(&text)?,
            None => Self::default(),
        };
        let sql = "SELECT revision, changes FROM revisions WHERE revision > ?1 ORDER BY revision";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([to_sql(loaded.revision)])?;
        while let Some(row) = rows.next()? {
            let revision = Revision {
                revision: from_sql(row.get(0)?),
                time_ms: 0,
                actor: "".into(),
                message: None,
                changes: row.get::<_, String>(1)?.into(),
            };
            if revision.revision != loaded.revision + 1 {
                let (last, next) = (loaded.revision, revision.revision);
                return Err(StoreError::Damaged(format!("revision {next} follows {last}")));
            }
            loaded.apply(revision.revision, &revision.parsed()?);
        }
        Ok(loaded)
    }

    /// Applies one more revision.
    pub(super) fn apply(&mut self, revision: u64, changes: &[Change<'_>]) {
        self.revision = revision;
        for change in changes {
            let key = change.key();
            if let Some(upstream) = key.upstream()
                && let Some(entry) = self.documents.get_mut(&Key::new(ResourceKind::Upstreams, upstream))
            {
                entry.revision = revision;
            }
            match change.new {
                Some(text) => self.documents.insert(key, StoredDocument { text: text.get().into(), revision }),
                None => self.documents.remove(&key),
            };
        }
    }
}

/// The newest snapshot whose parts are all there.
fn newest(connection: &Connection) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT revision FROM snapshots GROUP BY revision HAVING count(*) = max(parts)
               ORDER BY revision DESC LIMIT 1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let revision: i64 = row.get(0)?;
    let mut text = Vec::new();
    let mut parts = connection.prepare("SELECT body FROM snapshots WHERE revision = ?1 ORDER BY part")?;
    let mut parts = parts.query([revision])?;
    while let Some(part) = parts.next()? {
        text.extend_from_slice(
            part.get_ref(0)?.as_blob().map_err(|_| StoreError::Damaged("a snapshot is no blob".into()))?,
        );
    }
    Ok(Some(text))
}
