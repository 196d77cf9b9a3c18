//! Reads the process and its workers, with their counters before and after the window.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::{CgroupFacts, Limit, ProcessFacts, Role, WorkerFacts, cgroup, files, sockets};

/// Maximum number of watched processes.
const MAX_WATCHED: usize = 1024;
/// Maximum number of steps from a process to its nginx's master.
const MAX_PARENTS: usize = 4;

/// Counters from `/proc/PID/stat` and `/proc/PID/status`.
#[derive(Clone, Debug, Default)]
struct Counters {
    parent: u32,
    user_ticks: u64,
    system_ticks: u64,
    major_faults: u64,
    swap_kib: u64,
    /// Start of the process in ticks since boot, which reveals a reused pid.
    start_ticks: u64,
}

/// The state at the start of the window.
#[derive(Debug)]
pub struct ProcessSnapshot {
    /// The main process.
    pub pid: u32,
    role: Role,
    counters: BTreeMap<u32, Counters>,
    cgroup: Option<CgroupFacts>,
}

impl ProcessSnapshot {
    /// Reads a process. A worker stands for its whole nginx.
    ///
    /// # Errors
    /// If there is no such process.
    pub fn take(pid: u32) -> io::Result<Self> {
        let mut counters = Counters::read(pid)?;
        let (mut first, mut role) = (pid, role(&title(pid)));
        for _ in 0..MAX_PARENTS {
            if !matches!(role, Role::NginxWorker | Role::NginxHelper) {
                break;
            }
            let parent = counters.parent;
            let of_parent = self::role(&title(parent));
            if of_parent == Role::Other {
                // Its master was killed, and the process that adopted the orphan is not nginx.
                (first, role) = (pid, Role::NginxSingle);
                break;
            }
            (first, role) = (parent, of_parent);
            counters = Counters::read(first)?;
        }
        let watched = watched(first, role);
        let counters = watched.into_iter().filter_map(|pid| Some((pid, Counters::read(pid).ok()?))).collect();
        Ok(Self { pid: first, role, counters, cgroup: cgroup::read(first) })
    }

    /// Reads the process again, at the end of the window.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn finish(self, remarks: &mut Vec<String>) -> io::Result<ProcessFacts> {
        Counters::read(self.pid)?;
        let mut after: Vec<u32> = watched(self.pid, self.role);
        after.extend(self.counters.keys());
        after.sort_unstable();
        after.dedup();
        let mut facts = ProcessFacts { pid: self.pid, role: self.role, ..ProcessFacts::default() };
        for &pid in after.iter().take(MAX_WATCHED) {
            let now = Counters::read(pid).ok();
            facts.workers.push(worker(pid, self.counters.get(&pid), now.as_ref()));
        }
        facts.cmdline = cmdline(self.pid);
        facts.exe = fs::read_link(format!("/proc/{}/exe", self.pid))
            .map(|path| path.to_string_lossy().trim_end_matches(" (deleted)").to_owned())
            .unwrap_or_default();
        facts.cgroup = cgroup::over(self.cgroup.as_ref(), cgroup::read(self.pid));
        sockets_and_files(&mut facts, remarks);
        Ok(facts)
    }
}

fn sockets_and_files(facts: &mut ProcessFacts, remarks: &mut Vec<String>) {
    let mut open = files::OpenFiles::default();
    for worker in &mut facts.workers {
        match open.add(worker.pid) {
            Ok(descriptors) => worker.open_files = descriptors,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => remarks.push(format!("open files of process {} cannot be read: {error}", worker.pid)),
        }
    }
    let fullest = facts.workers.iter().max_by_key(|worker| worker.open_files);
    facts.nofile = fullest.and_then(|worker| nofile(worker.pid, worker.open_files));
    (facts.sockets, facts.temporary_files) = (sockets::read(facts.pid, &open), open.temporary());
    if facts.sockets.cut {
        remarks.push("there are more TCP sockets than are read".into());
    }
    let connections = sockets::established_by_pid(facts.pid, &open);
    for worker in &mut facts.workers {
        worker.connections = connections.get(&worker.pid).copied().unwrap_or(0);
    }
}

fn worker(pid: u32, before: Option<&Counters>, after: Option<&Counters>) -> WorkerFacts {
    let same = matches!((before, after), (Some(before), Some(after)) if before.start_ticks == after.start_ticks);
    let none = Counters::default();
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) if same => (before, after),
        // It started within the window, so all its counters belong to the window.
        (_, Some(after)) => (&none, after),
        _ => (&none, &none),
    };
    let tick_us = 1_000_000 / ticks_per_second();
    WorkerFacts {
        pid,
        title: title(pid),
        user_us: after.user_ticks.saturating_sub(before.user_ticks) * tick_us,
        system_us: after.system_ticks.saturating_sub(before.system_ticks) * tick_us,
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        swap_kib: after.swap_kib,
        partial: !same,
        ..WorkerFacts::default()
    }
}

impl Counters {
    fn read(pid: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name in parentheses may itself contain parentheses, so the last one counts (proc(5)).
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = |name: &str| status_line(&status, name).unwrap_or(0);
        Ok(Self {
            parent: u32::try_from(field(4)).unwrap_or(0),
            major_faults: field(12),
            user_ticks: field(14),
            system_ticks: field(15),
            start_ticks: field(22),
            swap_kib: line("VmSwap:"),
        })
    }
}

fn status_line(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Pids of the workers of an nginx's master; otherwise the process with its descendants. By pid.
fn watched(pid: u32, role: Role) -> Vec<u32> {
    let mut pids: Vec<u32> = match role {
        Role::NginxMaster => {
            let workers = weir_sample::family(pid).unwrap_or_default().into_iter();
            workers.filter(|&pid| self::role(&title(pid)) == Role::NginxWorker).collect()
        }
        Role::Other => weir_sample::family(pid).unwrap_or_else(|_| vec![pid]),
        Role::NginxWorker | Role::NginxHelper | Role::NginxSingle => vec![pid],
    };
    pids.truncate(MAX_WATCHED);
    pids
}

pub(crate) fn cmdline(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let parts = bytes.split(|&byte| byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut parts: Vec<String> = parts.collect();
    while parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts
}

fn title(pid: u32) -> String {
    let line = cmdline(pid).join(" ");
    if !line.is_empty() {
        return line;
    }
    fs::read_to_string(format!("/proc/{pid}/comm")).map(|name| name.trim_end().to_owned()).unwrap_or_default()
}

/// Titles that nginx gives its processes (`ngx_setproctitle`).
pub(super) fn role(title: &str) -> Role {
    if let Some(rest) = title.strip_prefix("nginx: ") {
        return match rest {
            rest if rest.starts_with("master process") => Role::NginxMaster,
            rest if rest.starts_with("worker process") => Role::NginxWorker,
            _ => Role::NginxHelper,
        };
    }
    let program = title.split(' ').next().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(program, "nginx" | "openresty") { Role::NginxSingle } else { Role::Other }
}

fn nofile(pid: u32, used: u64) -> Option<Limit> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut values = line.split_whitespace().map(|text| text.parse().unwrap_or(u64::MAX));
    Some(Limit { soft: values.next()?, hard: values.next()?, used })
}

/// Whether a process is in another namespace than this one.
pub(crate) fn is_other_namespace(pid: u32, kind: &str) -> bool {
    let of = |who: &str| fs::read_link(format!("/proc/{who}/ns/{kind}")).ok();
    match (of("self"), of(&pid.to_string())) {
        (Some(own), Some(other)) => own != other,
        _ => false,
    }
}

fn ticks_per_second() -> u64 {
    // SAFETY: sysconf only reads a system constant.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0).unwrap_or(100)
}

/// Start time of a process, in milliseconds since 1970.
pub(crate) fn started_ms(pid: u32) -> Option<u64> {
    let ticks = Counters::read(pid).ok()?.start_ticks;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let booted: u64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(booted * 1000 + ticks * 1000 / ticks_per_second())
}

/// Start time of the youngest worker of an nginx's master, in milliseconds since 1970.
pub(crate) fn youngest_ms(master: u32) -> Option<u64> {
    watched(master, role(&title(master))).into_iter().filter_map(started_ms).max()
}
