//! Sampling options.

use std::time::Duration;

use crate::error::SampleError;

/// Maximum number of samples per second: a timer interrupt every 100 µs hardly disturbs a program.
pub const MOST_HZ: u32 = 10_000;
/// Minimum and maximum size of a captured user stack, in bytes.
pub const LEAST_STACK: u32 = 1024;
/// See [`LEAST_STACK`]. The BPF programs cannot copy more (`STACK_MOST`).
pub const MOST_STACK: u32 = 65_536;

/// The sampling method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// BPF, or perf events if BPF is denied.
    #[default]
    Auto,
    /// Only BPF.
    Ebpf,
    /// Only perf events: no Lua, no waits, no system calls.
    PerfEvent,
}

/// Sampling options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Samples per second on each CPU, 1 to [`MOST_HZ`]. The default of 99 does not run in step
    /// with timers of 100 Hz.
    pub frequency_hz: u32,
    /// Duration; `None`: until the caller stops it, or the processes are gone.
    pub duration: Option<Duration>,
    /// Whether to sample running threads.
    pub on_cpu: bool,
    /// Whether to sample waits, and their minimum duration; shorter ones are summed up by process.
    pub off_cpu: Option<Duration>,
    /// Whether to count system calls.
    pub system_calls: bool,
    /// Maximum size of a captured user stack, [`LEAST_STACK`] to [`MOST_STACK`].
    pub stack_bytes: u32,
    /// Whether to look for Lua.
    pub lua: bool,
    /// The sampling method.
    pub backend: Backend,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            frequency_hz: 99,
            duration: None,
            on_cpu: true,
            off_cpu: None,
            system_calls: false,
            stack_bytes: 32_768,
            lua: true,
            backend: Backend::Auto,
        }
    }
}

impl Options {
    /// Checks the ranges of values.
    pub(crate) fn check(&self) -> Result<(), SampleError> {
        let wrong = |option, value: String, expected| Err(SampleError::Option { option, value, expected });
        if !(1..=MOST_HZ).contains(&self.frequency_hz) {
            return wrong("frequency", format!("{} Hz", self.frequency_hz), "1 to 10000 Hz");
        }
        if !(LEAST_STACK..=MOST_STACK).contains(&self.stack_bytes) {
            return wrong("stack size", format!("{} bytes", self.stack_bytes), "1024 to 65536 bytes");
        }
        if !self.on_cpu && self.off_cpu.is_none() && !self.system_calls {
            return wrong("what to sample", "nothing".into(), "at least one of CPU, waits and system calls");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_checked() {
        let good = Options::default();
        for (options, fine) in [
            (good.clone(), true),
            (Options { frequency_hz: 0, ..good.clone() }, false),
            (Options { frequency_hz: 10_001, ..good.clone() }, false),
            (Options { stack_bytes: 65_537, ..good.clone() }, false),
            (Options { on_cpu: false, ..good.clone() }, false),
            (Options { on_cpu: false, system_calls: true, ..good }, true),
        ] {
            assert_eq!(options.check().is_ok(), fine, "{options:?}");
        }
    }
}
