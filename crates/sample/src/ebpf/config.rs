//! Settings of the programs, fixed before loading: the verifier treats them as constants and drops
//! code that they exclude.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::event;
use crate::options::Options;

/// Maximum number of user stacks of waits per CPU and second: 400 stacks of 8 KiB are 3 MB/s.
const STACKS_PER_SECOND: u32 = 400;
/// Inode of the initial pid namespace (PROC_PID_INIT_INO of the kernel).
const INITIAL_NAMESPACE: u32 = 0xEFFF_FFFC;

/// The scope of sampling, as the programs implement it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// These processes and their descendants.
    Processes(Vec<u32>),
    /// The processes in a control group (version 2).
    Cgroup(PathBuf),
    /// All processes.
    All,
}

/// `struct config` of `bpf/record.bpf.h`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Config {
    scope: u32,
    stack_bytes: u32,
    namespace: u32,
    lua: u32,
    period_ns: u64,
    shortest_ns: u64,
    stacks_per_second: u32,
    padding: u32,
}

impl Config {
    pub(super) fn of(scope: &Scope, options: &Options) -> io::Result<Self> {
        Ok(Self {
            scope: match scope {
                Scope::Processes(_) => 0,
                Scope::Cgroup(_) => 1,
                Scope::All => 2,
            },
            stack_bytes: options.stack_bytes & !7,
            namespace: own_namespace()?,
            lua: u32::from(options.lua),
            period_ns: event::period_ns(options.frequency_hz),
            shortest_ns: options.off_cpu.map_or(0, nanoseconds),
            stacks_per_second: STACKS_PER_SECOND,
            padding: 0,
        })
    }

    /// The same configuration without Lua.
    pub(super) fn without_lua(self) -> Self {
        Self { lua: 0, ..self }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the structure consists of integers without padding; libbpf checks the length
        // against the object's section.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

/// Inode of the pid namespace that this process sees; 0 for the initial one.
fn own_namespace() -> io::Result<u32> {
    let inode = std::fs::metadata("/proc/self/ns/pid")?.ino();
    Ok(u32::try_from(inode).ok().filter(|&inode| inode != INITIAL_NAMESPACE).unwrap_or(0))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_that_of_the_programs() {
        assert_eq!(size_of::<Config>(), 40);
        let config = Config::of(&Scope::All, &Options::default()).expect("/proc is mounted");
        assert_eq!((config.scope, config.stack_bytes, config.lua), (2, 32_768, 1));
        assert_eq!(config.period_ns, 10_101_010);
        assert_eq!(config.without_lua().lua, 0);
        assert_eq!(config.bytes()[4..8], 32_768_u32.to_ne_bytes());
    }
}
