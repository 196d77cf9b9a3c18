//! A member and its state in this worker.
//!
//! The state lives in cells that all revisions of a member share: a change of its weight forgets neither its requests
//! in flight nor its latency, and a request that began under an older revision still counts down the same number.

use std::{
    cell::Cell,
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::resource::{self, PassiveHealth};

/// Time in which the moving average of latency falls to 1/e, in ms.
const DECAY_MS: f64 = 10_000.0;
/// The smallest share of its weight that a member in slow start has.
const LEAST_SHARE: f64 = 0.1;

/// A member of an upstream.
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) spec: resource::Member,
    pub(crate) addresses: Rc<[SocketAddr]>,
    pub(crate) healthy: bool,
    pub(crate) state: Rc<MemberState>,
}

impl Member {
    /// A member that has `before`'s state if it is the same server.
    pub(crate) fn new(spec: resource::Member, before: Option<&Self>) -> Self {
        match before.filter(|before| before.spec.address == spec.address) {
            Some(before) => {
                let (addresses, state) = (before.addresses.clone(), before.state.clone());
                if before.weight() == 0 {
                    state.since_ms.set(None);
                }
                Self { spec, addresses, healthy: before.healthy, state }
            }
            None => Self { spec, addresses: Rc::new([]), healthy: true, state: Rc::default() },
        }
    }

    /// The resource as configured.
    #[must_use]
    pub fn spec(&self) -> &resource::Member {
        &self.spec
    }

    /// Its address, or the addresses of its name. Empty for Unix sockets and for names that
    /// are not resolved yet.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        match &self.spec.socket {
            Some(address) => std::slice::from_ref(address),
            None => &self.addresses,
        }
    }

    /// One of the addresses, by a random number.
    #[must_use]
    pub fn address(&self, random: u64) -> Option<SocketAddr> {
        let all = self.addresses();
        (!all.is_empty()).then(|| all[(random % all.len() as u64) as usize])
    }

    /// The path of its Unix socket, if it is one.
    #[must_use]
    pub fn unix_path(&self) -> Option<&str> {
        self.spec.address.strip_prefix("unix:")
    }

    /// Its state in this worker.
    #[must_use]
    pub fn state(&self) -> &Rc<MemberState> {
        &self.state
    }

    /// A number that is unique to the server during the life of the worker, for [`crate::Choice::tried`].
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.state.identity
    }

    /// Its current share: 0 if it is drained, unhealthy, ejected or has no address.
    #[must_use]
    pub fn weight(&self) -> u32 {
        let reachable = self.spec.socket.is_some() || !self.addresses.is_empty() || self.unix_path().is_some();
        let available = self.healthy && !self.spec.drain && reachable && self.state.ejected_until.get().is_none();
        if available { self.spec.weight } else { 0 }
    }
}

/// The result of an exchange with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The member answered.
    Success,
    /// The exchange failed: no connection, a timeout, or an answer that is retried.
    Failure,
    /// Neither: the client left, or the member was not asked.
    Unknown,
}

/// The state of a member in one worker. All times are milliseconds of the caller's clock.
#[derive(Debug)]
pub struct MemberState {
    identity: u64,
    active: Cell<u32>,
    ewma_us: Cell<f64>,
    measured_ms: Cell<u64>,
    failures: Cell<u32>,
    window_ms: Cell<u64>,
    pub(crate) ejected_until: Cell<Option<u64>>,
    pub(crate) since_ms: Cell<Option<u64>>,
}

impl Default for MemberState {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            active: Cell::new(0),
            ewma_us: Cell::new(0.0),
            measured_ms: Cell::new(0),
            failures: Cell::new(0),
            window_ms: Cell::new(0),
            ejected_until: Cell::new(None),
            since_ms: Cell::new(None),
        }
    }
}

impl MemberState {
    /// Records the start of a request to the member.
    pub fn begin(&self) {
        self.active.set(self.active.get().saturating_add(1));
    }

    /// Records its end, once for each [`Self::begin`]. `latency_us` is the time to the head of the response.
    ///
    /// Returns until when the member should be ejected ([`crate::Gateway::eject`]), if this failure was one too many
    /// within the window.
    pub fn finish(
        &self,
        now_ms: u64,
        latency_us: u64,
        outcome: Outcome,
        passive: Option<&PassiveHealth>,
    ) -> Option<u64> {
        self.active.set(self.active.get().saturating_sub(1));
        match outcome {
            Outcome::Success => self.measure(now_ms, latency_us as f64),
            Outcome::Failure => return self.fail(now_ms, latency_us as f64, passive?),
            Outcome::Unknown => {}
        }
        None
    }

    /// Requests in flight from this worker.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.active.get()
    }

    /// Moving average of latency in µs that jumps to peaks and decays from them; 0 before the first answer.
    #[must_use]
    pub fn ewma_us(&self) -> f64 {
        self.ewma_us.get()
    }

    /// Failures in the current window.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures.get()
    }

    /// The end of its ejection, if it is ejected.
    #[must_use]
    pub fn ejected_until(&self) -> Option<u64> {
        self.ejected_until.get()
    }

    /// Its share of its weight during slow start, 0.1 to 1. The slow start begins with the first call.
    pub(crate) fn share(&self, now_ms: u64, slow_start_ms: u64) -> f64 {
        let since = self.since_ms.get().unwrap_or_else(|| {
            self.since_ms.set(Some(now_ms));
            now_ms
        });
        if slow_start_ms == 0 {
            return 1.0;
        }
        (now_ms.saturating_sub(since) as f64 / slow_start_ms as f64).clamp(LEAST_SHARE, 1.0)
    }

    /// Peak EWMA: a slower answer counts at once, a faster one by the time since the last.
    fn measure(&self, now_ms: u64, latency_us: f64) {
        let old = self.ewma_us.get();
        let elapsed = now_ms.saturating_sub(self.measured_ms.replace(now_ms)) as f64;
        let keep = if latency_us >= old { 0.0 } else { (-(elapsed + 1.0) / DECAY_MS).exp() };
        self.ewma_us.set(old * keep + latency_us * (1.0 - keep));
    }

    fn fail(&self, now_ms: u64, latency_us: f64, passive: &PassiveHealth) -> Option<u64> {
        if latency_us > self.ewma_us.get() {
            self.measure(now_ms, latency_us);
        }
        if self.failures.get() == 0 || now_ms.saturating_sub(self.window_ms.get()) > passive.window_ms {
            self.failures.set(0);
            self.window_ms.set(now_ms);
        }
        self.failures.set(self.failures.get().saturating_add(1));
        if self.failures.get() < passive.failures || self.ejected_until.get().is_some() {
            return None;
        }
        self.failures.set(0);
        Some(now_ms.saturating_add(passive.eject_ms))
    }
}

#[cfg(test)]
mod tests;
