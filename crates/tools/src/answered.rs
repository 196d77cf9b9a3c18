//! Requests that Weir's own nginx has answered meanwhile, by its ledger: costs are shown per request
//! without an option.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use weir_diagnose::facts::{self, CollectError, Facts, Options, WindowEdge};
use weir_ledger::Control;

/// The counts of all workers at two moments.
pub(crate) struct Answered {
    control: Control,
    before: HashMap<u32, u64>,
    after: HashMap<u32, u64>,
}

impl Answered {
    /// From now on. `None` without a ledger, which is no error: most processes are not Weir's nginx.
    pub fn begin(runtime: &Path) -> Option<Self> {
        let control = Control::open(runtime).ok()?;
        let before = workers(&control);
        Some(Self { control, before, after: HashMap::new() })
    }

    /// Until now.
    pub fn end(&mut self) {
        self.after = workers(&self.control);
    }

    /// Requests of these processes in between; `None` if none of them is a worker of Weir's. One that has come
    /// meanwhile counts from its start, one that has gone does not count.
    pub fn of(&self, processes: impl IntoIterator<Item = u32>) -> Option<u64> {
        added(&self.before, &self.after, processes)
    }
}

/// Facts about a process, with the requests of Weir's own nginx.
pub(crate) fn collect(runtime: &Path, pid: u32, options: &Options, stop: &AtomicBool) -> Result<Facts, CollectError> {
    let mut answered = None;
    let mut facts = facts::collect(pid, options, stop, &mut |edge| match edge {
        WindowEdge::Opens => answered = Answered::begin(runtime),
        WindowEdge::Closes => answered.iter_mut().for_each(Answered::end),
    })?;
    if let (None, Some(answered)) = (facts.requests, answered) {
        let watched = facts.process.iter().flat_map(|process| process.workers.iter().map(|worker| worker.pid));
        let requests = answered.of(watched);
        facts.count_requests(requests);
    }
    Ok(facts)
}

fn workers(control: &Control) -> HashMap<u32, u64> {
    let alive = control.workers().into_iter().filter(|worker| worker.alive);
    alive.map(|worker| (worker.pid, worker.requests)).collect()
}

fn added(
    before: &HashMap<u32, u64>,
    after: &HashMap<u32, u64>,
    processes: impl IntoIterator<Item = u32>,
) -> Option<u64> {
    let more = |pid| Some(after.get(&pid)?.saturating_sub(before.get(&pid).copied().unwrap_or(0)));
    processes.into_iter().filter_map(more).reduce(|sum, more| sum + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_processes_that_were_watched_count() {
        let (before, after) = ([(7, 100), (8, 50)].into(), [(7, 130), (8, 90), (9, 5)].into());
        let cases: [(&[u32], Option<u64>); 4] =
            [(&[7], Some(30)), (&[7, 8, 9, 99], Some(75)), (&[99], None), (&[], None)];
        for (watched, want) in cases {
            assert_eq!(added(&before, &after, watched.iter().copied()), want, "{watched:?}");
        }
    }
}
