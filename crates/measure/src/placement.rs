//! Who runs on which core, and how important it is.
//!
//! On a machine of one's own the process under test has the first core to itself, and the load
//! generator and the origin share the second: the scheduler then never moves the process under
//! test, and its cache is not shared with the load. On a crowded machine that is worse than
//! leaving the placing to the scheduler (`--no-pin`), which moves it away from the neighbours:
//! measured beside compilers on both cores, it waited 65 % of the time pinned and 38 % unpinned.
//! With `--nice -15` (root) the neighbours wait instead: 13 % pinned, 25 % unpinned.

/// Cores and priority of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Core for the process under test; `None` leaves it to the scheduler.
    pub tested: Option<usize>,
    /// Core for the load generator and the origin.
    pub load: Option<usize>,
    /// Nice value of all of them.
    pub nice: i32,
}

impl Placement {
    /// The usual arrangement for this machine at a nice value; without cores if the scheduler is to place.
    #[must_use]
    pub fn new(nice: i32, leave_to_scheduler: bool) -> Self {
        let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        match several && !leave_to_scheduler {
            true => Self { tested: Some(0), load: Some(1), nice },
            false => Self { nice, ..Self::default() },
        }
    }
}
