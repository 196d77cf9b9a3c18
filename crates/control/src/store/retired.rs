//! Contents of files that a revision replaced, so that it can be rolled back; and those that were looked at last.

use std::collections::{BTreeMap, HashSet};

use rusqlite::OptionalExtension as _;
use weir_gateway::resource::{CapturedFile, Sha256Hash};
use weir_resource::ResourceKind;

use super::{Store, StoreError, to_sql};
use crate::objects::{KEPT_FILE_BYTES, KEPT_FILE_REVISIONS};
use crate::state::{Applied, Delta};

impl Store {
    /// Notes which contents a revision of the open group replaces.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn retire(&mut self, revision: u64, applied: &Applied) -> Result<(), StoreError> {
        let old = applied.deltas.iter().filter(|delta| delta.key.kind == ResourceKind::Files);
        let old = old.filter_map(|delta| serde_json::from_str(&delta.old.as_ref()?.document.text).ok());
        for CapturedFile { path, sha256, size } in old {
            let sql = "INSERT OR REPLACE INTO retired (revision, path, sha256, size) VALUES (?1, ?2, ?3, ?4)";
            let row = rusqlite::params![to_sql(revision), path, sha256.to_string(), to_sql(size)];
            self.connection.prepare_cached(sql)?.execute(row)?;
        }
        for delta in applied.deltas.iter().filter(|delta| delta.key.kind == ResourceKind::Certificates) {
            self.retire_certificate(revision, delta)?;
        }
        Ok(())
    }

    /// Notes which files of a certificate are not needed any more, and keeps its key: who has an answer of the API, with
    /// the hash of the key, can go back to it.
    fn retire_certificate(&mut self, revision: u64, delta: &Delta) -> Result<(), StoreError> {
        let Some(old) = &delta.old else { return Ok(()) };
        let Some(parts) = &old.document.certificate else { return Ok(()) };
        for (_, file) in &parts.files {
            let sql = "INSERT OR REPLACE INTO retired (revision, path, sha256, size) VALUES (?1, ?2, ?3, ?4)";
            // A path may have several contents here: each certificate has its own.
            let path = format!("{}:{}", delta.key, file.path);
            let row = rusqlite::params![to_sql(revision), path, file.sha256.to_string(), to_sql(file.size)];
            self.connection.prepare_cached(sql)?.execute(row)?;
        }
        if let (Some(hash), Some(pem)) = (parts.key, old.document.value()["key"].as_str()) {
            let sql = "INSERT OR REPLACE INTO private_keys (sha256, revision, pem) VALUES (?1, ?2, ?3)";
            let row = rusqlite::params![hash.to_string(), to_sql(revision), pem];
            self.connection.prepare_cached(sql)?.execute(row)?;
        }
        Ok(())
    }

    /// The private key with this hash that a certificate had, as long as the revision is kept that replaced it.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn retired_key(&self, hash: Sha256Hash) -> Result<Option<String>, StoreError> {
        let sql = "SELECT pem FROM private_keys WHERE sha256 = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([hash.to_string()], |row| row.get(0)).optional()?)
    }

    /// The replaced contents that are still to be kept; forgets the others.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn retired(&mut self) -> Result<HashSet<Sha256Hash>, StoreError> {
        let sql = "DELETE FROM retired WHERE revision <
                   (SELECT DISTINCT revision FROM retired ORDER BY revision DESC LIMIT 1 OFFSET ?1)";
        self.connection.execute(sql, [KEPT_FILE_REVISIONS - 1])?;
        let (mut kept, mut bytes, mut full) = (HashSet::new(), 0, None);
        let sql = "SELECT revision, sha256, size FROM retired ORDER BY revision DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Ok(hash) = row.get::<_, String>(1)?.parse::<Sha256Hash>() else { continue };
            if kept.contains(&hash) {
                continue;
            }
            bytes += super::from_sql(row.get(2)?);
            if bytes > KEPT_FILE_BYTES {
                full = Some(row.get::<_, i64>(0)?);
                break;
            }
            kept.insert(hash);
        }
        drop(rows);
        drop(statement);
        if let Some(revision) = full {
            self.connection.execute("DELETE FROM retired WHERE revision <= ?1", [revision])?;
        }
        Ok(kept)
    }

    /// What was last found at each path that is refreshed, whether or not it was taken.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn looked_at(&self) -> Result<BTreeMap<String, Sha256Hash>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT path, sha256 FROM looked_at")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut all = BTreeMap::new();
        for row in rows {
            let (path, hash) = row?;
            all.extend(hash.parse().ok().map(|hash| (path, hash)));
        }
        Ok(all)
    }

    /// Notes what was found at a path; `None` forgets it.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn look_at(&mut self, path: &str, found: Option<Sha256Hash>) -> Result<(), StoreError> {
        match found {
            Some(hash) => {
                let sql = "INSERT OR REPLACE INTO looked_at (path, sha256) VALUES (?1, ?2)";
                self.connection.prepare_cached(sql)?.execute([path, &hash.to_string()])?;
            }
            None => _ = self.connection.execute("DELETE FROM looked_at WHERE path = ?1", [path])?,
        }
        Ok(())
    }
}
