//! What each revision has cost: totals of the ledger, kept after the ledger has begun anew.

use serde::{Deserialize, Serialize};

use super::{Store, StoreError, from_sql, to_sql};

/// The newest records that are kept: with the hour that a record lasts at most, nearly three months of one revision.
pub const KEPT_COSTS: u64 = 2_000;

/// The cost of a revision over some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostRecord {
    /// The revision that was in force all the time.
    pub revision: u64,
    /// Begin, in ms since 1970; with the revision it identifies the record.
    pub from_ms: u64,
    /// End.
    pub to_ms: u64,
    /// Client requests.
    pub requests: u64,
    /// CPU time of the workers, nginx's and Weir's.
    pub cpu_ns: u64,
    /// The part of it that is Weir's, as far as it is metered.
    pub weir_ns: f64,
    /// The cost of each rule and plugin, the most expensive first; the last entry sums up the rest and has no name.
    pub entries: Vec<CostEntry>,
}

/// The cost of a rule or a plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostEntry {
    /// `rule` or `plugin`; `others` of what is summed up.
    pub kind: String,
    /// The policy of the rule or plugin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// The id of the rule or plugin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Calls.
    pub calls: u64,
    /// Calls with an effect.
    pub hits: u64,
    /// CPU time with its share of lanes.
    pub ns: f64,
}

impl Store {
    /// Stores a record, or what has become of it.
    ///
    /// # Errors
    /// If SQLite fails.
    pub fn record_cost(&mut self, record: &CostRecord) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO costs (revision, from_ms, to_ms, requests, cpu_ns, weir_ns, entries)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let entries = serde_json::to_string(&record.entries).unwrap_or_default();
        self.connection.prepare_cached(sql)?.execute(rusqlite::params![
            to_sql(record.revision),
            to_sql(record.from_ms),
            to_sql(record.to_ms),
            to_sql(record.requests),
            to_sql(record.cpu_ns),
            record.weir_ns,
            entries
        ])?;
        let sql = "DELETE FROM costs WHERE from_ms <
                   (SELECT from_ms FROM costs ORDER BY from_ms DESC LIMIT 1 OFFSET ?1)";
        self.connection.prepare_cached(sql)?.execute([to_sql(KEPT_COSTS)])?;
        Ok(())
    }

    /// Records from a revision and a time on, the oldest first, and the newest one before them to compare with. Of these
    /// at most `limit` that begin after `after_ms`.
    ///
    /// # Errors
    /// If SQLite cannot read them, or one is damaged.
    pub fn costs(
        &self,
        revision: u64,
        from_ms: u64,
        after_ms: Option<u64>,
        limit: u64,
    ) -> Result<Vec<CostRecord>, StoreError> {
        let sql = "SELECT revision, from_ms, to_ms, requests, cpu_ns, weir_ns, entries FROM costs
                   WHERE from_ms >= coalesce((SELECT max(from_ms) FROM costs WHERE revision < ?1 OR to_ms < ?2), 0)
                     AND (?3 IS NULL OR from_ms > ?3)
                   ORDER BY from_ms LIMIT ?4";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(rusqlite::params![
            to_sql(revision),
            to_sql(from_ms),
            after_ms.map(to_sql),
            to_sql(limit)
        ])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            let number = |column| Ok::<u64, rusqlite::Error>(from_sql(row.get(column)?));
            let entries: String = row.get(6)?;
            records.push(CostRecord {
                revision: number(0)?,
                from_ms: number(1)?,
                to_ms: number(2)?,
                requests: number(3)?,
                cpu_ns: number(4)?,
                weir_ns: row.get(5)?,
                entries: serde_json::from_str(&entries)
                    .map_err(|error| StoreError::Damaged(format!("a record of costs: {error}")))?,
            });
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(revision: u64, from_ms: u64) -> CostRecord {
        let entry = CostEntry { kind: "rule".into(), id: "a".into(), calls: 2, ns: 1.5, ..CostEntry::default() };
        CostRecord { revision, from_ms, to_ms: from_ms + 5, requests: 3, cpu_ns: 9, weir_ns: 1.5, entries: vec![entry] }
    }

    #[test]
    fn records_come_back_with_the_one_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(dir.path(), 1).unwrap();
        let all: Vec<CostRecord> = [(1, 10), (2, 20), (2, 30), (5, 40)].map(|(r, ms)| record(r, ms)).into();
        all.iter().for_each(|record| store.record_cost(record).unwrap());
        assert_eq!(store.costs(0, 0, None, 5_000).unwrap(), all);
        assert_eq!(store.costs(2, 0, None, 5_000).unwrap(), all);
        assert_eq!(store.costs(3, 0, None, 5_000).unwrap(), all[2..]);
        assert_eq!(store.costs(0, 36, None, 5_000).unwrap(), all[2..]);
        assert_eq!(store.costs(2, 0, None, 2).unwrap(), all[..2]);
        assert_eq!(store.costs(2, 0, Some(20), 2).unwrap(), all[2..]);
        assert_eq!(store.costs(2, 0, Some(40), 2).unwrap(), []);
        let grown = CostRecord { requests: 70, ..record(5, 40) };
        store.record_cost(&grown).unwrap();
        assert_eq!(store.costs(9, 0, None, 5_000).unwrap(), [grown]);
    }

    #[test]
    fn old_records_go() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(dir.path(), 1).unwrap();
        (0..KEPT_COSTS + 10).for_each(|n| store.record_cost(&record(1, n)).unwrap());
        let kept = store.costs(0, 0, None, 5_000).unwrap();
        assert_eq!((kept.len() as u64, kept[0].from_ms), (KEPT_COSTS + 1, 9));
    }
}
