//! The checker's loop: starts checks and lookups that are due, within limits, and turns results into findings.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_gateway::op::Op;

use super::check::MemberAddress;
use super::judge::Judge;
use super::mailbox::Mailbox;
use super::outbox::{Finding, Outbox};
use super::schedule::Schedule;
use super::targets::{Command, Key, Work};
use super::{MAX_CHECKS, MAX_LOOKUPS};
use crate::log::warning;
use crate::metrics::{Health, Metrics};
use crate::resolve::{Address, lookup};

/// The first check of a member comes within this time, or its interval if that is shorter.
const FIRST_WITHIN: Duration = Duration::from_millis(200);

/// A name that has never been resolved is tried again after this time, or the usual one if that is shorter. After the
/// first success the last known addresses stay in use.
const RETRY_LOOKUP: Duration = Duration::from_secs(5);

/// Runs until the mailbox is closed or nobody reads the findings any more.
pub(super) async fn supervise(mailbox: &Mailbox, output: mpsc::Sender<Op>, metrics: Arc<Metrics>) {
    let mut rounds = Rounds::new(metrics);
    loop {
        rounds.start_due();
        let next = rounds.next();
        tokio::select! {
            commands = mailbox.take() => match commands {
                Some(commands) => rounds.command(commands),
                None => return,
            },
            Some(checked) = rounds.checking.join_next(), if !rounds.checking.is_empty() => {
                if let Ok((ticket, good)) = checked {
                    rounds.checked(&ticket, good);
                }
            }
            Some(found) = rounds.resolving.join_next(), if !rounds.resolving.is_empty() => {
                if let Ok((ticket, found)) = found {
                    rounds.resolved(&ticket, found);
                }
            }
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            permit = output.reserve(), if !rounds.outbox.is_empty() => match (permit, rounds.outbox.pop()) {
                (Ok(permit), Some(op)) => permit.send(op),
                (Ok(_), None) => {}
                (Err(_), _) => return,
            },
        }
    }
}

/// A member as it was when a task began. A task with an older serial number is out of date.
#[derive(Clone, Debug)]
struct Ticket {
    key: Key,
    serial: u64,
}

#[derive(Debug)]
struct Watched {
    serial: u64,
    work: Arc<Work>,
    judge: Judge,
    /// The addresses of the last lookup.
    addresses: Option<Vec<SocketAddr>>,
    /// Whether the failed lookup has been logged.
    complained: bool,
    /// Held by the running check and lookup.
    checking: Arc<()>,
    resolving: Arc<()>,
}

/// The state of the loop.
struct Rounds {
    watched: HashMap<Key, Watched>,
    checks: Schedule<Ticket>,
    lookups: Schedule<Ticket>,
    checking: JoinSet<(Ticket, bool)>,
    resolving: JoinSet<(Ticket, Result<Vec<SocketAddr>, String>)>,
    outbox: Outbox,
    serial: u64,
    metrics: Arc<Metrics>,
}

impl Rounds {
    fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            watched: HashMap::new(),
            checks: Schedule::new(),
            lookups: Schedule::new(),
            checking: JoinSet::new(),
            resolving: JoinSet::new(),
            outbox: Outbox::default(),
            serial: 0,
            metrics,
        }
    }

    fn command(&mut self, commands: HashMap<Key, Command>) {
        for (key, command) in commands {
            match command {
                Command::Watch(work) => self.watch(key, work),
                Command::Rest => self.drop_member(&key, true),
                Command::Forget => self.drop_member(&key, false),
            }
        }
        let serials = |ticket: &Ticket| self.watched.get(&ticket.key).is_some_and(|one| one.serial == ticket.serial);
        self.checks.compact(self.watched.len(), serials);
        self.lookups.compact(self.watched.len(), serials);
    }

    fn watch(&mut self, key: Key, work: Work) {
        self.serial += 1;
        let ticket = Ticket { key: key.clone(), serial: self.serial };
        self.drop_member(&key, work.check.is_none());
        if work.resolve.is_some() {
            self.lookups.within(Duration::ZERO, ticket.clone());
        }
        if let Some(check) = &work.check {
            self.metrics.health(&key.upstream, None, Some(Health::Unknown));
            let interval = Duration::from_millis(check.active.interval_ms);
            self.checks.within(interval.min(FIRST_WITHIN), ticket);
        }
        let watched = Watched {
            serial: self.serial,
            work: Arc::new(work),
            judge: Judge::default(),
            addresses: None,
            complained: false,
            checking: Arc::new(()),
            resolving: Arc::new(()),
        };
        self.watched.insert(key, watched);
    }

    /// Stops watching a member. One that stays but is no longer checked counts as healthy.
    fn drop_member(&mut self, key: &Key, lives_on: bool) {
        self.outbox.forget(key);
        let Some(old) = self.watched.remove(key) else { return };
        if old.work.check.is_some() {
            self.metrics.health(&key.upstream, Some(state(old.judge)), None);
            if lives_on && old.judge.verdict() == Some(false) {
                self.outbox.put(key, Finding::Health, health(key, true));
            }
        }
    }

    /// Starts tasks that are due, within the limits.
    fn start_due(&mut self) {
        while self.resolving.len() < MAX_LOOKUPS {
            let Some(ticket) = self.lookups.pop() else { break };
            self.start_lookup(ticket);
        }
        while self.checking.len() < MAX_CHECKS {
            let Some(ticket) = self.checks.pop() else { break };
            self.start_check(ticket);
        }
    }

    fn start_lookup(&mut self, ticket: Ticket) {
        let Some(watched) = self.watched.get(&ticket.key).filter(|watched| watched.serial == ticket.serial) else {
            return;
        };
        let (Some(every), Address::Name { host, port }) = (watched.work.resolve, &watched.work.address) else { return };
        // The next one is planned now, so that nothing that becomes of this one can end the row.
        let unknown = watched.addresses.is_none();
        self.lookups.after(if unknown { every.min(RETRY_LOOKUP) } else { every }, ticket.clone());
        if Arc::strong_count(&watched.resolving) > 1 {
            return;
        }
        let (host, port, busy) = (host.clone(), *port, Arc::clone(&watched.resolving));
        self.metrics.dns_lookups.add(1);
        self.resolving.spawn_blocking(move || {
            let found = lookup(&host, port);
            drop(busy);
            (ticket, found)
        });
    }

    fn start_check(&mut self, ticket: Ticket) {
        let Some(watched) = self.watched.get(&ticket.key).filter(|watched| watched.serial == ticket.serial) else {
            return;
        };
        let Some(check) = watched.work.check.clone() else { return };
        let interval = Duration::from_millis(check.active.interval_ms.max(1));
        self.checks.after(interval, ticket.clone());
        let (place, authority) = match (&watched.work.address, &watched.addresses) {
            (Address::Socket(address), _) => (MemberAddress::Sockets(vec![*address]), address.ip().to_string()),
            (Address::Unix(path), _) => (MemberAddress::Unix(path.clone()), "localhost".to_owned()),
            (Address::Name { host, .. }, Some(addresses)) => (MemberAddress::Sockets(addresses.clone()), host.clone()),
            // Workers do not know either where it is, and do not use it.
            (Address::Name { .. }, None) | (Address::Unknown, _) => return,
        };
        if Arc::strong_count(&watched.checking) > 1 {
            return;
        }
        let busy = Arc::clone(&watched.checking);
        self.metrics.health_checks.add(1);
        self.checking.spawn(async move {
            let good = check.make(&place, &authority).await.is_ok();
            drop(busy);
            (ticket, good)
        });
    }

    /// The time of the next task that fits within the limits.
    fn next(&self) -> Option<Instant> {
        let lookups = self.lookups.next().filter(|_| self.resolving.len() < MAX_LOOKUPS);
        let checks = self.checks.next().filter(|_| self.checking.len() < MAX_CHECKS);
        lookups.into_iter().chain(checks).min()
    }

    fn checked(&mut self, ticket: &Ticket, good: bool) {
        let Some(watched) = self.watched.get_mut(&ticket.key).filter(|watched| watched.serial == ticket.serial) else {
            return;
        };
        let Some(check) = &watched.work.check else { return };
        let before = state(watched.judge);
        if let Some(healthy) = watched.judge.observe(good, &check.active) {
            self.metrics.health(&ticket.key.upstream, Some(before), Some(state(watched.judge)));
            self.metrics.health_transitions.add(1);
            self.outbox.put(&ticket.key, Finding::Health, health(&ticket.key, healthy));
        }
    }

    fn resolved(&mut self, ticket: &Ticket, found: Result<Vec<SocketAddr>, String>) {
        let Some(watched) = self.watched.get_mut(&ticket.key).filter(|watched| watched.serial == ticket.serial) else {
            return;
        };
        let Key { upstream, member } = &ticket.key;
        match found {
            Ok(addresses) => {
                watched.complained = false;
                if watched.addresses.as_ref() != Some(&addresses) {
                    watched.addresses = Some(addresses.clone());
                    let (upstream, member) = (upstream.to_string(), member.to_string());
                    self.outbox.put(&ticket.key, Finding::Addresses, Op::Addresses { upstream, member, addresses });
                }
            }
            Err(error) => {
                self.metrics.dns_failures.add(1);
                if !std::mem::replace(&mut watched.complained, true) {
                    let address = &watched.work.address;
                    warning!("upstream {upstream}, member {member}: cannot resolve {address}: {error}");
                }
            }
        }
    }
}

fn health(key: &Key, healthy: bool) -> Op {
    Op::Health { upstream: key.upstream.to_string(), member: key.member.to_string(), healthy }
}

fn state(judge: Judge) -> Health {
    match judge.verdict() {
        Some(true) => Health::Healthy,
        Some(false) => Health::Unhealthy,
        None => Health::Unknown,
    }
}
