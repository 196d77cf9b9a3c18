//! Processes by control group, and by container, which is a control group named after the container's id.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::SampleError;
use crate::target::listing::Listing;

const ROOT: &str = "/sys/fs/cgroup";
/// Maximum number of nested groups.
const MOST_GROUPS: usize = 65_536;
/// Minimum number of digits of a container id: fewer could be part of any name.
const LEAST_DIGITS: usize = 6;

/// The group's directories: one for a full path, or one for each hierarchy that has the path.
pub(super) fn directory(path: &Path) -> Result<Vec<PathBuf>, SampleError> {
    let candidates = if path.starts_with(ROOT) { vec![path.to_owned()] } else { below_roots(path) };
    let found: Vec<PathBuf> = candidates.into_iter().filter(|path| path.join("cgroup.procs").is_file()).collect();
    if found.is_empty() { Err(SampleError::NoSuchCgroup { path: path.to_owned() }) } else { Ok(found) }
}

/// A path as in /proc/PID/cgroup, below each hierarchy: one in version 2, many in version 1.
fn below_roots(path: &Path) -> Vec<PathBuf> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let mut roots = vec![PathBuf::from(ROOT)];
    let hierarchies = fs::read_dir(ROOT).into_iter().flatten().flatten();
    roots.extend(hierarchies.map(|entry| entry.path()).filter(|path| path.join("cgroup.procs").is_file()));
    roots.into_iter().map(|root| root.join(relative)).collect()
}

/// Whether the directory belongs to version 2.
pub(super) fn is_unified(directory: &Path) -> bool {
    directory.join("cgroup.controllers").is_file()
}

/// Processes of a group and its descendants.
pub(super) fn processes(directory: &Path) -> Result<BTreeSet<u32>, SampleError> {
    let mut pids = BTreeSet::new();
    let mut left = vec![directory.to_owned()];
    let mut seen = 0;
    while let Some(group) = left.pop() {
        seen += 1;
        let list = group.join("cgroup.procs");
        match fs::read_to_string(&list) {
            Ok(text) => pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|&pid| pid != 0)),
            // Groups below it come and go, and threaded ones have no such list.
            Err(error) if group == directory => return Err(SampleError::read(list, error)),
            Err(_) => {}
        }
        let below = fs::read_dir(&group).into_iter().flatten().flatten();
        left.extend(below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
        if seen >= MOST_GROUPS {
            break;
        }
    }
    Ok(pids)
}

/// The directories of a container's group.
pub(super) fn of_container(id: &str, listing: &Listing) -> Result<Vec<PathBuf>, SampleError> {
    let refuse = |reason: String| Err(SampleError::Container { reason });
    if id.len() < LEAST_DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return refuse(format!("`{id}` is not a container id: at least {LEAST_DIGITS} hexadecimal digits are needed"));
    }
    let mut groups = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for pid in listing.pids() {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        for (full, group) in text.lines().filter_map(|line| container_group(line, id)) {
            ids.insert(full);
            groups.insert(group);
        }
    }
    match ids.len() {
        0 => refuse(format!("there is no process in a container `{id}`")),
        1 => {
            let directories: Vec<_> =
                groups.iter().filter_map(|group| directory(Path::new(group)).ok()).flatten().collect();
            if directories.is_empty() {
                refuse(format!("the control group of container `{id}` is not below {ROOT}"))
            } else {
                Ok(directories)
            }
        }
        n => refuse(format!("{n} container ids begin with `{id}`: {}", ids.into_iter().collect::<Vec<_>>().join(", "))),
    }
}

/// Parses a line of /proc/PID/cgroup (`0::/system.slice/docker-0123abcd.scope/init`): the
/// container's full id, and the path down to its group.
pub(super) fn container_group(line: &str, id: &str) -> Option<(String, String)> {
    let path = line.splitn(3, ':').nth(2)?;
    let mut end = 0;
    for part in path.split_inclusive('/') {
        end += part.len();
        let part = part.trim_end_matches('/');
        let name = part.strip_suffix(".scope").unwrap_or(part);
        // `docker-ID.scope`, `cri-containerd-ID.scope`, or the id itself.
        let full = name.rsplit('-').next().unwrap_or(name);
        if full.len() >= 32 && full.bytes().all(|byte| byte.is_ascii_hexdigit()) && full.starts_with(id) {
            return Some((full.to_owned(), path[..end].trim_end_matches('/').to_owned()));
        }
    }
    None
}
