//! A sampling session: start, read until the end, resolve names.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_profile::{Meta, Profile, ProfileKind};

use crate::error::SampleError;
use crate::gather::Gather;
use crate::options::Options;
use crate::source::RecordSource;
use crate::system_calls;
use crate::target::ResolvedTarget;
use weir_profile::amount::counted;

/// Maximum and minimum interval between emptying the rings. Waking ten times a second keeps the cost low.
const LONGEST: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_millis(5);
/// A ring fuller than this is emptied twice as often, one emptier than that half as often.
const FULL: f64 = 0.25;
const EMPTY: f64 = 0.06;

/// Progress of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Samples taken, on and off CPU.
    pub samples: u64,
    /// Samples lost because a ring was full.
    pub lost: u64,
}

/// The result of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The on-CPU profile, with the system calls if they were counted; `None` if neither was requested.
    pub on_cpu: Option<Profile>,
    /// The off-CPU profile.
    pub off_cpu: Option<Profile>,
}

/// Prepared sampling, which begins with [`Session::watch`]. When dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Session {
    source: RecordSource,
    gather: Gather,
    options: Options,
    meta: Meta,
    started: Instant,
}

impl Session {
    /// Prepares sampling: loads and attaches the programs, which takes a while.
    ///
    /// # Errors
    /// If the kernel denies it, with advice.
    pub fn start(found: &ResolvedTarget, options: &Options) -> Result<Self, SampleError> {
        options.check()?;
        // Processes and their Lua come first; otherwise the first samples would lack their Lua stacks.
        let mut gather = Gather::new(options.lua);
        for &pid in &found.pids {
            gather.open(pid);
        }
        let (source, refusals) = RecordSource::start(found, options)?;
        if let [pid] = found.pids[..] {
            // It may have ended since it was found.
            if !Path::new("/proc").join(pid.to_string()).exists() {
                return Err(SampleError::NoSuchProcess { pid });
            }
        }
        refusals.into_iter().for_each(|refusal| gather.remark(refusal));
        let meta = Meta {
            title: found.title.clone(),
            source: "weir".into(),
            method: source.method().into(),
            frequency_hz: options.frequency_hz,
            ..Meta::default()
        };
        let mut session = Self { source, gather, options: options.clone(), meta, started: Instant::now() };
        session.update();
        Ok(session)
    }

    /// [`Session::watch`], then [`Session::recorded`].
    pub fn run(&mut self, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Recorded {
        self.watch(stop, progress);
        self.recorded()
    }

    /// Samples until `stop` is set, the duration is over, or no process is left. `progress` is called some ten times
    /// a second. Samples are taken exactly while this runs: callers that count something in parallel, such as
    /// requests, should start just before and end just after it.
    pub fn watch(&mut self, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.meta.started_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        self.started = Instant::now();
        self.source.open();
        let deadline = self.options.duration.and_then(|duration| self.started.checked_add(duration));
        // Checked after each record, because opening a process with large binaries may take longer
        // than the remaining time.
        let over = || stop.load(Ordering::Relaxed) || deadline.is_some_and(|end| Instant::now() >= end);
        // Short at first: what the first samples reveal about Lua benefits the later ones.
        let mut interval = SHORTEST;
        loop {
            let left = deadline.map_or(LONGEST, |end| end.saturating_duration_since(Instant::now()));
            std::thread::sleep(interval.min(left));
            let full = self.drain(over);
            interval = match full {
                full if full > FULL => (interval / 2).max(SHORTEST),
                full if full < EMPTY => (interval * 2).min(LONGEST),
                _ => interval,
            };
            progress(&self.progress());
            if !self.source.any_target() {
                let seconds = self.started.elapsed().as_secs_f64();
                self.gather.remark(format!("the sampled processes ended after {seconds:.1} s"));
                break;
            }
            if over() {
                break;
            }
        }
        self.source.close();
        self.meta.duration_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.gather.sampled_ns = self.meta.duration_ns;
    }

    fn progress(&self) -> Progress {
        let counters = self.source.counters();
        let lost = counters.lost + counters.lost_waits;
        Progress { elapsed: self.started.elapsed(), samples: self.gather.samples(), lost }
    }

    /// Takes all available records, or until `over` returns true. Returns how full the ring was.
    fn drain(&mut self, over: impl Fn() -> bool) -> f64 {
        let gather = &mut self.gather;
        let full = self.source.drain(&mut |record| {
            gather.take(&record);
            if over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.update();
        full
    }

    /// Passes newly found Lua virtual machines to the kernel side.
    fn update(&mut self) {
        for (pid, offsets) in self.gather.lua_updates.drain(..) {
            self.source.set_lua(pid, offsets.as_deref());
        }
    }

    /// The result, with names.
    pub fn recorded(&mut self) -> Recorded {
        self.source.detach();
        // Earlier records have left the ring by then.
        self.drain(|| false);
        self.source.still_waiting();
        self.drain(|| false);
        self.add_counters();
        self.gather.finish();
        let (mut on_cpu, mut off_cpu) = (None, None);
        if self.options.on_cpu || self.options.off_cpu.is_none() {
            on_cpu = Some(self.profile(ProfileKind::OnCpu));
        }
        if self.options.off_cpu.is_some() {
            off_cpu = Some(self.profile(ProfileKind::OffCpu));
        }
        Recorded { on_cpu, off_cpu }
    }

    /// Adds what was only counted.
    fn add_counters(&mut self) {
        self.source.remarks().into_iter().for_each(|remark| self.gather.remark(remark));
        let counters = self.source.counters();
        if counters.no_slot > 0 {
            self.gather.remark(format!(
                "a process or thread could not be followed {} because a table was full",
                counted(counters.no_slot, "time")
            ));
        }
        if counters.capped > 0 {
            self.gather.remark(format!(
                "{} without a user stack: there were too many per second",
                counted(counters.capped, "wait")
            ));
        }
        let Some(shortest) = self.options.off_cpu else { return };
        let marker = format!("[waits shorter than {shortest:?}]");
        for waited in self.source.short_waits() {
            let stack = [self.gather.stacks.marker(&marker)];
            let thread = self.gather.stacks.thread(waited.pid, waited.pid, b"");
            self.gather.stacks.add(ProfileKind::OffCpu, thread, &stack, waited.count, waited.total_ns);
        }
    }

    fn profile(&self, kind: ProfileKind) -> Profile {
        let mut profile = self.gather.profile(kind);
        let counters = self.source.counters();
        profile.health.lost = if kind == ProfileKind::OffCpu { counters.lost_waits } else { counters.lost };
        // Waits are not sampled at a rate.
        let frequency_hz = if kind == ProfileKind::OffCpu { 0 } else { self.meta.frequency_hz };
        profile.meta = Meta { remarks: profile.meta.remarks, frequency_hz, ..self.meta.clone() };
        profile.system_calls = system_calls::shown(self.source.calls());
        profile
    }
}
