//! Who runs on which core.
//!
//! With two cores or more the process under test has the first to itself, and the load
//! generator and the origin share the second: the scheduler then never moves the process under
//! test, and its cache is not shared with the load. `--no-pin` leaves it to the scheduler.

/// The cores of a run; `None` leaves a process to the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cores {
    /// For the process under test.
    pub tested: Option<usize>,
    /// For the load generator and the origin.
    pub load: Option<usize>,
}

impl Cores {
    /// The usual arrangement for this machine.
    #[must_use]
    pub fn pinned() -> Self {
        match std::thread::available_parallelism().map_or(1, usize::from) {
            0 | 1 => Self::default(),
            _ => Self { tested: Some(0), load: Some(1) },
        }
    }
}
