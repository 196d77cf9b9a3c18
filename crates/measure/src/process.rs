//! What /proc says about a process: time on the CPU, memory, descriptors, mappings.
//!
//! CPU time is read twice: `schedstat` counts the run time in nanoseconds, `utime + stime` the
//! same time in ticks of 10 ms. The first is what is reported; the second is kept beside it,
//! because it is the figure that everyone else's tools show and the two must agree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::MeasureError;

/// CPU time of one process, all of its threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// Time spent running, in nanoseconds (first field of `/proc/PID/task/*/schedstat`).
    pub run_ns: u64,
    /// Time spent ready to run while others ran, in nanoseconds (second field of the same):
    /// how crowded the core was.
    pub wait_ns: u64,
    /// User time in nanoseconds, as exact as the kernel's tick (`utime` of `/proc/PID/stat`).
    pub user_ns: u64,
    /// System time in nanoseconds, as exact as the kernel's tick (`stime`).
    pub system_ns: u64,
}

impl CpuTime {
    /// Reads the times of process `pid`.
    pub fn of(pid: u32) -> Result<Self, MeasureError> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let (user_ticks, system_ticks) = parse_stat(&read(&directory.join("stat"))?)
            .ok_or_else(|| MeasureError::program(format!("/proc/{pid}/stat"), "not in the kernel's documented form"))?;
        let (mut run_ns, mut wait_ns) = (0, 0);
        let tasks = directory.join("task");
        for task in fs::read_dir(&tasks).map_err(MeasureError::file(&tasks))? {
            let path = task.map_err(MeasureError::file(&tasks))?.path().join("schedstat");
            // A thread may end between the listing and the reading.
            if let Ok(text) = fs::read_to_string(&path) {
                let (run, wait) = parse_schedstat(&text).unwrap_or((0, 0));
                run_ns += run;
                wait_ns += wait;
            }
        }
        let tick = 1_000_000_000 / ticks_per_second();
        Ok(Self { run_ns, wait_ns, user_ns: user_ticks * tick, system_ns: system_ticks * tick })
    }

    /// The time spent since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }

    /// Sum of two processes' times.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            run_ns: self.run_ns + other.run_ns,
            wait_ns: self.wait_ns + other.wait_ns,
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
        }
    }
}

/// Whether a thread of a JVM, by its name in `/proc`, is one of the JIT compiler's. The kernel cuts names after 15 bytes.
#[must_use]
pub fn is_compiler(name: &str) -> bool {
    ["C1 Compiler", "C2 Compiler"].iter().any(|compiler| name.starts_with(compiler))
}

/// Time that the JIT compiler's threads of the JVM `pid` have spent running, in nanoseconds.
pub fn compilers_ns(pid: u32) -> Result<u64, MeasureError> {
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    let listed = fs::read_dir(&tasks).map_err(MeasureError::file(&tasks))?;
    // A thread that ends meanwhile counts as 0.
    let run = |task: PathBuf| {
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let (run, _) = parse_schedstat(&fs::read_to_string(task.join("schedstat")).ok()?)?;
        is_compiler(&name).then_some(run)
    };
    Ok(listed.filter_map(|task| run(task.ok()?.path())).sum())
}

/// Memory and handles of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Footprint {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// Resident memory with shared pages divided by their users, in KiB.
    pub pss_kib: u64,
    /// The part of it that is not of files: heap, stacks, shared memory. A file's pages are divided
    /// among all processes of the machine that map it, strangers too.
    pub pss_own_kib: u64,
    /// Open file descriptors that are not sockets.
    pub descriptors: u64,
    /// Open sockets.
    pub sockets: u64,
    /// Shared writable mappings: number.
    pub shared_mappings: u64,
    /// Shared writable mappings: size in KiB.
    pub shared_kib: u64,
}

impl Footprint {
    /// Reads the footprint of process `pid`.
    pub fn of(pid: u32) -> Result<Self, MeasureError> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let rollup = read(&directory.join("smaps_rollup"))?;
        let (shared_mappings, shared_bytes) = parse_shared_mappings(&read(&directory.join("maps"))?);
        let (descriptors, sockets) = count_descriptors(&directory.join("fd"))?;
        let own = ["Pss_Anon:", "Pss_Shmem:"].iter().filter_map(|key| parse_kib(&rollup, key)).sum();
        Ok(Self {
            pss_own_kib: own,
            sockets,
            rss_kib: parse_kib(&rollup, "Rss:").unwrap_or(0),
            pss_kib: parse_kib(&rollup, "Pss:").unwrap_or(0),
            descriptors,
            shared_mappings,
            shared_kib: shared_bytes / 1024,
        })
    }
}

/// Process ids of the children of `pid`, in the kernel's order.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .map(|text| text.split_whitespace().filter_map(|one| one.parse().ok()).collect())
        .unwrap_or_default()
}

/// The largest resident memory that `pid` has had, in KiB (`VmHWM`).
pub fn peak_rss_kib(pid: u32) -> Result<u64, MeasureError> {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let text = read(&path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| MeasureError::program(path.display().to_string(), "has no VmHWM"))
}

/// Command line of `pid` as one text, arguments separated by spaces; empty if it is gone.
#[must_use]
pub fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

/// Descriptors that are not sockets, and sockets.
fn count_descriptors(directory: &Path) -> Result<(u64, u64), MeasureError> {
    let entries = fs::read_dir(directory).map_err(MeasureError::file(directory))?;
    // One that was closed since the listing has no target and does not count.
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    Ok(targets.fold((0, 0), |(others, sockets), target| match target.to_string_lossy().starts_with("socket:") {
        true => (others, sockets + 1),
        false => (others + 1, sockets),
    }))
}

fn read(path: &Path) -> Result<String, MeasureError> {
    fs::read_to_string(path).map_err(MeasureError::file(path))
}

fn ticks_per_second() -> u64 {
    // SAFETY: sysconf reads a constant of the system and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// `utime` and `stime` in ticks. The second field is the program's name in parentheses, which
/// may hold spaces and parentheses itself: fields are counted from the last one (proc(5)).
fn parse_stat(text: &str) -> Option<(u64, u64)> {
    let after_name = &text[text.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Nanoseconds running and nanoseconds waiting for a core (Documentation/scheduler/sched-stats).
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn parse_kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line[key.len()..].split_whitespace().next()?.parse().ok()
}

/// Number and bytes of the mappings that are shared and writable (`rw-s`).
fn parse_shared_mappings(text: &str) -> (u64, u64) {
    text.lines().fold((0, 0), |(number, bytes), line| {
        let mut fields = line.split_whitespace();
        let range = fields.next().unwrap_or_default();
        let shared = fields.next().is_some_and(|flags| flags.starts_with("rw") && flags.ends_with('s'));
        let size = range.split_once('-').and_then(|(from, to)| {
            Some(u64::from_str_radix(to, 16).ok()?.saturating_sub(u64::from_str_radix(from, 16).ok()?))
        });
        match (shared, size) {
            (true, Some(size)) => (number + 1, bytes + size),
            _ => (number, bytes),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_a_name_with_parentheses() {
        let text = "123 (nginx: (wor) ker) S 1 123 123 0 -1 4194560 500 0 0 0 42 17 0 0 20 0 1 0 100 0 0";
        assert_eq!(parse_stat(text), Some((42, 17)));
        assert_eq!(parse_stat("no parentheses"), None);
    }

    #[test]
    fn schedstat_gives_run_and_wait_times() {
        assert_eq!(parse_schedstat("208291 57766 1\n"), Some((208_291, 57_766)));
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn rollup_and_maps_are_read() {
        let rollup =
            "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss:    1234 kB\nPss:     999 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(parse_kib(rollup, "Rss:"), Some(1234));
        assert_eq!(parse_kib(rollup, "Pss:"), Some(999));
        let maps = "7f00-8f00 rw-s 00000000 00:01 5 /dev/zero (deleted)\n9000-a000 rw-p 0 0 0\nb000-c000 r--s 0 0 0\n";
        assert_eq!(parse_shared_mappings(maps), (1, 0x1000));
    }

    #[test]
    fn time_grows_while_a_process_works_and_agrees_in_both_clocks() {
        let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = CpuTime::of(busy.id()).unwrap();
        let spent = loop {
            let spent = CpuTime::of(busy.id()).unwrap().since(before);
            if spent.run_ns > 200_000_000 {
                break spent;
            }
        };
        busy.kill().unwrap();
        busy.wait().unwrap();
        // The two clocks within three ticks.
        let ticks = spent.user_ns + spent.system_ns;
        assert!(ticks.abs_diff(spent.run_ns) < 30_000_000, "{spent:?}");
    }

    #[test]
    fn a_footprint_tells_files_from_sockets() {
        let before = Footprint::of(std::process::id()).unwrap();
        let files: Vec<_> = (0..50).map(|_| fs::File::open("/proc/self/stat").unwrap()).collect();
        let sockets: Vec<_> = (0..40).map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let after = Footprint::of(std::process::id()).unwrap();
        assert!(before.rss_kib > 500 && before.pss_own_kib > 100);
        // Other tests run beside this one and open and close some too.
        assert!((40..60).contains(&(after.descriptors - before.descriptors)), "{before:?} {after:?}");
        assert!((30..50).contains(&(after.sockets - before.sockets)), "{before:?} {after:?}");
        drop((files, sockets));
    }
}
