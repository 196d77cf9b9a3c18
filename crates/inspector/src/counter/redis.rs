//! Counters that several services share, in Redis or Valkey.
//!
//! All counters of a question are one pipeline, and so one round trip. The number of the fixed window is part of a key's
//! name, so that a count needs no script and expires by itself: `INCR` makes it exact across services, whose clocks agree
//! by much less than a window. Distinct values are members of a sorted set by time.
//!
//! Without the server, each service counts for itself. A line is logged when that begins and when it ends.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Pipeline, RedisError, Value};
use tokio::sync::Notify;

use super::count::{Count, MAX_MEMBERS, Window};
use super::keys::Counters;
use super::local::weighted;
use crate::config::{Counter, RedisConfig};
use crate::error::InspectorError;
use crate::log;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
/// The first pause before another attempt to connect; each is twice as long as the one before, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// Answers in a row that were too late, after which the server counts as gone.
const LATE: u32 = 3;

/// What is known of the server.
#[derive(Default)]
pub(crate) struct RedisState {
    connection: RwLock<Option<MultiplexedConnection>>,
    lost: Notify,
    late: AtomicU32,
    is_reported: AtomicBool,
    /// Questions that were counted in memory alone.
    pub fallbacks: AtomicU64,
}

/// The client of one detector.
pub(super) struct Redis {
    state: Arc<RedisState>,
    windows: Vec<Window>,
    timeout: Duration,
    /// What the names of keys begin with, for each counter.
    names: Vec<String>,
    detector: String,
    connector: tokio::task::AbortHandle,
}

impl Redis {
    /// A client that connects in a task of its own.
    pub fn new(detector: &str, counters: &Counters, config: &RedisConfig) -> Result<Self, InspectorError> {
        let client = Client::open(config.url.as_str()).map_err(|error| InspectorError::Address {
            detector: detector.to_owned(),
            address: "redis".to_owned(),
            reason: error.to_string(),
        })?;
        let state = Arc::new(RedisState::default());
        let timeout = Duration::from_millis(config.timeout_ms);
        let connector = tokio::spawn(connect(client, Arc::clone(&state), detector.to_owned())).abort_handle();
        let name = |counter: &Counter| format!("{}:{detector}:{}:{}", config.prefix, counter.id, counter.window_ms);
        let names = counters.all().iter().map(name).collect();
        Ok(Self { state, windows: counters.windows(), timeout, names, detector: detector.to_owned(), connector })
    }

    /// What is known of the server.
    pub fn state(&self) -> &Arc<RedisState> {
        &self.state
    }

    /// Counts, if the server answers in time.
    pub async fn count(&self, counts: &[Count], now_ms: u64, deadline: Duration) -> Option<Vec<u64>> {
        let counted = self.ask(counts, now_ms, deadline).await;
        if counted.is_none() {
            self.state.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
        counted
    }

    async fn ask(&self, counts: &[Count], now_ms: u64, deadline: Duration) -> Option<Vec<u64>> {
        let mut connection = self.state.connection.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let mut pipeline = redis::pipe();
        counts.iter().for_each(|count| self.add(&mut pipeline, count, now_ms));
        let answer = pipeline.query_async::<Vec<Value>>(&mut connection);
        match tokio::time::timeout(self.timeout.min(deadline), answer).await {
            Ok(Ok(values)) => {
                self.state.late.store(0, Ordering::Relaxed);
                self.read(counts, &values, now_ms)
            }
            Ok(Err(error)) => {
                self.give_up(&error);
                None
            }
            Err(_) => {
                if self.state.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE {
                    self.give_up(&"it does not answer in time");
                }
                None
            }
        }
    }

    /// The commands of one counter; how many of them answer is known to [`Self::read`].
    fn add(&self, pipeline: &mut Pipeline, count: &Count, now_ms: u64) {
        let Window { length_ms, is_distinct } = self.windows[count.counter];
        let name = format!("{}:{:032x}", self.names[count.counter], count.key);
        if is_distinct {
            if let Some(member) = count.member {
                pipeline.zadd(&name, member, now_ms).ignore();
            }
            pipeline.zrembyscore(&name, 0, now_ms.saturating_sub(length_ms)).ignore();
            pipeline.zremrangebyrank(&name, 0, -1 - MAX_MEMBERS as isize).ignore();
            pipeline.pexpire(&name, length_ms as i64).ignore();
            pipeline.zcard(&name);
            return;
        }
        let window = now_ms / length_ms;
        let current = format!("{name}:{window}");
        pipeline.incr(&current, 1);
        pipeline.pexpire(&current, 2 * length_ms as i64).ignore();
        pipeline.get(format!("{name}:{}", window.wrapping_sub(1)));
    }

    fn read(&self, counts: &[Count], values: &[Value], now_ms: u64) -> Option<Vec<u64>> {
        let mut values = values.iter().map(|value| redis::from_redis_value_ref::<Option<u64>>(value));
        let mut next = || Some(values.next()?.ok()?.unwrap_or_default());
        let of = |count: &Count| {
            let Window { length_ms, is_distinct } = self.windows[count.counter];
            let current = next()?;
            if is_distinct { Some(current) } else { Some(weighted(current, next()?, now_ms, length_ms)) }
        };
        counts.iter().map(of).collect()
    }

    fn give_up(&self, why: &dyn std::fmt::Display) {
        let mut connection = self.state.connection.write().unwrap_or_else(PoisonError::into_inner);
        if connection.take().is_some() {
            log::warning!("detector `{}`: redis is gone ({why}); counting in memory", self.detector);
            self.state.is_reported.store(true, Ordering::Relaxed);
            self.state.lost.notify_one();
        }
    }
}

impl RedisState {
    /// Whether there is a connection.
    pub fn is_up(&self) -> bool {
        self.connection.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.connector.abort();
    }
}

/// Connects, and connects again whenever the connection is lost.
async fn connect(client: Client, state: Arc<RedisState>, detector: String) {
    let mut pause = FIRST_PAUSE;
    loop {
        match try_connect(&client).await {
            Ok(connection) => {
                pause = FIRST_PAUSE;
                state.late.store(0, Ordering::Relaxed);
                *state.connection.write().unwrap_or_else(PoisonError::into_inner) = Some(connection);
                log::info!("detector `{detector}`: counting in redis");
                state.is_reported.store(false, Ordering::Relaxed);
                state.lost.notified().await;
            }
            Err(error) => {
                if !state.is_reported.swap(true, Ordering::Relaxed) {
                    log::warning!("detector `{detector}`: redis cannot be reached ({error}); counting in memory");
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

async fn try_connect(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(Some(CONNECT));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    redis::cmd("PING").query_async::<()>(&mut connection).await?;
    Ok(connection)
}
