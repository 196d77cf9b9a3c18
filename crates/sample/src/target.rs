//! Sampling targets: finds processes by id, name, control group or container.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::ebpf::Scope;
use crate::error::SampleError;
use weir_profile::amount::counted;

mod cgroup;
mod listing;
mod program;

use listing::Listing;

/// A target as given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process and its descendants: an nginx master includes its workers.
    Pid(u32),
    /// Processes by the kernel's name (`comm`) or by their program's file name, and their descendants.
    Name(String),
    /// Processes of a control group and its descendants. An absolute path, or one below /sys/fs/cgroup.
    Cgroup(PathBuf),
    /// Processes of a container, by its id or a prefix of it.
    Container(String),
    /// All processes.
    All,
}

/// The processes found for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTarget {
    /// Process ids, ascending. Empty for [`Target::All`].
    pub pids: Vec<u32>,
    /// A readable description: `nginx (pid 4711 and 2 below it)`.
    pub title: String,
    /// The scope for the programs in the kernel.
    pub(crate) scope: Scope,
}

impl ResolvedTarget {
    /// The union of two targets, for commands with several arguments.
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
pub fn find(target: &Target) -> Result<ResolvedTarget, SampleError> {
    match target {
        Target::Pid(pid) => by_pid(*pid),
        Target::Name(name) => by_name(name),
        Target::Cgroup(path) => by_cgroup(&cgroup::directory(path)?),
        Target::Container(id) => by_cgroup(&cgroup::of_container(id, &Listing::read()?)?),
        Target::All => Ok(ResolvedTarget { pids: Vec::new(), title: "all processes".into(), scope: Scope::All }),
    }
}

fn by_pid(pid: u32) -> Result<ResolvedTarget, SampleError> {
    let listing = Listing::read()?;
    // A thread's id has a directory in /proc too, but is not listed there.
    let process = listing.get(pid).ok_or(SampleError::NoSuchProcess { pid })?;
    program::check(pid)?;
    let pids = listing.with_descendants([pid]);
    let title = title(&process.name, &[pid], pids.len());
    Ok(found(pids, title))
}

/// Processes by the kernel's name or by their program's file name, without those started by another
/// one of them: for nginx, its master.
///
/// # Errors
/// If there are none.
pub fn roots(name: &str) -> Result<Vec<u32>, SampleError> {
    let listing = Listing::read()?;
    Ok(listing.roots(&named(&listing, name)?))
}

/// A process and all its descendants, ascending.
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

fn by_name(name: &str) -> Result<ResolvedTarget, SampleError> {
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

fn by_cgroup(directories: &[PathBuf]) -> Result<ResolvedTarget, SampleError> {
    let mut pids = BTreeSet::new();
    for directory in directories {
        pids.extend(cgroup::processes(directory)?);
    }
    let shown = directories.first().map_or(Path::new(""), PathBuf::as_path).display();
    if pids.is_empty() {
        return Err(SampleError::Empty { what: format!("control group {shown}") });
    }
    let title = format!("{shown} ({})", counted(pids.len() as u64, "process"));
    let mut found = found(pids, title);
    // Only version 2 can be tested in the kernel; otherwise the processes found now and their forks are followed.
    if let Some(directory) = directories.iter().find(|directory| cgroup::is_unified(directory)) {
        found.scope = Scope::Cgroup(directory.clone());
    }
    Ok(found)
}

fn found(pids: BTreeSet<u32>, title: String) -> ResolvedTarget {
    let pids: Vec<u32> = pids.into_iter().collect();
    ResolvedTarget { scope: Scope::Processes(pids.clone()), pids, title }
}

/// `nginx (pid 4711 and 2 below it)`, `php-fpm (pids 3, 9)`.
fn title(name: &str, roots: &[u32], all: usize) -> String {
    /// Maximum number of process ids in a title.
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
