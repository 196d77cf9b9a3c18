//! Forgetting what is old, a little at a time.

use super::{KEPT_AUDIT, KEPT_REVISIONS, Store, StoreError, to_sql};

/// Rows that go at a time: about a millisecond.
const ROWS: i64 = 500;

impl Store {
    /// Deletes some of the revisions that are past [`KEPT_REVISIONS`] and in a snapshot, and their keys; true if there
    /// are more.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn prune(&mut self, head: u64, snapshot: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?1";
        self.connection.execute(sql, [to_sql(KEPT_AUDIT)])?;
        let below = head.saturating_sub(KEPT_REVISIONS).min(snapshot);
        let sql = "DELETE FROM revisions WHERE revision IN
                   (SELECT revision FROM revisions WHERE revision < ?1 ORDER BY revision LIMIT ?2)";
        self.connection.execute("DELETE FROM private_keys WHERE revision < ?1", [to_sql(below)])?;
        let gone = self.connection.execute(sql, [to_sql(below), ROWS])?;
        // What a key did is told from its revision.
        self.connection.execute("DELETE FROM keys WHERE revision < (SELECT min(revision) FROM revisions)", [])?;
        Ok(gone as i64 == ROWS)
    }
}
