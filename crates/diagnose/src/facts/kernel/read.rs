//! Reads settings and counters, in the network namespace of the process.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd;

use super::{Conntrack, Counter, KernelFacts, SETTINGS};
use crate::facts::process::is_other_namespace;

/// Maximum number of counters; the kernel of 2025 has about 150.
const MAX_COUNTERS: usize = 1000;

/// Counters at the start of the window.
#[derive(Debug)]
pub struct KernelSnapshot {
    pid: u32,
    counters: BTreeMap<String, u64>,
}

impl KernelSnapshot {
    /// Reads the counters of a process's network namespace.
    #[must_use]
    pub fn take(pid: u32) -> Self {
        Self { pid, counters: counters(pid) }
    }

    /// Reads the settings, and the counters again.
    #[must_use]
    pub fn finish(self, remarks: &mut Vec<String>) -> KernelFacts {
        let both = counters(self.pid).into_iter().map(|(name, after)| {
            let before = self.counters.get(&name).copied().unwrap_or(after);
            (name, Counter { before, after })
        });
        let (settings, conntrack) = in_network_of(self.pid, remarks, || (settings(), conntrack()));
        KernelFacts {
            release: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpus: text("/sys/devices/system/cpu/online").map_or(0, |list| count_cpus(&list)),
            cpus_allowed: cpus_allowed(self.pid),
            cpu_model: cpu_model(),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            settings,
            conntrack,
            counters: both.collect(),
            transparent_hugepages: text("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
        }
    }
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn settings() -> BTreeMap<String, String> {
    let read = |&name: &&str| {
        let value = text(&format!("/proc/sys/{}", name.replace('.', "/")))?;
        Some((name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    SETTINGS.iter().filter_map(read).collect()
}

fn conntrack() -> Option<Conntrack> {
    let number = |name: &str| text(&format!("/proc/sys/net/netfilter/nf_conntrack_{name}"))?.parse().ok();
    Some(Conntrack { count: number("count")?, max: number("max")? })
}

/// Runs `read` on a thread that has entered the network namespace of another process:
/// `/proc/sys/net` shows the namespace of its reader.
fn in_network_of<T: Send>(pid: u32, remarks: &mut Vec<String>, read: impl Fn() -> T + Send + Sync) -> T {
    if !is_other_namespace(pid, "net") {
        return read();
    }
    let entered = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let namespace = fs::File::open(format!("/proc/{pid}/ns/net"))?;
            // SAFETY: the descriptor is open; only this thread, which ends here, changes its namespace.
            if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(read())
        });
        inside.join().unwrap_or_else(|_| Err(std::io::Error::other("reading failed")))
    });
    entered.unwrap_or_else(|error| {
        remarks.push(format!(
            "the process has its own network namespace, whose settings cannot be read ({error}); shown are Weir's own"
        ));
        read()
    })
}

/// Parses `TcpExt.ListenDrops` and similar counters. Each table is a line of names followed by a line of values.
fn counters(pid: u32) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    for file in ["netstat", "snmp"] {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/{file}")) else { continue };
        parse(&text, &mut counters);
    }
    counters
}

fn parse(text: &str, counters: &mut BTreeMap<String, u64>) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((table, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':')) else {
            continue;
        };
        if !matches!(table, "Tcp" | "TcpExt") {
            continue;
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let (Ok(value), true) = (value.parse(), counters.len() < MAX_COUNTERS) {
                counters.insert(format!("{table}.{name}"), value);
            }
        }
    }
}

fn cpus_allowed(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(count_cpus)
}

/// The number of CPUs in a list such as `0-3,8`.
fn count_cpus(list: &str) -> u32 {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(last.saturating_sub(first).saturating_add(1))
    };
    list.split(',').filter_map(range).fold(0, u32::saturating_add)
}

fn cpu_model() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = information.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned()).unwrap_or_default()
}

/// The selected word: `madvise` in `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        let cases = [("0", 1), ("0-3", 4), ("0-1,4,6-7\n", 5), ("", 0), ("x", 0), ("3-1", 1)];
        for (list, want) in cases {
            assert_eq!(count_cpus(list), want, "{list}");
        }
    }

    #[test]
    fn a_name_stands_above_its_value() {
        let mut counters = BTreeMap::new();
        parse("TcpExt: A B\nTcpExt: 1 2\nIpExt: C\nIpExt: 3\nTcp: D\n", &mut counters);
        assert_eq!(counters.into_iter().collect::<Vec<_>>(), [("TcpExt.A".into(), 1), ("TcpExt.B".into(), 2)]);
    }

    #[test]
    fn the_choice_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }

    #[test]
    fn this_machine_has_settings_and_counters() {
        let mut remarks = Vec::new();
        let facts = KernelSnapshot::take(std::process::id()).finish(&mut remarks);
        assert!(facts.cpus > 0 && facts.setting("net.core.somaxconn").is_some(), "{facts:?}");
        assert!(facts.port_range().is_some() && facts.grown("TcpExt.ListenOverflows").is_some(), "{facts:?}");
        assert!(remarks.is_empty(), "{remarks:?}");
    }
}
