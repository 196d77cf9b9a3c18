//! Idempotency keys: what the change of a key did, so that repeating the request tells it and does nothing.
//!
//! A key is stored in the same transaction as its revision. A key without a revision therefore does not exist, whatever
//! process is killed. The answer is not stored: it follows from the revision, and workers are asked again. Keys of
//! refused changes are not kept, since repeating those is harmless.

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use weir_gateway::resource::Sha256Hash;

use super::{Store, StoreError, from_sql, to_sql};

/// The newest keys that are kept.
pub const KEPT_KEYS: u64 = 10_000;
/// How long a key is known, in ms: seven days.
pub const KEPT_KEYS_MS: u64 = 7 * 86_400_000;

/// A key and the request that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeKey {
    /// The client; each has keys of its own.
    pub actor: String,
    /// 1 to 255 visible ASCII characters.
    pub key: String,
    /// The hash of everything in the request that decides what it changes.
    pub fingerprint: Sha256Hash,
}

/// What is known about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// The request.
    pub fingerprint: Sha256Hash,
    /// The revision that the change made, or the newest one if it changed nothing.
    pub revision: u64,
    /// Whether the change made the revision.
    pub is_made: bool,
    /// The revision that undid it because a worker refused it, and the reasons in JSON.
    pub undone: Option<(u64, String)>,
}

impl Store {
    /// What the change of a key did, if it was made in the last [`KEPT_KEYS_MS`].
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn known(&self, key: &ChangeKey, now_ms: u64) -> Result<Option<KnownKey>, StoreError> {
        let sql = "SELECT fingerprint, revision, made, undone_by, reasons FROM keys
                   WHERE actor = ?1 AND key = ?2 AND time_ms > ?3";
        let after = to_sql(now_ms.saturating_sub(KEPT_KEYS_MS));
        let mut statement = self.connection.prepare_cached(sql)?;
        let row = statement.query_row(params![key.actor, key.key, after], |row| {
            let undone = row.get::<_, Option<i64>>(3)?.map(from_sql);
            let reasons = row.get::<_, Option<String>>(4)?.unwrap_or_default();
            Ok((row.get::<_, String>(0)?, from_sql(row.get(1)?), row.get(2)?, undone.map(|by| (by, reasons))))
        });
        let Some((fingerprint, revision, is_made, undone)) = row.optional()? else { return Ok(None) };
        let fingerprint = fingerprint.parse().map_err(StoreError::Damaged)?;
        Ok(Some(KnownKey { fingerprint, revision, is_made, undone }))
    }

    /// Remembers a key: within the open group, or by itself. `is_made`: whether the change made the revision.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn remember(&mut self, key: &ChangeKey, revision: u64, is_made: bool, now_ms: u64) -> Result<(), StoreError> {
        insert(&self.connection, key, revision, is_made, now_ms)?;
        if is_made {
            self.log.key(key);
        }
        Ok(())
    }

    /// Notes that a revision was undone because workers refused it; `reasons` is JSON.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn note_undone(&mut self, revision: u64, undone_by: u64, reasons: &str) -> Result<(), StoreError> {
        let sql = "UPDATE keys SET undone_by = ?2, reasons = ?3 WHERE revision = ?1 AND made";
        self.connection.prepare_cached(sql)?.execute(params![to_sql(revision), to_sql(undone_by), reasons])?;
        Ok(())
    }
}

pub(super) fn insert(
    connection: &rusqlite::Connection,
    key: &ChangeKey,
    revision: u64,
    is_made: bool,
    now_ms: u64,
) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO keys (actor, key, fingerprint, revision, made, time_ms)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let row = params![key.actor, key.key, key.fingerprint.to_string(), to_sql(revision), is_made, to_sql(now_ms)];
    connection.prepare_cached(sql)?.execute(row)?;
    let sql = "DELETE FROM keys WHERE id <= ?1";
    connection.prepare_cached(sql)?.execute([connection.last_insert_rowid() - to_sql(KEPT_KEYS)])?;
    Ok(())
}
