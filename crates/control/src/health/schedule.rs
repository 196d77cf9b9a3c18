//! The times at which checks and lookups are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// A task and its time. The consumer skips tasks that are out of date by then.
#[derive(Debug)]
pub(super) struct Schedule<T> {
    heap: BinaryHeap<Reverse<Due<T>>>,
    serial: u64,
    random: RandomState,
}

#[derive(Debug)]
struct Due<T> {
    at: Instant,
    serial: u64,
    what: T,
}

impl<T> Schedule<T> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), serial: 0, random: RandomState::new() }
    }

    /// Schedules a task after a delay, varied by a tenth so that members are not checked in step.
    pub fn after(&mut self, time: Duration, what: T) {
        let tenth = time.as_nanos() as u64 / 10;
        let jitter = self.random.hash_one(self.serial) % (2 * tenth + 1);
        self.at(Instant::now() + time - Duration::from_nanos(tenth) + Duration::from_nanos(jitter), what);
    }

    /// Schedules a task at a random moment within a period.
    pub fn within(&mut self, time: Duration, what: T) {
        let moment = self.random.hash_one(self.serial) % (time.as_nanos() as u64 + 1);
        self.at(Instant::now() + Duration::from_nanos(moment), what);
    }

    /// Drops tasks that are out of date, if they are the majority: the schedule stays about as long as the number of
    /// live tasks.
    pub fn compact(&mut self, living: usize, lives: impl Fn(&T) -> bool) {
        const SLACK: usize = 1024;
        if self.heap.len() > 4 * living + SLACK {
            self.heap.retain(|Reverse(due)| lives(&due.what));
        }
    }

    fn at(&mut self, at: Instant, what: T) {
        self.serial += 1;
        self.heap.push(Reverse(Due { at, serial: self.serial, what }));
    }

    /// The time of the next task.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// Removes and returns a task that is due.
    pub fn pop(&mut self) -> Option<T> {
        self.due(Instant::now())
    }

    fn due(&mut self, now: Instant) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due.what)
    }
}

impl<T> Due<T> {
    fn order(&self) -> (Instant, u64) {
        (self.at, self.serial)
    }
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<T> Eq for Due<T> {}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_out_of_date_does_not_pile_up() {
        let mut schedule = Schedule::new();
        for number in 0..10_000 {
            schedule.after(Duration::from_secs(3600), number);
            schedule.compact(10, |&other| other + 10 > number);
        }
        assert!(schedule.heap.len() <= 1064 + 1, "{}", schedule.heap.len());
    }

    #[tokio::test]
    async fn things_come_when_they_are_due_and_in_order() {
        let mut schedule = Schedule::new();
        schedule.after(Duration::from_secs(3600), "late");
        schedule.within(Duration::ZERO, "one");
        schedule.within(Duration::ZERO, "two");
        assert_eq!([schedule.pop(), schedule.pop(), schedule.pop()], [Some("one"), Some("two"), None]);
        // Half of the delay is less even with the greatest jitter.
        schedule.after(Duration::from_secs(1800), "earlier");
        let moment = schedule.next().expect("two are left");
        assert_eq!(schedule.due(moment - Duration::from_nanos(1)), None);
        assert_eq!(schedule.due(moment), Some("earlier"));
    }
}
