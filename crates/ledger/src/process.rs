//! Processes in `/proc`: whether a pid still means the same process, and its CPU time.

use std::fs;
use std::io;

/// Bits for the start time in [`identity`]; the rest hold the pid (Linux: `PID_MAX_LIMIT` 2^22).
const START_BITS: u32 = 42;

/// The identity of a process, different from that of a later process with the same pid: pid and start time in
/// one word, so that one compare-and-swap can take over a slot of a dead process. 0 if there is no such process.
pub(crate) fn identity(pid: u32) -> u64 {
    let Some(stat) = Stat::read(pid) else {
        // Without /proc the start time is unknown; the pid alone is the identity.
        return if answers_signals(pid) { u64::from(pid) << START_BITS } else { 0 };
    };
    if stat.dead {
        return 0;
    }
    (u64::from(pid) << START_BITS) | (stat.start & ((1 << START_BITS) - 1))
}

/// The pid in an identity.
pub(crate) fn pid_of(identity: u64) -> u32 {
    (identity >> START_BITS) as u32
}

/// Whether the process of that identity is running.
pub(crate) fn lives(identity_then: u64) -> bool {
    identity_then != 0 && identity(pid_of(identity_then)) == identity_then
}

/// Whether a process with this pid is running (a zombie is not).
#[must_use]
pub fn is_running(pid: u32) -> bool {
    identity(pid) != 0
}

/// User and system time that a process has used since its start, in nanoseconds and steps of
/// 10 ms; `None` if there is no such process.
#[must_use]
pub fn cpu_ns(pid: u32) -> Option<u64> {
    Stat::read(pid).map(|stat| stat.cpu_ns)
}

/// CPU time of the calling process in nanoseconds.
pub(crate) fn own_cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the call to fill in.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn answers_signals(pid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the process exists.
    let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The fields of `/proc/PID/stat` (proc(5)) that matter here.
struct Stat {
    dead: bool,
    start: u64,
    cpu_ns: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The second field is the command in parentheses and may hold anything, even ") ".
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        let mut number = |skip: usize| fields.nth(skip)?.parse::<u64>().ok();
        let (user, system) = (number(10)?, number(0)?);
        let start = number(6)?;
        // SAFETY: sysconf reads a constant of the system.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
        Some(Self { dead: matches!(state, "Z" | "X"), start, cpu_ns: (user + system) * (1_000_000_000 / per_second) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_a_hostile_command_name() {
        let line = "7 (a) R (b) ) S 1 7 7 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 1 0 98765 1 2 3";
        let stat = Stat::parse(line).expect("parses");
        assert_eq!((stat.dead, stat.start, stat.cpu_ns), (false, 98765, 420_000_000));
    }

    #[test]
    fn own_process_lives_and_a_reaped_child_does_not() {
        assert!(lives(identity(std::process::id())));
        let mut child = std::process::Command::new("true").spawn().expect("spawns");
        let (pid, then) = (child.id(), identity(child.id()));
        child.wait().expect("waits");
        assert!(!lives(then) && !is_running(pid) && cpu_ns(pid).is_none());
    }

    #[test]
    fn the_same_pid_with_another_start_is_another_process() {
        let mine = identity(std::process::id());
        assert_eq!(pid_of(mine), std::process::id());
        assert!(!lives(mine ^ 1));
    }
}
