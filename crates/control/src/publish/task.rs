//! The publisher's loop.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use weir_bus::Frame;
use weir_gateway::op::Op;

use super::publisher::Publisher;
use super::queue::Submitted;
use crate::log;
use crate::shared::ended;

/// How many changes are taken at a time.
const GROUP: usize = 1_024;
/// How many findings of the health checker are taken at a time.
const FINDINGS: usize = 1_024;
/// Interval of the search for dead workers while changes wait.
const LOOK: Duration = Duration::from_millis(50);
/// Interval of attempts to capture the files that are named, after control has started.
const LEARN: Duration = Duration::from_secs(10);
/// The interval otherwise.
const IDLE: Duration = Duration::from_secs(1);

impl Publisher {
    /// Runs until `stop` is true, then finishes what is in progress. True if all of it is on disk.
    pub async fn run(
        mut self,
        mut queue: mpsc::UnboundedReceiver<Submitted>,
        mut findings: mpsc::Receiver<Op>,
        mut stop: watch::Receiver<bool>,
    ) -> bool {
        let mut group = Vec::with_capacity(GROUP);
        let mut found = Vec::with_capacity(FINDINGS);
        self.commit(std::iter::once(Submitted::first()));
        loop {
            let look = tokio::time::Instant::from_std(self.wake_at());
            tokio::select! {
                biased;
                // First, so that no change is answered without the workers of a cycle that began before it came.
                () = self.files.changed() => {
                    self.follow_directory(false);
                    self.roster.discover();
                    self.roster.wake();
                    self.look();
                }
                taken = queue.recv_many(&mut group, GROUP) => {
                    if taken == 0 { break }
                    self.make_room().await;
                    self.commit(group.drain(..));
                }
                Some(verdict) = self.verdicts_in.recv() => self.verdict(verdict),
                Some(submitted) = self.read_in.recv() => self.files_read(submitted),
                _ = findings.recv_many(&mut found, FINDINGS), if !findings.is_closed() => self.publish_found(found.drain(..)),
                () = tokio::time::sleep_until(look) => {
                    self.tick();
                    if self.is_stranded() {
                        log::failure!("{} was deleted where this process looks: start again", self.runtime.display());
                        break;
                    }
                }
                () = ended(&mut stop) => break,
                // Last: a worker that rings without end holds up nothing else.
                () = self.bell.rung() => self.look(),
            }
        }
        self.finish(queue).await
    }

    async fn finish(&mut self, mut queue: mpsc::UnboundedReceiver<Submitted>) -> bool {
        queue.close();
        let mut group = Vec::new();
        while let Ok(submitted) = queue.try_recv() {
            group.push(submitted);
        }
        self.commit(group.drain(..));
        let end = Instant::now() + IDLE;
        while !self.waiting.is_empty() && Instant::now() < end {
            let _ = tokio::time::timeout(LOOK, self.bell.rung()).await;
            self.tick();
        }
        self.waiting.expire(&self.standing, Instant::now() + Duration::from_secs(3_600));
        self.last_snapshot();
        match self.parts.flusher.now().await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                log::failure!("cannot flush the store: {error}");
                false
            }
            Err(_) => false,
        }
    }

    fn wake_at(&self) -> Instant {
        let busy = !self.waiting.is_empty() || self.snapshots.is_busy();
        let look = if busy { self.next_look.min(Instant::now() + LOOK) } else { self.next_look };
        self.waiting.deadline().map_or(look, |deadline| deadline.min(look))
    }

    fn tick(&mut self) {
        if !self.waiting.is_empty() {
            self.roster.reap();
        }
        if self.files_at <= Instant::now() {
            self.files_at = Instant::now() + IDLE;
            self.look_after_files();
        }
        self.roster.find_followers();
        self.look();
        self.waiting.expire(&self.standing, Instant::now());
        self.snapshot_tick();
        self.parts.store().beat();
        if self.learn_at <= Instant::now() && self.parts.uses().is_none() && !self.heavy_runs {
            self.learn_at = Instant::now() + LEARN;
            self.commit(std::iter::once(Submitted::first()));
        }
        let is_idle = !self.heavy_runs && self.heavy.is_empty() && self.reading == 0;
        if self.forget_at.is_some_and(|at| at <= Instant::now()) && is_idle {
            self.forget_at = None;
            self.forget_objects();
        }
        let busy = !self.waiting.is_empty() || self.snapshots.is_busy();
        self.next_look = Instant::now() + if busy { LOOK } else { IDLE };
    }

    fn publish_found(&mut self, found: impl Iterator<Item = Op>) {
        let frames: Vec<Vec<u8>> = found.filter_map(|op| self.known.note(&op)).collect();
        if frames.is_empty() {
            return;
        }
        let runtime: Vec<Frame<'_>> = frames.iter().map(|frame| Frame::Runtime(frame)).collect();
        if let Err(error) = self.append_to_all(&runtime) {
            // It is known and comes with the next generation.
            return log::failure!("cannot publish what the health checks found: {error}");
        }
        self.roster.wake();
    }
}
