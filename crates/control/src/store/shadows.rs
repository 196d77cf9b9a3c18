//! Shadow configurations of applications with a probe. They are rows and no documents: nginx has no use for them, and
//! each application has revisions of its own.

use rusqlite::{OptionalExtension, Row, params};

use super::{Store, StoreError, from_sql, to_sql};

/// Revisions of an application that are kept.
const KEPT: u64 = 100;

/// A revision of an application's shadow configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredShadow {
    pub revision: u64,
    pub time_ms: u64,
    pub actor: String,
    /// JSON; empty in lists.
    pub body: String,
}

impl Store {
    /// Stores the next revision of an application's shadow configuration.
    pub(crate) fn add_shadow(&mut self, app: &str, shadow: &StoredShadow) -> Result<(), StoreError> {
        let sql = "INSERT INTO shadows (app, revision, time_ms, actor, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (revision, time_ms) = (to_sql(shadow.revision), to_sql(shadow.time_ms));
        self.connection.prepare_cached(sql)?.execute(params![app, revision, time_ms, shadow.actor, shadow.body])?;
        let oldest = to_sql(shadow.revision.saturating_sub(KEPT));
        self.connection.execute("DELETE FROM shadows WHERE app = ?1 AND revision <= ?2", params![app, oldest])?;
        Ok(())
    }

    /// A revision of an application's shadow configuration, or the newest.
    pub(crate) fn shadow(&self, app: &str, revision: Option<u64>) -> Result<Option<StoredShadow>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, body FROM shadows
                   WHERE app = ?1 AND (?2 IS NULL OR revision = ?2) ORDER BY revision DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![app, revision.map(to_sql)], read).optional()?)
    }

    /// The kept revisions of an application, newest first, without their bodies.
    pub(crate) fn shadows(&self, app: &str) -> Result<Vec<StoredShadow>, StoreError> {
        let sql = "SELECT revision, time_ms, actor, '' FROM shadows WHERE app = ?1 ORDER BY revision DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([app], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredShadow> {
    let (revision, time_ms) = (from_sql(row.get(0)?), from_sql(row.get(1)?));
    Ok(StoredShadow { revision, time_ms, actor: row.get(2)?, body: row.get(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_of_each_application_comes_back_and_old_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(dir.path(), 1).unwrap();
        let of =
            |revision| StoredShadow { revision, time_ms: 5, actor: "unix:root".into(), body: format!("{revision}") };
        (1..=KEPT + 2).for_each(|revision| store.add_shadow("shop", &of(revision)).unwrap());
        store.add_shadow("stock", &of(1)).unwrap();
        drop(store);
        let (store, _) = Store::open(dir.path(), 1).unwrap();
        assert_eq!(store.shadow("shop", None).unwrap(), Some(of(KEPT + 2)));
        assert_eq!(store.shadow("shop", Some(7)).unwrap(), Some(of(7)));
        assert_eq!(store.shadow("shop", Some(2)).unwrap(), None);
        assert_eq!(store.shadow("stock", None).unwrap(), Some(of(1)));
        assert_eq!(store.shadows("shop").unwrap().len() as u64, KEPT);
    }
}
