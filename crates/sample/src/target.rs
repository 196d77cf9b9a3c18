//! Whom to sample: from what a person names to processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::ebpf::Scope;
use crate::error::SampleError;

mod cgroup;
mod listing;
mod program;

use listing::Listing;

/// What a person names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process and its descendants: an nginx master brings its workers.
    Pid(u32),
    /// Processes by the kernel's name of them (`comm`) or by their program's file name, and their descendants.
    Name(String),
    /// Processes of a control group and of those below it. An absolute path, or one below /sys/fs/cgroup.
    Cgroup(PathBuf),
    /// Processes of a container, by its id or the beginning of it.
    Container(String),
    /// All processes.
    All,
}

/// Processes that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Their ids, ascending. Empty for [`Target::All`].
    pub pids: Vec<u32>,
    /// What they are, for people: `nginx (pid 4711 and 2 below it)`.
    pub title: String,
    /// Whom the programs in the kernel pick.
    pub(crate) scope: Scope,
}

impl Found {
    /// These and others, as several arguments of a command name them.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        let title = format!("{}, {}", self.title, others.title);
        if self.scope == Scope::All || others.scope == Scope::All {
            return Self { pids: Vec::new(), title, scope: Scope::All };
        }
        let pids = self.pids.into_iter().chain(others.pids).collect();
        Self { title, ..found(pids, String::new()) }
    }
}

/// Finds processes.
///
/// # Errors
/// If there are none, or they cannot be sampled.
pub fn find(target: &Target) -> Result<Found, SampleError> {
    match target {
        Target::Pid(pid) => by_pid(*pid),
        Target::Name(name) => by_name(name),
        Target::Cgroup(path) => by_cgroup(&cgroup::directory(path)?),
        Target::Container(id) => by_cgroup(&cgroup::of_container(id, &Listing::read()?)?),
        Target::All => Ok(Found { pids: Vec::new(), title: "all processes".into(), scope: Scope::All }),
    }
}

fn by_pid(pid: u32) -> Result<Found, SampleError> {
    let listing = Listing::read()?;
    // A thread's id has a directory in /proc too, but is not listed there.
    let process = listing.get(pid).ok_or(SampleError::NoSuchProcess { pid })?;
    program::check(pid)?;
    let pids = listing.with_descendants([pid]);
    let title = title(&process.name, &[pid], pids.len());
    Ok(found(pids, title))
}

/// Processes by the kernel's name of them or by their program's file name, without those that another one of them has
/// started: of an nginx its master.
///
/// # Errors
/// If there are none.
pub fn roots(name: &str) -> Result<Vec<u32>, SampleError> {
    let listing = Listing::read()?;
    Ok(listing.roots(&named(&listing, name)?))
}

/// A process and all that descend from it, ascending.
///
/// # Errors
/// If /proc cannot be read.
pub fn family(pid: u32) -> Result<Vec<u32>, SampleError> {
    Ok(Listing::read()?.with_descendants([pid]).into_iter().collect())
}

fn named(listing: &Listing, name: &str) -> Result<Vec<u32>, SampleError> {
    let own = std::process::id();
    let named: Vec<u32> = listing.pids().filter(|&pid| pid != own && listing.is_called(pid, name)).collect();
    if named.is_empty() { Err(SampleError::NoSuchName { name: name.to_owned() }) } else { Ok(named) }
}

fn by_name(name: &str) -> Result<Found, SampleError> {
    let listing = Listing::read()?;
    let own = std::process::id();
    let named = named(&listing, name)?;
    named.iter().try_for_each(|&pid| program::check(pid))?;
    let roots = listing.roots(&named);
    let mut pids = listing.with_descendants(named.iter().copied());
    pids.remove(&own);
    let title = title(name, &roots, pids.len());
    Ok(found(pids, title))
}

fn by_cgroup(directories: &[PathBuf]) -> Result<Found, SampleError> {
    let mut pids = BTreeSet::new();
    for directory in directories {
        pids.extend(cgroup::processes(directory)?);
    }
    let shown = directories.first().map_or(Path::new(""), PathBuf::as_path).display();
    if pids.is_empty() {
        return Err(SampleError::Empty { what: format!("control group {shown}") });
    }
    let title = format!("{shown} ({} processes)", pids.len());
    let mut found = found(pids, title);
    // Only version 2 can be asked about in the kernel; elsewhere forks are followed from what is there now.
    if let Some(directory) = directories.iter().find(|directory| cgroup::is_unified(directory)) {
        found.scope = Scope::Cgroup(directory.clone());
    }
    Ok(found)
}

fn found(pids: BTreeSet<u32>, title: String) -> Found {
    let pids: Vec<u32> = pids.into_iter().collect();
    Found { scope: Scope::Processes(pids.clone()), pids, title }
}

/// `nginx (pid 4711 and 2 below it)`, `php-fpm (pids 3, 9)`.
fn title(name: &str, roots: &[u32], all: usize) -> String {
    /// Process ids that a title shows at most.
    const SHOWN: usize = 4;
    let list: Vec<String> = roots.iter().take(SHOWN).map(u32::to_string).collect();
    let more = if roots.len() > SHOWN { ", ..." } else { "" };
    let word = if roots.len() == 1 { "pid" } else { "pids" };
    let below = match all.saturating_sub(roots.len()) {
        0 => String::new(),
        n => format!(" and {n} below {}", if roots.len() == 1 { "it" } else { "them" }),
    };
    format!("{name} ({word} {}{more}{below})", list.join(", "))
}

#[cfg(test)]
mod tests;
