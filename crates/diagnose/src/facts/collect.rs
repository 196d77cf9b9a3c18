//! Gathers facts: reads counters, samples for a while, reads counters again.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_profile::Profile;

use super::binaries::Binaries;
use super::nginx::{NginxRequests, nginx_facts};
use super::root::Root;
use super::{Facts, KernelFacts, ProcessFacts, Role, kernel, lua, process, sampling, stub_status};

/// Options for gathering facts.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of the window; zero takes a snapshot without counting or sampling.
    pub duration: Duration,
    /// Samples per second.
    pub frequency_hz: u32,
    /// Whether to sample at all.
    pub profile: bool,
    /// URL of nginx's `stub_status`, such as `http://127.0.0.1:8080/status`. Only `http://`.
    pub requests_from: Option<String>,
    /// Requests that the process answers meanwhile, if the caller counts them.
    pub requests: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { duration: Duration::from_secs(10), frequency_hz: 99, profile: true, requests_from: None, requests: None }
    }
}

/// The reasons why nothing could be gathered.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// It ended during the window.
    #[error("process {pid} ended during the measurement")]
    Ended {
        /// The process.
        pid: u32,
    },
}

/// Gathers facts about a process. A worker stands for its whole nginx.
///
/// Facts that cannot be read for lack of privilege are missing, and explained in
/// [`Facts::remarks`]. `stop` ends the window early; everything gathered until then is kept.
///
/// # Errors
/// If the process does not exist or ends meanwhile.
pub fn collect(
    pid: u32,
    options: &Options,
    stop: &AtomicBool,
    at: &mut dyn FnMut(WindowEdge),
) -> Result<Facts, CollectError> {
    let mut facts = Facts { taken_ms: now_ms(), ..Facts::default() };
    let first = process::ProcessSnapshot::take(pid).map_err(|_| CollectError::NoProcess { pid })?.pid;
    // Loading the programs and resolving names take a while and are not part of the window.
    let mut session = options.samples().then(|| sampling::start(first, options));
    at(WindowEdge::Opens);
    let window = Window::open(first, options, &mut facts.remarks).ok_or(CollectError::NoProcess { pid })?;
    match &mut session {
        Some(Ok(session)) => session.watch(stop, &mut |_| {}),
        // If sampling is denied, the counters are still worth the whole window.
        None | Some(Err(_)) => window.wait(options, stop),
    }
    let after = window.close(options);
    at(WindowEdge::Closes);
    facts.remarks.extend(after.remarks);
    match session.map(|session| session.map(|mut session| session.recorded())) {
        Some(Ok(recorded)) => (facts.profile, facts.off_cpu) = (recorded.on_cpu, recorded.off_cpu),
        Some(Err(error)) => facts.remarks.push(format!("nothing was sampled: {error}")),
        None => {}
    }
    let mut found = after.process.map_err(|_| CollectError::Ended { pid })?;
    accepted(&mut found, facts.profile.as_ref());
    (facts.seconds, facts.kernel) = (after.seconds, Some(after.kernel));
    facts.count_requests(options.requests.or(after.answered.map(|answered| answered.requests)));
    files(&mut facts, &mut found, after.answered);
    facts.process = Some(found);
    Ok(facts)
}

/// A boundary of the window, for callers that count something else in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEdge {
    /// It opens now.
    Opens,
    /// It has closed.
    Closes,
}

impl Options {
    fn samples(&self) -> bool {
        self.profile && !self.duration.is_zero()
    }
}

/// Counters at the start of the window.
struct Window {
    process: process::ProcessSnapshot,
    kernel: kernel::KernelSnapshot,
    requests: Option<NginxRequests>,
    began: Instant,
}

/// Counters over the window.
struct After {
    process: io::Result<ProcessFacts>,
    kernel: KernelFacts,
    answered: Option<NginxRequests>,
    seconds: f64,
    remarks: Vec<String>,
}

impl Window {
    /// `None`: the process is gone.
    fn open(pid: u32, options: &Options, remarks: &mut Vec<String>) -> Option<Self> {
        let requests = options.requests_from.as_deref().and_then(|url| noted(stub_status::read(url), url, remarks));
        let process = process::ProcessSnapshot::take(pid).ok()?;
        Some(Self { process, kernel: kernel::KernelSnapshot::take(pid), requests, began: Instant::now() })
    }

    fn wait(&self, options: &Options, stop: &AtomicBool) {
        const NAP: Duration = Duration::from_millis(20);
        let end = self.began + options.duration;
        while Instant::now() < end && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(NAP.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Reads the counters again.
    fn close(self, options: &Options) -> After {
        let seconds = if options.duration.is_zero() { 0.0 } else { self.began.elapsed().as_secs_f64() };
        let mut remarks = Vec::new();
        let answered = self
            .requests
            .zip(options.requests_from.as_deref())
            .and_then(|(before, url)| Some(noted(stub_status::read(url), url, &mut remarks)?.since(before)));
        let process = self.process.finish(&mut remarks);
        After { process, kernel: self.kernel.finish(&mut remarks), answered, seconds, remarks }
    }
}

/// Reads files: binaries, the configuration, Lua.
fn files(facts: &mut Facts, process: &mut ProcessFacts, answered: Option<NginxRequests>) {
    let root = Root::of(process.pid);
    // Workers map the same files as their master, which may not be visible; any worker will do.
    let mapped_by = process.workers.first().map_or(process.pid, |worker| worker.pid);
    let binaries = Binaries::of(mapped_by, &process.exe, &root, &mut facts.remarks);
    process.build_id = binaries.executable().map(|build| build.build_id.clone()).unwrap_or_default();
    // The binary's strings alone are not sufficient: Weir's own tests also contain nginx's strings.
    if process.role != Role::Other {
        match &binaries.nginx {
            Some(nginx) => {
                let mut read = nginx_facts(process.pid, nginx, &binaries.paths(), &root);
                read.requests = answered;
                facts.remarks.extend(
                    read.configuration
                        .errors
                        .first()
                        .map(|first| format!("the configuration could not be read completely ({first})")),
                );
                facts.remarks.extend(read.changed_since_start.first().map(|file| {
                    format!("{file} was changed after the workers started, so they may run an older version")
                }));
                facts.nginx = Some(read);
            }
            None => facts.remarks.push(format!("{} does not contain nginx's version", process.exe)),
        }
    }
    let library = binaries.luajit.as_ref().map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
    facts.lua = lua::lua_facts(facts.nginx.as_ref(), library, &root);
    facts.binaries = binaries.builds;
}

/// Connections accepted by each process, from its successful calls of `accept` and `accept4`.
fn accepted(process: &mut ProcessFacts, profile: Option<&Profile>) {
    let Some(profile) = profile.filter(|profile| !profile.system_calls.is_empty()) else { return };
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for call in profile.system_calls.iter().filter(|call| matches!(call.name.as_str(), "accept" | "accept4")) {
        *counts.entry(call.pid).or_default() += call.calls.saturating_sub(call.errors);
    }
    for worker in &mut process.workers {
        worker.accepted = Some(counts.get(&worker.pid).copied().unwrap_or(0));
    }
}

fn noted<T>(read: io::Result<T>, url: &str, remarks: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| remarks.push(format!("requests are not counted: {url}: {error}"))).ok()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
