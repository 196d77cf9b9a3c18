//! Revisions: what changed, when, by whom, and what it was before.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Row};
use serde::Deserialize;
use serde_json::value::RawValue;
use weir_resource::ResourceKind;

use super::{Store, StoreError, from_sql, to_sql};
use crate::state::{Applied, Key};

/// A revision as it is stored.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The number; the first is 1.
    pub revision: u64,
    /// The time in ms since 1970.
    pub time_ms: u64,
    /// The client that made the change.
    pub actor: Arc<str>,
    /// The message of the change.
    pub message: Option<String>,
    /// A JSON array of [`Change`]s.
    pub changes: Arc<str>,
}

/// The change of one resource.
#[derive(Debug, Deserialize)]
pub struct Change<'t> {
    /// The kind of the resource.
    pub kind: ResourceKind,
    /// The id of the resource.
    #[serde(borrow)]
    pub id: std::borrow::Cow<'t, str>,
    /// The document before.
    #[serde(borrow, default)]
    pub old: Option<&'t RawValue>,
    /// The document after.
    #[serde(borrow, default)]
    pub new: Option<&'t RawValue>,
}

impl Change<'_> {
    /// The resource.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.kind, &self.id)
    }
}

impl Revision {
    /// The changes, parsed.
    ///
    /// # Errors
    /// If the stored text is damaged.
    pub fn parsed(&self) -> Result<Vec<Change<'_>>, StoreError> {
        serde_json::from_str(&self.changes)
            .map_err(|error| StoreError::Damaged(format!("revision {}: {error}", self.revision)))
    }

    /// A change that was made, as text: an array of [`Change`]s.
    #[must_use]
    pub fn changes_of(applied: &Applied) -> Arc<str> {
        let mut out = String::with_capacity(64 + applied.deltas.len() * 256);
        for delta in &applied.deltas {
            out.push_str(if out.is_empty() { "[" } else { "," });
            out.push_str("{\"kind\":\"");
            out.push_str(delta.key.kind.plural());
            out.push_str("\",\"id\":\"");
            out.push_str(&delta.key.id);
            out.push('"');
            for (name, side) in [(",\"old\":", &delta.old), (",\"new\":", &delta.new)] {
                if let Some(held) = side {
                    out.push_str(name);
                    out.push_str(&held.document.text);
                }
            }
            out.push('}');
        }
        out.push_str(if out.is_empty() { "[]" } else { "]" });
        out.into()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            revision: from_sql(row.get(0)?),
            time_ms: from_sql(row.get(1)?),
            actor: row.get::<_, String>(2)?.into(),
            message: row.get(3)?,
            changes: row.get::<_, String>(4)?.into(),
        })
    }
}

impl Store {
    /// One revision, if it is kept.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn revision(&self, revision: u64) -> Result<Option<Revision>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, message, changes FROM revisions WHERE revision = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([to_sql(revision)], Revision::read).optional()?)
    }

    /// The newest before `before`, downwards.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn revisions_before(&self, before: u64, limit: u64) -> Result<Vec<Revision>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, message, changes FROM revisions WHERE revision < ?1
                   ORDER BY revision DESC LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([to_sql(before), to_sql(limit)], Revision::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The oldest after `after`, upwards.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn revisions_after(&self, after: u64, limit: u64) -> Result<Vec<Revision>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, message, changes FROM revisions WHERE revision > ?1
                   ORDER BY revision LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([to_sql(after), to_sql(limit)], Revision::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The oldest revision that is kept.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn oldest(&self) -> Result<Option<u64>, StoreError> {
        let oldest: Option<i64> =
            self.connection.prepare_cached("SELECT min(revision) FROM revisions")?.query_row([], |row| row.get(0))?;
        Ok(oldest.map(from_sql))
    }

    /// What each resource that changed after `revision` was then: what a roll-back puts back.
    ///
    /// # Errors
    /// If SQLite fails. `Ok(None)` if not all revisions since are kept.
    pub fn inverse(&self, revision: u64, head: u64) -> Result<Option<Inverse>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, message, changes FROM revisions WHERE revision > ?1
                   ORDER BY revision DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([to_sql(revision)])?;
        let mut inverse = Inverse::new();
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let row = Revision::read(row)?;
            seen += 1;
            for change in row.parsed()? {
                inverse.insert(change.key(), change.old.map(|old| old.get().into()));
            }
        }
        Ok((seen == head.saturating_sub(revision)).then_some(inverse))
    }
}

/// Resources and what they were.
pub type Inverse = std::collections::BTreeMap<Key, Option<Box<str>>>;
