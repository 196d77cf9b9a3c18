//! The privileges needed for sampling.

use std::fs;

use crate::error::SampleError;

/// Capabilities by their numbers in `linux/capability.h`. `CAP_SYS_ADMIN` (21) includes the first two.
const NEEDED: [(u32, &str); 3] = [(39, "CAP_BPF"), (38, "CAP_PERFMON"), (19, "CAP_SYS_PTRACE")];
const SYS_ADMIN: u32 = 21;
const SYS_PTRACE: u32 = 19;

/// Checks the capabilities for sampling any process with BPF.
///
/// # Errors
/// [`SampleError::Privilege`] with the missing ones.
pub fn privilege() -> Result<(), SampleError> {
    let missing = missing(effective());
    if missing.is_empty() { Ok(()) } else { Err(SampleError::Privilege { missing }) }
}

fn missing(effective: u64) -> Vec<&'static str> {
    let has = |number: u32| effective & 1 << number != 0;
    let lacks = |number: u32| !has(number) && (number == SYS_PTRACE || !has(SYS_ADMIN));
    NEEDED.iter().filter(|(number, _)| lacks(*number)).map(|(_, name)| *name).collect()
}

/// The effective capabilities of this process; none if /proc is not readable.
fn effective() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        for (effective, expected) in [
            (0, vec!["CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE"]),
            (1 << 39 | 1 << 38 | 1 << 19, vec![]),
            (1 << 21, vec!["CAP_SYS_PTRACE"]),
            (1 << 21 | 1 << 19, vec![]),
            (1 << 39 | 1 << 19, vec!["CAP_PERFMON"]),
            (u64::MAX, vec![]),
        ] {
            assert_eq!(missing(effective), expected, "{effective:x}");
        }
    }
}
