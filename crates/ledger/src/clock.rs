//! A clock cheap enough to time a single rule: the processor's time stamp counter where it runs
//! at a constant rate, otherwise `CLOCK_MONOTONIC`.
//!
//! Reading the counter costs about 8 ns, `clock_gettime` through the vDSO about 20. The cost of
//! one reading is measured at calibration and the report subtracts it from every sample.

use std::sync::OnceLock;
use std::time::Duration;

/// Converts between ticks and nanoseconds. Calibrated once per process and inherited over `fork`.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    counter: bool,
    /// Nanoseconds per tick in units of 2^-32.
    scale: u64,
    overhead: u64,
}

/// How long the counter runs against `CLOCK_MONOTONIC`: the two readings at each end are at most
/// some 100 ns apart, so the error is below 0.001 %.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Pairs of readings; their median is the cost of one reading.
const OVERHEAD_SAMPLES: usize = 1001;

static CALIBRATED: OnceLock<Clock> = OnceLock::new();

impl Clock {
    /// Measures the clock; 20 ms the first time in a process, free afterwards.
    #[must_use]
    pub fn calibrate() -> Self {
        *CALIBRATED.get_or_init(|| {
            let mut clock = Self { counter: counter_is_steady(), scale: 1 << 32, overhead: 0 };
            if clock.counter {
                clock.scale = measure_scale();
            }
            clock.overhead = clock.measure_overhead();
            clock
        })
    }

    /// The time in ticks, from some point in the past.
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        if self.counter { read_counter() } else { monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    #[inline]
    #[must_use]
    pub fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// Converts nanoseconds to ticks.
    #[must_use]
    pub fn ticks_of(&self, ns: u64) -> u64 {
        ((u128::from(ns) << 32) / u128::from(self.scale.max(1))) as u64
    }

    /// The ticks that an empty section measures: the cost of one reading.
    #[must_use]
    pub fn overhead_ticks(&self) -> u64 {
        self.overhead
    }

    /// Nanoseconds per tick in units of 2^-32.
    pub(crate) fn scale(&self) -> u64 {
        self.scale
    }

    /// The clock of another process, for converting its ticks.
    pub(crate) fn recorded(scale: u64, overhead: u64) -> Self {
        Self { counter: false, scale, overhead }
    }

    fn measure_overhead(&self) -> u64 {
        let mut samples: Vec<u64> = (0..OVERHEAD_SAMPLES)
            .map(|_| {
                let start = self.ticks();
                self.ticks().saturating_sub(start)
            })
            .collect();
        samples.sort_unstable();
        samples[OVERHEAD_SAMPLES / 2]
    }
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the call to fill in.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn measure_scale() -> u64 {
    let (ticks_before, ns_before) = reading_pair();
    std::thread::sleep(CALIBRATION);
    let (ticks_after, ns_after) = reading_pair();
    let ticks = ticks_after.saturating_sub(ticks_before).max(1);
    ((u128::from(ns_after.saturating_sub(ns_before)) << 32) / u128::from(ticks)) as u64
}

/// Counter and clock at the same moment: the least interrupted of several tries.
fn reading_pair() -> (u64, u64) {
    (0..16)
        .map(|_| {
            let before = read_counter();
            let ns = monotonic_ns();
            let after = read_counter();
            (after.saturating_sub(before), before + after.saturating_sub(before) / 2, ns)
        })
        .min()
        .map(|(_, ticks, ns)| (ticks, ns))
        .expect("16 tries")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter() -> u64 {
    // SAFETY: every x86-64 processor has rdtsc, and Linux lets processes use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_counter() -> u64 {
    monotonic_ns()
}

/// Whether the counter runs at one rate in all power states (Intel SDM vol. 3, 18.17.1:
/// CPUID 80000007h, EDX bit 8), or Linux itself trusts it as its clock source.
#[cfg(target_arch = "x86_64")]
fn counter_is_steady() -> bool {
    let leaf = |number| core::arch::x86_64::__cpuid(number);
    let invariant = leaf(0x8000_0000).eax >= 0x8000_0007 && leaf(0x8000_0007).edx & (1 << 8) != 0;
    invariant
        || std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_steady() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_measure_real_time() {
        let clock = Clock::calibrate();
        // Each reading stands between two of the kernel's clock, however long this thread does not run.
        let read = || (monotonic_ns(), clock.ticks(), monotonic_ns());
        let begin = read();
        std::thread::sleep(Duration::from_millis(50));
        let end = read();
        let ns = clock.ns(end.1 - begin.1);
        let (least, most) = (end.0 - begin.2, end.2 - begin.0);
        assert!(least * 98 / 100 <= ns && ns <= most * 102 / 100, "{ns} ns, not between {least} and {most}");
    }

    #[test]
    fn conversion_goes_both_ways() {
        let clock = Clock::calibrate();
        let ns = clock.ns(clock.ticks_of(1_000_000));
        assert!((999_990..=1_000_010).contains(&ns), "{ns}");
        assert!(clock.ns(clock.overhead_ticks()) < 2_000);
    }
}
