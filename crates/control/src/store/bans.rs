//! Operators' bans. They are rows and no documents, so they make no revisions; and of no other origin's there is a row.

use weir_bans::{Network, Remedy};

use super::{Store, StoreError, from_sql, to_sql};

/// A ban that an operator has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredBan {
    pub network: Network,
    pub remedy: Remedy,
    pub made_ms: u64,
    pub expires_s: u64,
    pub actor: String,
    pub reason: Option<String>,
}

impl Store {
    /// Stores a ban in place of an earlier one of its network.
    pub(crate) fn ban(&mut self, ban: &StoredBan) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO bans (network, remedy, made_ms, expires_s, actor, reason)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(rusqlite::params![
            ban.network.to_string(),
            ban.remedy.as_str(),
            to_sql(ban.made_ms),
            to_sql(ban.expires_s),
            ban.actor,
            ban.reason
        ])?;
        Ok(())
    }

    /// Forgets the ban of a network.
    pub(crate) fn unban(&mut self, network: Network) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM bans WHERE network = ?1", [network.to_string()])?;
        Ok(())
    }

    /// Forgets bans that have ended.
    pub(crate) fn forget_bans(&mut self, now_s: u64) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM bans WHERE expires_s <= ?1", [to_sql(now_s)])?;
        Ok(())
    }

    /// All bans.
    pub(crate) fn bans(&self) -> Result<Vec<StoredBan>, StoreError> {
        let sql = "SELECT network, remedy, made_ms, expires_s, actor, reason FROM bans";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (network, remedy): (String, String) = (row.get(0)?, row.get(1)?);
            let damaged = || StoreError::Damaged(format!("the ban of {network}"));
            all.push(StoredBan {
                network: network.parse().map_err(|_| damaged())?,
                remedy: remedy.parse().map_err(|()| damaged())?,
                made_ms: from_sql(row.get(2)?),
                expires_s: from_sql(row.get(3)?),
                actor: row.get(4)?,
                reason: row.get(5)?,
            });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bans_come_back_until_they_end() {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(dir.path(), 1).unwrap();
        let ban = |text: &str, expires_s| StoredBan {
            network: text.parse().unwrap(),
            remedy: Remedy::Captcha,
            made_ms: 5,
            expires_s,
            actor: "unix:root".to_owned(),
            reason: Some("why".to_owned()),
        };
        let all = [ban("192.0.2.0/24", 10), ban("2001:db8::1", 20)];
        store.ban(&ban("192.0.2.0/24", 5)).unwrap();
        all.iter().for_each(|ban| store.ban(ban).unwrap());
        drop(store);
        let (mut store, _) = Store::open(dir.path(), 1).unwrap();
        assert_eq!(store.bans().unwrap(), all);
        store.forget_bans(10).unwrap();
        assert_eq!(store.bans().unwrap(), all[1..]);
        store.unban(all[1].network).unwrap();
        assert_eq!(store.bans().unwrap(), []);
    }
}
