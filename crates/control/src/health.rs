//! Finding out what the data plane cannot: whether members are well, and what their names resolve to.
//!
//! ```text
//! changes ─▶ Targets ─▶ Mailbox ─▶ Supervisor's thread ─ probes ─▶ Judge ─▶ Outbox ─▶ Op::Health, Op::Addresses
//!            what has to be done    timers, limits          one transition, one message
//! ```
//! One checker for all workers, instead of each for itself: members are asked once, and workers never disagree. It has
//! a thread of its own, so that ten thousand probes are in no change's way. Most changes (weights, drains, routes) touch
//! nothing of this, and do not even wake it.

mod check;
mod http;
mod judge;
mod mailbox;
mod outbox;
mod schedule;
mod supervise;
mod targets;
mod tls;

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;
use weir_gateway::op::Op;

use crate::metrics::Metrics;
use mailbox::Mailbox;
use targets::Targets;

/// Health checks under way at a time; further ones wait.
pub const MAX_CHECKS: usize = 64;

/// Names being resolved at a time; further ones wait.
pub const MAX_LOOKUPS: usize = 8;

/// The checker. Dropping it ends its thread.
#[derive(Debug)]
pub struct Supervisor {
    targets: Targets,
    mailbox: Arc<Mailbox>,
}

/// Starts the checker in a thread of its own. Its findings go to `output` as [`Op::Health`] and [`Op::Addresses`]; while
/// that is full, newer findings replace older ones of the same member.
///
/// # Errors
/// If the thread or its timers cannot be made.
pub fn start(output: mpsc::Sender<Op>, metrics: Arc<Metrics>) -> io::Result<Supervisor> {
    let mailbox = Arc::new(Mailbox::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_LOOKUPS)
        .thread_name("weir-resolve")
        .build()?;
    let theirs = Arc::clone(&mailbox);
    std::thread::Builder::new().name("weir-health".to_owned()).spawn(move || {
        runtime.block_on(supervise::supervise(&theirs, output, metrics));
        // A resolver may hang for long; nobody waits for it.
        runtime.shutdown_background();
    })?;
    Ok(Supervisor { targets: Targets::default(), mailbox })
}

impl Supervisor {
    /// Takes note of a change that was published; at the start, of everything that there is. O(1), but for an upstream
    /// whose checks change: O(its members). Never waits.
    pub fn tell(&mut self, op: &Op) {
        let commands = self.targets.apply(op);
        if !commands.is_empty() {
            self.mailbox.put(commands);
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}

#[cfg(test)]
mod tests;
