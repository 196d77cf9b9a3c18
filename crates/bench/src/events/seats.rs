//! Who sits on which core: the same for Weir and for the floor beside it.
//!
//! The scheduler's choice would be free, and the figures with it: with everyone on one core a
//! wake-up costs 3 µs, from core to core 16 µs and more, and neighbours decide which of the two it is.
//! Measured beside compilers, a bare round trip took 4 µs unpinned and 95 µs pinned; on a quiet
//! machine unpinned ones fall into either. So workers have a core each, as with nginx's
//! `worker_cpu_affinity auto`, control shares the first, and the client the second. With `--no-pin` the
//! scheduler decides, for everyone.

use weir_measure::child::stay_on;
use weir_measure::error::MeasureError;
use weir_measure::placement::Placement;

/// The cores of the processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    /// Core of the clients.
    pub client: Option<usize>,
    /// Control, a broker, a proxy of one process.
    pub hub: Option<usize>,
    /// Workers, or the other client of a broker.
    pub workers: [Option<usize>; 2],
}

impl Seats {
    /// As the placement wants it.
    #[must_use]
    pub fn of(placement: Placement) -> Self {
        let (first, second) = (placement.tested, placement.load);
        Self { client: second, hub: first, workers: [first, second] }
    }

    /// nginx's directive for its workers.
    #[must_use]
    pub fn directive(self) -> &'static str {
        if self.hub.is_some() { "worker_cpu_affinity auto;\n" } else { "" }
    }

    /// Runs `work` on the client's core.
    pub fn as_client<T>(self, work: impl FnOnce() -> Result<T, MeasureError>) -> Result<T, MeasureError> {
        let Some(core) = self.client else { return work() };
        let failed = |error: std::io::Error| MeasureError::program("sched_setaffinity", error.to_string());
        let before = cores().map_err(failed)?;
        stay_on(core).map_err(failed)?;
        let result = work();
        set_cores(&before).map_err(failed)?;
        result
    }
}

/// The cores that the calling thread may run on.
fn cores() -> std::io::Result<libc::cpu_set_t> {
    // SAFETY: a set of zeros is an empty one, and lives on our stack.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the size is that of the set.
    match unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } {
        0 => Ok(set),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn set_cores(set: &libc::cpu_set_t) -> std::io::Result<()> {
    // SAFETY: the set lives longer than the call, and the size is its own.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_back_to_where_it_was() {
        let count = || {
            (0..64)
                .filter(|&core| {
                    let set = cores().unwrap();
                    // SAFETY: the core is below the size of the set.
                    unsafe { libc::CPU_ISSET(core, &set) }
                })
                .count()
        };
        let before = count();
        let seats = Seats::of(Placement { tested: Some(0), load: Some(0), nice: 0 });
        assert_eq!(seats.as_client(|| Ok(count())).unwrap(), 1);
        assert_eq!(count(), before);
        assert_eq!(Seats::of(Placement::default()), Seats::default());
    }
}
