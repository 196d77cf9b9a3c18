//! Perf events as timers: the sampling clock, with and without BPF.
//!
//! Written by hand: one system call and one structure, of which nine fields are used. The timer is the software event
//! `cpu-clock`, not a cycle counter, because it exists on every machine, virtual ones included.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK` of `linux/perf_event.h`; further constants of it below.
const TYPE_SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const FLAG_FD_CLOEXEC: u64 = 1 << 3;

/// Bits of [`Attributes::flags`].
pub(crate) const INHERIT: u64 = 1 << 1;
pub(crate) const EXCLUDE_IDLE: u64 = 1 << 7;
pub(crate) const COMM: u64 = 1 << 9;
pub(crate) const TASK: u64 = 1 << 13;
pub(crate) const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
pub(crate) const COMM_EXEC: u64 = 1 << 24;
pub(crate) const USE_CLOCK_ID: u64 = 1 << 25;

/// `struct perf_event_attr`, as long as `PERF_ATTR_SIZE_VER5` (Linux 4.1).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    /// Nanoseconds between two samples.
    pub period_ns: u64,
    /// `PERF_SAMPLE_*`.
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    /// Sampled registers, one bit each, as in `perf_regs`.
    pub registers: u64,
    /// Bytes of user stack, a multiple of 8.
    pub stack_bytes: u32,
    pub clock: i32,
    registers_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

impl Attributes {
    /// The CPU's clock, `frequency_hz` times a second.
    pub(crate) fn clock(frequency_hz: u32) -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            size: u32::try_from(size_of::<Self>()).expect("112 bytes"),
            config: CPU_CLOCK,
            period_ns: period_ns(frequency_hz),
            flags: EXCLUDE_IDLE,
            ..Self::default()
        }
    }

    /// Opens the event for a thread (`None` for all) on a CPU (`None` for any).
    pub(crate) fn open(&self, tid: Option<u32>, cpu: Option<u32>) -> io::Result<OwnedFd> {
        let tid = tid.map_or(-1, |tid| libc::pid_t::try_from(tid).unwrap_or(libc::pid_t::MAX));
        let cpu = cpu.map_or(-1, |cpu| libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX));
        // SAFETY: the kernel reads `size` bytes of a structure that is at least that long.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(self), tid, cpu, -1, FLAG_FD_CLOEXEC)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = i32::try_from(fd).expect("descriptors are ints");
        // SAFETY: the descriptor is new and not owned by anything else.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// Nanoseconds between two samples.
pub(crate) fn period_ns(frequency_hz: u32) -> u64 {
    1_000_000_000 / u64::from(frequency_hz.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_the_kernels() {
        assert_eq!(size_of::<Attributes>(), 112);
        assert_eq!(std::mem::offset_of!(Attributes, flags), 40);
        assert_eq!(std::mem::offset_of!(Attributes, registers), 80);
        assert_eq!(std::mem::offset_of!(Attributes, stack_bytes), 88);
    }

    #[test]
    fn own_thread_can_be_watched() {
        Attributes::clock(99).open(Some(0), None).expect("perf events are allowed");
    }
}
