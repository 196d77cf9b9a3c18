//! A snapshot of all processes with their parents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::error::SampleError;

/// Name and parent of a process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub parent: u32,
    /// `comm`: at most 15 bytes.
    pub name: String,
}

/// All processes by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing(BTreeMap<u32, Process>);

impl Listing {
    /// Reads /proc. Processes that end meanwhile are skipped.
    pub(super) fn read() -> Result<Self, SampleError> {
        let entries = fs::read_dir("/proc").map_err(|error| SampleError::read("/proc", error))?;
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Ok(Self(pids.filter_map(|pid| Some((pid, process(pid)?))).collect()))
    }

    #[cfg(test)]
    pub(super) fn of(processes: &[(u32, u32, &str)]) -> Self {
        let entry = |&(pid, parent, name): &(u32, u32, &str)| (pid, Process { parent, name: name.to_owned() });
        Self(processes.iter().map(entry).collect())
    }

    pub(super) fn get(&self, pid: u32) -> Option<&Process> {
        self.0.get(&pid)
    }

    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Whether the kernel's name or the program's file name matches.
    pub(super) fn is_called(&self, pid: u32, name: &str) -> bool {
        let Some(process) = self.get(pid) else { return false };
        if process.name == name {
            return true;
        }
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
        let file = program.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        file.is_some_and(|file| file.trim_end_matches(" (deleted)") == name)
    }

    /// These processes and all their descendants.
    pub(super) fn with_descendants(&self, pids: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        let mut all: BTreeSet<u32> = pids.into_iter().collect();
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (pid, process) in &self.0 {
            children.entry(process.parent).or_default().push(*pid);
        }
        let mut left: Vec<u32> = all.iter().copied().collect();
        while let Some(pid) = left.pop() {
            left.extend(children.get(&pid).into_iter().flatten().filter(|child| all.insert(**child)));
        }
        all
    }

    /// Those of `pids` whose parent is not one of them.
    pub(super) fn roots(&self, pids: &[u32]) -> Vec<u32> {
        let is_root = |pid: &&u32| self.get(**pid).is_none_or(|process| !pids.contains(&process.parent));
        pids.iter().filter(is_root).copied().collect()
    }
}

/// Reads `/proc/PID/stat`: `4711 (name) S 1 ...`, where the name may contain anything.
fn process(pid: u32) -> Option<Process> {
    parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

pub(super) fn parse(stat: &str) -> Option<Process> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Process { parent, name: name.to_owned() })
}
