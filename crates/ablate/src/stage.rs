//! Where variants run: Weir's own nginx, any nginx with a configuration for each variant, or a
//! running gateway whose policy is changed. The rounds know only this.

use std::net::SocketAddr;
use std::path::PathBuf;

use weir_measure::error::MeasureError;

/// Runs variants, one at a time, for the load to measure.
pub trait Stage {
    /// Makes a variant the one that is measured next. `on` says of each part whether it is on. A round
    /// measures references several times, each time as another `copy`: a process that has had more
    /// requests than its rivals is warmer, and only for that reason cheaper.
    fn enter(&mut self, variant: usize, copy: usize, on: &[bool]) -> Result<(), MeasureError>;

    /// Whether what has been entered has had no load since it was started; says so once.
    fn take_fresh(&mut self) -> bool {
        false
    }

    /// Address of the server under load.
    fn address(&self) -> SocketAddr;

    /// CPU time of its workers so far, in nanoseconds.
    fn cpu_ns(&mut self) -> Result<u64, MeasureError>;

    /// Requests that its workers have had so far, if it can tell: needed for real traffic.
    fn requests(&mut self) -> Result<Option<u64>, MeasureError> {
        Ok(None)
    }

    /// The directory of its ledger, if it has one.
    fn ledger(&self) -> Option<PathBuf> {
        None
    }

    /// Called after each round.
    fn round_ends(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }

    /// More about an error: the end of an error log.
    fn explain(&self) -> String {
        String::new()
    }
}
