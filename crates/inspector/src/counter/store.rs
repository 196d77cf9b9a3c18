//! Where a detector's counters are: in Redis, or in memory.

use std::sync::Arc;
use std::time::Duration;

use super::count::Count;
use super::keys::Counters;
use super::local::Local;
use super::redis::{Redis, RedisState};
use crate::config::StoreConfig;
use crate::error::InspectorError;

/// The counters of a detector.
pub(crate) struct Store {
    /// Always counted, so that it knows the clients of this service when the server goes away.
    local: Local,
    redis: Option<Redis>,
}

impl Store {
    /// Empty counters; a connection to the server is made beside, and made again as long as the store is there.
    ///
    /// # Errors
    /// If the address of the server makes no sense.
    pub fn new(detector: &str, counters: &Counters, config: &StoreConfig) -> Result<Self, InspectorError> {
        let local = Local::new(&counters.windows(), config.keys);
        let redis = config.redis.as_ref().map(|redis| Redis::new(detector, counters, redis)).transpose()?;
        Ok(Self { local, redis })
    }

    /// Counts, in one round trip, and returns how much there is with that, in the same order.
    pub async fn count(&self, counts: &[Count], now_ms: u64, deadline: Duration) -> Vec<u64> {
        let local: Vec<u64> = counts.iter().map(|count| self.local.count(*count, now_ms)).collect();
        match &self.redis {
            Some(redis) if !counts.is_empty() => redis.count(counts, now_ms, deadline).await.unwrap_or(local),
            Some(_) | None => local,
        }
    }

    /// The state of the server, for the metrics.
    pub fn redis(&self) -> Option<&Arc<RedisState>> {
        self.redis.as_ref().map(Redis::state)
    }
}
