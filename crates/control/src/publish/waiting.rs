//! Changes that are published and wait for the workers.

use std::collections::VecDeque;
use std::time::Instant;

use weir_resource::Fault;

use super::queue::{Answer, Submitted, Wait, WorkerResult};
use crate::state::Key;
use crate::workers::{Standing, WorkerId};

/// A published change.
#[derive(Debug)]
struct Waiter {
    submitted: Submitted,
    /// The revision to be acknowledged; of a refused change, the one that undoes it.
    revision: u64,
    made: Outcome,
    published: Instant,
    deadline: Instant,
    seen: Vec<(WorkerId, u32, u64)>,
    undone: Option<Undone>,
}

/// The effect of a change.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub changed: Vec<String>,
    pub created: Option<Key>,
    pub warnings: Vec<Fault>,
    pub replayed: bool,
}

impl Outcome {
    /// The answer to a change with this effect.
    pub fn answer(self, revision: u64, workers: Vec<WorkerResult>, pending: bool) -> Answer {
        let Self { changed, created, warnings, replayed } = self;
        Answer::Done { revision, changed, created, workers, pending, warnings, replayed }
    }
}

#[derive(Debug)]
struct Undone {
    revision: u64,
    reasons: Vec<(WorkerId, String)>,
}

/// All waiting changes, by revision.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    waiters: VecDeque<Waiter>,
}

impl Waiting {
    /// Adds a change, or answers it at once if it asked for that.
    pub fn add(&mut self, mut submitted: Submitted, revision: u64, made: Outcome, published: Instant) {
        // It is stored: who repeats it is answered from there.
        submitted.flight = None;
        if submitted.submission.wait == Wait::Accepted {
            let _ = submitted.answer.send(made.answer(revision, Vec::new(), false));
            return;
        }
        let deadline = submitted.since + submitted.submission.timeout;
        let waiter = Waiter { submitted, revision, made, published, deadline, seen: Vec::new(), undone: None };
        self.insert(waiter);
    }

    fn insert(&mut self, waiter: Waiter) {
        // Revisions come in order, but for changes that changed nothing and those that were undone.
        let place = self.waiters.partition_point(|other| other.revision <= waiter.revision);
        self.waiters.insert(place, waiter);
    }

    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// The next time at which a change times out.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiters.iter().map(|waiter| waiter.deadline).min()
    }

    /// Notes the progress of a worker.
    pub fn advance(&mut self, worker: &Standing, from: u64, now: Instant) {
        let start = self.waiters.partition_point(|waiter| waiter.revision <= from);
        for waiter in self.waiters.iter_mut().skip(start).take_while(|waiter| waiter.revision <= worker.applied) {
            let us = now.saturating_duration_since(waiter.published).as_micros();
            waiter.seen.push((worker.id, worker.pid, u64::try_from(us).unwrap_or(u64::MAX)));
        }
    }

    /// Answers changes that every worker has applied.
    pub fn answer(&mut self, standing: &[Standing]) {
        let least = standing.iter().map(|worker| worker.applied).min().unwrap_or(u64::MAX);
        while self.waiters.front().is_some_and(|waiter| waiter.revision <= least) {
            if let Some(waiter) = self.waiters.pop_front() {
                waiter.answer(standing, false);
            }
        }
    }

    /// Answers changes that have timed out.
    pub fn expire(&mut self, standing: &[Standing], now: Instant) {
        let mut place = 0;
        while place < self.waiters.len() {
            if self.waiters[place].deadline > now {
                place += 1;
            } else if let Some(waiter) = self.waiters.remove(place) {
                waiter.answer(standing, true);
            }
        }
    }

    /// Makes changes that wait for `revision` wait for `undone_by`, which undoes it.
    pub fn undone(&mut self, revision: u64, undone_by: u64, worker: WorkerId, reason: &str) {
        let concerned = |waiter: &Waiter| {
            waiter.undone.as_ref().map_or(waiter.revision, |undone| undone.revision) == revision
                && !waiter.made.changed.is_empty()
        };
        let mut moved = Vec::new();
        while let Some(place) = self.waiters.iter().position(|waiter| concerned(waiter) && waiter.undone.is_none()) {
            moved.extend(self.waiters.remove(place));
        }
        for mut waiter in moved {
            waiter.revision = undone_by;
            waiter.seen.clear();
            waiter.undone = Some(Undone { revision, reasons: Vec::new() });
            self.insert(waiter);
        }
        for waiter in self.waiters.iter_mut().filter(|waiter| concerned(waiter)) {
            if let Some(undone) = &mut waiter.undone {
                undone.reasons.push((worker, reason.to_owned()));
            }
        }
    }
}

impl Waiter {
    fn answer(self, standing: &[Standing], pending: bool) {
        let Self { submitted, revision, made, seen, undone, .. } = self;
        let answer = match undone {
            Some(undone) => {
                let Undone { revision: refused, reasons } = undone;
                let replayed = made.replayed;
                Answer::Undone { revision: refused, undone_by: revision, reasons, pending, replayed }
            }
            None => {
                let workers = standing.iter().map(|worker| {
                    let said = seen.iter().find(|(id, pid, _)| *id == worker.id && *pid == worker.pid);
                    let us = said.map(|(_, _, us)| *us).or((worker.applied >= revision).then_some(0));
                    WorkerResult { id: worker.id, pid: worker.pid, us }
                });
                made.answer(revision, workers.collect(), pending)
            }
        };
        let _ = submitted.answer.send(answer);
    }
}
