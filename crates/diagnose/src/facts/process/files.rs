//! Descriptors of processes: sockets, logs, temporary files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use super::LogFile;

/// Descriptors that are looked at, over all processes: one takes two system calls.
const MAX_DESCRIPTORS: usize = 200_000;
/// Files that are kept of each sort.
const MAX_LOGS: usize = 256;
const MAX_TEMPORARY: usize = 64;

/// What processes have open.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Inodes of sockets, with who has them.
    pub sockets: HashMap<u64, Vec<u32>>,
    logs: BTreeMap<String, LogFile>,
    temporary: Vec<String>,
    seen: usize,
}

impl Open {
    /// Adds a process; returns the number of its descriptors.
    pub fn add(&mut self, pid: u32) -> io::Result<u64> {
        let mut descriptors = 0;
        for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
            descriptors += 1;
            self.seen += 1;
            if self.seen > MAX_DESCRIPTORS {
                continue;
            }
            let descriptor = entry?.path();
            let Ok(target) = fs::read_link(&descriptor) else { continue };
            self.sort(pid, &target.to_string_lossy(), &descriptor);
        }
        Ok(descriptors)
    }

    fn sort(&mut self, pid: u32, target: &str, descriptor: &Path) {
        if let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok()) {
            self.sockets.entry(inode).or_default().push(pid);
            return;
        }
        if !target.starts_with('/') || is_memory(target) {
            return;
        }
        let Some(bytes) = fs::metadata(descriptor).ok().filter(fs::Metadata::is_file).map(|data| data.len()) else {
            return;
        };
        if target.ends_with(" (deleted)") {
            if self.temporary.len() < MAX_TEMPORARY {
                self.temporary.push(target.trim_end_matches(" (deleted)").to_owned());
            }
        } else if appends(pid, descriptor) && (self.logs.contains_key(target) || self.logs.len() < MAX_LOGS) {
            let file = self.logs.entry(target.to_owned()).or_default();
            *file = LogFile { path: target.to_owned(), descriptors: file.descriptors + 1, bytes };
        }
    }

    pub fn logs(&self) -> Vec<LogFile> {
        self.logs.values().cloned().collect()
    }

    pub fn temporary(&self) -> Vec<String> {
        self.temporary.clone()
    }
}

/// Shared memory shows up as an unlinked file.
fn is_memory(path: &str) -> bool {
    ["/memfd:", "/dev/", "/SYSV", "/[aio]"].iter().any(|prefix| path.starts_with(prefix))
}

fn appends(pid: u32, descriptor: &Path) -> bool {
    let Some(number) = descriptor.file_name().and_then(|name| name.to_str()) else { return false };
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| i32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0);
    flags & libc::O_APPEND != 0
}
