//! All bans in memory, and the table as their consequence: for each network the table has the first ban that holds,
//! operators' before CrowdSec's, and then in the order of the remedies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weir_bans::{BansError, Entry, MAX_ENTRIES, Network, Origin, Remedy, Writer};

use crate::log;
use crate::shared::now_ms;

/// Bans that operators can have at a time; so much of the table is theirs, however many decisions there are.
pub(crate) const MAX_OPERATOR: usize = 16_384;
/// Decisions of CrowdSec that are taken over.
pub(crate) const MAX_DECISIONS: usize = MAX_ENTRIES - MAX_OPERATOR;

/// What is kept of an operator's ban beside what the table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub actor: String,
    pub reason: Option<String>,
    pub made_ms: u64,
}

type Key = (Network, Origin, Remedy);

/// An operator's ban of a network.
pub(crate) type OperatorBan = (Remedy, u64, Note);

#[derive(Debug)]
struct Held {
    expires_s: u64,
    note: Option<Box<Note>>,
}

/// All bans.
pub(crate) struct Book {
    bans: BTreeMap<Key, Held>,
    /// By origin.
    counts: [usize; Origin::ALL.len()],
    runtime: PathBuf,
    table: Option<Writer>,
    /// Whether it was said that there is no table.
    said: bool,
}

impl Book {
    /// Nobody is banned but by the decisions that the table has.
    pub fn new(runtime: &Path) -> Self {
        let mut book = Self {
            bans: BTreeMap::new(),
            counts: [0; Origin::ALL.len()],
            runtime: runtime.to_path_buf(),
            table: None,
            said: false,
        };
        let table = Writer::open(runtime);
        for entry in table.iter().flat_map(Writer::entries).filter(|entry| entry.origin == Origin::CrowdSec) {
            book.insert((entry.network, entry.origin, entry.remedy), entry.expires_s, None);
        }
        book
    }

    /// Adds a ban, without the table.
    pub fn insert(&mut self, key: Key, expires_s: u64, note: Option<Note>) {
        let held = Held { expires_s, note: note.map(Box::new) };
        if self.bans.insert(key, held).is_none() {
            self.counts[key.1 as usize] += 1;
        }
    }

    fn take(&mut self, key: Key) -> Option<Held> {
        let held = self.bans.remove(&key)?;
        self.counts[key.1 as usize] -= 1;
        Some(held)
    }

    /// The number of bans of an origin.
    pub fn count(&self, origin: Origin) -> usize {
        self.counts[origin as usize]
    }

    /// Whether an origin has banned a network.
    pub fn has(&self, network: Network, origin: Origin) -> bool {
        Remedy::ALL.iter().any(|remedy| self.bans.contains_key(&(network, origin, *remedy)))
    }

    /// All bans of networks behind this one, in their order.
    pub fn after(&self, network: Option<Network>) -> impl Iterator<Item = (Entry, Option<&Note>)> {
        use std::ops::Bound::{Excluded, Unbounded};
        // The last key that the network can have.
        let from = network.map_or(Unbounded, |network| Excluded((network, Origin::CrowdSec, Remedy::Other)));
        self.bans.range((from, Unbounded)).map(|(key, held)| (entry(*key, held), held.note.as_deref()))
    }

    /// What the table is to have for a network.
    fn effective(&self, network: Network, now_s: u64) -> Option<Entry> {
        let all = (network, Origin::Operator, Remedy::Ban)..=(network, Origin::CrowdSec, Remedy::Other);
        let mut holding = self.bans.range(all).filter(|(_, held)| held.expires_s > now_s);
        holding.next().map(|(key, held)| entry(*key, held))
    }

    /// Writes what holds for a network to the table, if there is one.
    fn publish(&mut self, network: Network) -> Result<(), BansError> {
        let entry = self.effective(network, now_ms() / 1_000);
        let Some(table) = &mut self.table else { return Ok(()) };
        match entry {
            Some(entry) => table.put(&entry),
            None => {
                table.remove(network);
                Ok(())
            }
        }
    }

    /// The table of the runtime directory. One that has another version of Weir is replaced: workers of this version need
    /// it, and those of the other keep theirs.
    fn table(&mut self) -> Result<&mut Writer, BansError> {
        if self.table.as_ref().is_none_or(|table| !table.is_in_place()) {
            let mut table = match Writer::open(&self.runtime) {
                Err(BansError::Foreign { path }) if std::fs::remove_file(&path).is_ok() => Writer::open(&self.runtime)?,
                opened => opened?,
            };
            table.replace(self.all_effective())?;
            self.table = Some(table);
        }
        Ok(self.table.as_mut().expect("it was opened above"))
    }

    fn all_effective(&self) -> Vec<Entry> {
        let now_s = now_ms() / 1_000;
        // In the order of the keys; of each network the table takes the first.
        let holding = self.bans.iter().filter(|(_, held)| held.expires_s > now_s);
        holding.map(|(key, held)| entry(*key, held)).collect()
    }

    /// Sets or removes the operator's ban of a network; returns the one that was there.
    pub fn set_operator(
        &mut self,
        network: Network,
        ban: Option<OperatorBan>,
    ) -> Result<Option<OperatorBan>, BansError> {
        self.table()?;
        let mut before = None;
        for remedy in Remedy::ALL {
            if let Some(Held { expires_s, note: Some(note) }) = self.take((network, Origin::Operator, *remedy)) {
                before = Some((*remedy, expires_s, *note));
            }
        }
        let added = ban.map(|(remedy, expires_s, note)| {
            self.insert((network, Origin::Operator, remedy), expires_s, Some(note));
            remedy
        });
        self.publish(network).inspect_err(|_| {
            added.and_then(|remedy| self.take((network, Origin::Operator, remedy)));
            if let Some((remedy, expires_s, note)) = before.clone() {
                self.insert((network, Origin::Operator, remedy), expires_s, Some(note));
            }
        })?;
        Ok(before)
    }

    /// Replaces all decisions, in one step for the workers.
    pub fn replace_decisions(&mut self, decisions: Vec<(Network, Remedy, u64)>) -> Result<usize, BansError> {
        self.bans.retain(|key, _| key.1 != Origin::CrowdSec);
        self.counts[Origin::CrowdSec as usize] = 0;
        let left_out = self.take_in(&decisions);
        let all = self.all_effective();
        self.table()?.replace(all)?;
        Ok(left_out)
    }

    /// Removes and adds decisions.
    pub fn change_decisions(
        &mut self,
        deleted: &[(Network, Remedy)],
        new: &[(Network, Remedy, u64)],
    ) -> Result<usize, BansError> {
        self.table()?;
        for (network, remedy) in deleted {
            self.take((*network, Origin::CrowdSec, *remedy));
        }
        let left_out = self.take_in(new);
        let changed = deleted.iter().map(|one| one.0).chain(new.iter().map(|one| one.0));
        changed.into_iter().try_for_each(|network| self.publish(network))?;
        Ok(left_out)
    }

    /// Adds decisions, without the table, as long as there is room; of two about the same the longer one.
    fn take_in(&mut self, decisions: &[(Network, Remedy, u64)]) -> usize {
        let mut left_out = 0;
        for (network, remedy, expires_s) in decisions {
            let key = (*network, Origin::CrowdSec, *remedy);
            let known = self.bans.get(&key).map(|held| held.expires_s);
            if known.is_none() && self.count(Origin::CrowdSec) >= MAX_DECISIONS {
                left_out += 1;
            } else if known.is_none_or(|known| known < *expires_s) {
                self.insert(key, *expires_s, None);
            }
        }
        left_out
    }

    /// Removes what has ended; whether there was an operator's ban among it.
    pub fn sweep(&mut self, now_s: u64) -> bool {
        let ended: Vec<Key> =
            self.bans.iter().filter(|(_, held)| held.expires_s <= now_s).map(|(key, _)| *key).collect();
        ended.iter().for_each(|key| _ = self.take(*key));
        for key in &ended {
            // A table that cannot be written is told of by `look_after_table`; what has ended holds for nobody anyway.
            let _ = self.publish(key.0);
        }
        ended.iter().any(|key| key.1 == Origin::Operator)
    }

    /// Opens the table if it is missing, or if someone has replaced the directory.
    pub fn look_after_table(&mut self) {
        match self.table().map(|_| ()) {
            Ok(()) => self.said = false,
            Err(error) => {
                if !std::mem::replace(&mut self.said, true) {
                    log::failure!("workers do not see changes of bans: {error}");
                }
            }
        }
    }
}

fn entry((network, origin, remedy): Key, held: &Held) -> Entry {
    Entry { network, remedy, origin, expires_s: held.expires_s }
}

#[cfg(test)]
mod tests;
