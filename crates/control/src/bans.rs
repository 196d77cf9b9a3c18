//! Bans: who has made them, until when, and the table in which workers see them.
//!
//! They are not documents: they come by the thousand and end by themselves, so none makes a revision. Those of operators
//! are in the store; CrowdSec's are asked for anew, and until it answers those in the table stay. Whatever changes them
//! runs beside the event loop: a hundred thousand decisions take it some milliseconds.

mod book;
pub(crate) mod crowdsec;
mod decisions;

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};
use weir_bans::{BansError, Entry, Network, Origin, Remedy};

pub(crate) use book::{Book, MAX_DECISIONS, MAX_OPERATOR, Note};

use crate::error::ControlError;
use crate::log;
use crate::shared::{Shared, ended, now_ms};
use crate::store::StoredBan;

/// The longest that a person bans: whoever is never to come back belongs into a list.
pub(crate) const LONGEST_S: u64 = 366 * 86_400;

/// How often bans that have ended are removed, and the settings looked at.
fn ticks() -> Interval {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Looks after bans until `stop`.
pub(crate) async fn watch(bans: Bans, mut stop: watch::Receiver<bool>) {
    let mut ticks = ticks();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ended(&mut stop) => return,
        }
        let bans = bans.clone();
        let _ = tokio::task::spawn_blocking(move || bans.tick()).await;
    }
}

/// Why a ban was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BanError {
    /// There are too many.
    #[error("there are {MAX_OPERATOR} bans already")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The table failed.
    #[error(transparent)]
    Table(#[from] weir_bans::BansError),
}

impl BanError {
    /// Whether there is no space left on some device.
    pub fn is_full(&self) -> bool {
        match self {
            Self::TooMany => false,
            Self::Store(error) => error.is_full(),
            Self::Table(BansError::Io { source, .. }) => source.kind() == std::io::ErrorKind::StorageFull,
            Self::Table(BansError::Foreign { .. } | BansError::Full) => false,
        }
    }
}

/// All bans.
#[derive(Clone)]
pub(crate) struct Bans {
    book: Arc<Mutex<Book>>,
    shared: Shared,
}

impl Bans {
    /// Reads the store, and what the table has of CrowdSec, and writes the table anew.
    pub fn open(shared: Shared, runtime: &Path) -> Result<Self, ControlError> {
        let stored = shared.store().bans()?;
        let mut book = Book::new(runtime);
        for ban in stored {
            let note = Note { actor: ban.actor, reason: ban.reason, made_ms: ban.made_ms };
            book.insert((ban.network, Origin::Operator, ban.remedy), ban.expires_s, Some(note));
        }
        let bans = Self { book: Arc::new(Mutex::new(book)), shared };
        // Control serves its other changes without the table too.
        bans.tick();
        Ok(bans)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bans for an operator, in place of an earlier ban of the same network.
    pub fn ban(&self, ban: StoredBan) -> Result<(), BanError> {
        let mut book = self.book();
        if !book.has(ban.network, Origin::Operator) && book.count(Origin::Operator) >= MAX_OPERATOR {
            return Err(BanError::TooMany);
        }
        // First the table, which may have no room; a ban that is not stored is taken back.
        let note = Note { actor: ban.actor.clone(), reason: ban.reason.clone(), made_ms: ban.made_ms };
        let before = book.set_operator(ban.network, Some((ban.remedy, ban.expires_s, note)))?;
        if let Err(error) = self.shared.store().ban(&ban) {
            let _ = book.set_operator(ban.network, before);
            return Err(error.into());
        }
        self.shared.flusher.dirty();
        let why = ban.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (seconds, remedy) = ((ban.expires_s * 1_000).saturating_sub(ban.made_ms) / 1_000, ban.remedy.as_str());
        log::info!("{}: {remedy} for {} for {seconds} s{why}", ban.actor, ban.network);
        Ok(())
    }

    /// Takes an operator's ban back, and returns it; `None` if there is none.
    pub fn unban(&self, network: Network, actor: &str) -> Result<Option<(Entry, Note)>, BanError> {
        let mut book = self.book();
        if !book.has(network, Origin::Operator) {
            return Ok(None);
        }
        self.shared.store().unban(network)?;
        self.shared.flusher.dirty();
        let before = book.set_operator(network, None)?;
        log::info!("{actor}: no ban for {network} any more");
        let entry = |(remedy, expires_s, note)| (Entry { network, remedy, origin: Origin::Operator, expires_s }, note);
        Ok(before.map(entry))
    }

    /// Whether CrowdSec has decided about a network.
    pub fn is_decided(&self, network: Network) -> bool {
        self.book().has(network, Origin::CrowdSec)
    }

    /// At most so many bans that hold, after a network, of an origin, or of networks with an address.
    pub fn list(
        &self,
        after: Option<Network>,
        origin: Option<Origin>,
        address: Option<IpAddr>,
        limit: usize,
    ) -> Vec<(Entry, Option<Note>)> {
        let now_s = now_ms() / 1_000;
        let book = self.book();
        let wanted = |entry: &Entry| {
            entry.expires_s > now_s
                && origin.is_none_or(|origin| entry.origin == origin)
                && address.is_none_or(|address| entry.network.contains(address))
        };
        let all = book.after(after).filter(|(entry, _)| wanted(entry));
        // All bans of the last network: the next page begins after it.
        let mut listed: Vec<(Entry, Option<Note>)> = Vec::new();
        for (entry, note) in all {
            if listed.len() >= limit && listed.last().is_some_and(|(last, _)| last.network != entry.network) {
                break;
            }
            listed.push((entry, note.cloned()));
        }
        listed
    }

    /// The number of bans of an origin, also of those that ended a moment ago.
    pub fn count(&self, origin: Origin) -> usize {
        self.book().count(origin)
    }

    /// Removes what has ended, and looks after the table.
    pub fn tick(&self) {
        let now_s = now_ms() / 1_000;
        let mut book = self.book();
        if book.sweep(now_s)
            && let Err(error) = self.shared.store().forget_bans(now_s)
        {
            log::warning!("bans that have ended stay in the store: {error}");
        }
        book.look_after_table();
    }

    /// Replaces all decisions of CrowdSec. Returns the number for which there was no room.
    pub fn replace_decisions(&self, decisions: Vec<(Network, Remedy, u64)>) -> Result<usize, BanError> {
        Ok(self.book().replace_decisions(decisions)?)
    }

    /// Changes decisions of CrowdSec. Returns the number for which there was no room.
    pub fn change_decisions(
        &self,
        deleted: &[(Network, Remedy)],
        new: &[(Network, Remedy, u64)],
    ) -> Result<usize, BanError> {
        Ok(self.book().change_decisions(deleted, new)?)
    }
}
