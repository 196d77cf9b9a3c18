//! Open descriptors of processes: sockets and temporary files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// Maximum number of descriptors read, over all processes: each takes two system calls.
const MAX_DESCRIPTORS: usize = 200_000;
/// Maximum number of temporary files.
const MAX_TEMPORARY: usize = 64;

/// The open files of processes.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    /// Inodes of sockets, with their owners.
    pub sockets: HashMap<u64, Vec<u32>>,
    temporary: Vec<String>,
    seen: usize,
}

impl OpenFiles {
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
        let is_file = || fs::metadata(descriptor).is_ok_and(|data| data.is_file());
        if target.ends_with(" (deleted)") && self.temporary.len() < MAX_TEMPORARY && is_file() {
            self.temporary.push(target.trim_end_matches(" (deleted)").to_owned());
        }
    }

    pub fn temporary(&self) -> Vec<String> {
        self.temporary.clone()
    }
}

/// Shared memory appears as an unlinked file.
fn is_memory(path: &str) -> bool {
    ["/memfd:", "/dev/", "/SYSV", "/[aio]"].iter().any(|prefix| path.starts_with(prefix))
}
