//! Whether a process still is the one it was: pid and start time in one word, so that a pid that was given to someone
//! else is not taken for the old one. Control and workers have to see the same pids (one PID namespace).

use std::fs;

/// Bits of the start time; the rest holds the pid (Linux: `PID_MAX_LIMIT` is 2^22).
const START_BITS: u32 = 42;

/// The identity of a process; 0 if there is no such process, or only its zombie.
pub(crate) fn identity(pid: u32) -> u64 {
    let start = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| start_of(&stat));
    start.map_or(0, |start| u64::from(pid) << START_BITS | start & ((1 << START_BITS) - 1))
}

/// The pid in an identity.
pub(crate) fn pid_of(identity: u64) -> u32 {
    (identity >> START_BITS) as u32
}

/// Whether the process of that identity is running.
pub(crate) fn lives(then: u64) -> bool {
    then != 0 && identity(pid_of(then)) == then
}

/// The start time in the text of `/proc/PID/stat` (proc(5), field 22), in ticks since boot; none for a dead process.
fn start_of(stat: &str) -> Option<u64> {
    // The second field is the command in parentheses and may hold anything, even ") ".
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let dead = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    (!dead).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_command_name_and_a_zombie() {
        let line = "7 (a) R (b) ) S 1 7 7 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 1 0 98765 1 2 3";
        assert_eq!(start_of(line), Some(98765));
        assert_eq!(start_of(&line.replace(") S", ") Z")), None);
        assert_eq!(start_of("nonsense"), None);
    }

    #[test]
    fn the_same_pid_with_another_start_is_another_process() {
        let mine = identity(std::process::id());
        assert!(lives(mine) && !lives(mine ^ 1) && !lives(0));
        assert_eq!(pid_of(mine), std::process::id());
    }
}
