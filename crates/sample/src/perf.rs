//! Sampling with perf events alone, if BPF is denied.
//!
//! The kernel copies registers and stack bytes itself, always the full requested size, so a sample
//! costs more than with BPF; Lua stacks and waits are not available. Events are opened for each
//! thread and CPU, and their children inherit them; if there are too many threads, they are opened
//! for each CPU, and samples of other processes are dropped here.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use crate::cpus;
use crate::ebpf::Scope;
use crate::error::SampleError;
use crate::event::{self, Attributes};
use crate::options::Options;
use crate::record::{Record, RecordKind};

mod parse;
mod ring;

use parse::Event;
use ring::PerfRing;

/// Maximum number of events: each takes a descriptor, of which a process has 1,024 by default.
const MOST_EVENTS: usize = 512;
/// Maximum number of cached thread names.
const MOST_NAMES: usize = 65_536;

const PERF_SAMPLE_TID: u64 = 1 << 1;
const PERF_SAMPLE_TIME: u64 = 1 << 2;
const PERF_SAMPLE_CALLCHAIN: u64 = 1 << 5;
const PERF_SAMPLE_REGS_USER: u64 = 1 << 12;
const PERF_SAMPLE_STACK_USER: u64 = 1 << 13;
/// The registers in [`weir_unwind::Registers`], as bits of `perf_regs.h`, in the same order.
const REGISTERS: u64 = 0x1ff | 0xff << 16;
/// `_IO('$', 5)`
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// Open events. They end when this is dropped.
pub(crate) struct PerfEvents {
    rings: Vec<PerfRing>,
    events: Vec<OwnedFd>,
    watched: WatchedProcesses,
}

/// The state needed to turn events into records.
struct WatchedProcesses {
    /// The sampled processes; `None` for all.
    pids: Option<HashSet<u32>>,
    /// Whether events of other processes arrive too.
    others: bool,
    /// Processes whose main thread has ended: records of other threads and CPUs may still arrive.
    leaving: Vec<u32>,
    /// Names of threads.
    names: HashMap<u32, Vec<u8>>,
    stack_bytes: u32,
    period_ns: u64,
    lost: u64,
}

impl WatchedProcesses {
    /// Processes an event, and passes it to `take` if it is a record.
    fn see(&mut self, bytes: &[u8], take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        match Event::parse(bytes) {
            Some(Event::Lost(n)) => self.lost += n,
            Some(Event::Fork { pid, parent }) => {
                if let Some(pids) = self.pids.as_mut().filter(|pids| pids.contains(&parent)) {
                    pids.insert(pid);
                }
            }
            Some(event) => {
                if let Some((pid, tid)) = event.thread().filter(|(pid, _)| self.keeps(*pid)) {
                    return self.of_thread(&event, pid, tid, take);
                }
            }
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn keeps(&self, pid: u32) -> bool {
        !self.others || self.pids.as_ref().is_none_or(|pids| pids.contains(&pid))
    }

    fn of_thread(
        &mut self,
        event: &Event<'_>,
        pid: u32,
        tid: u32,
        take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let Event::Name { name, .. } = event {
            self.names.insert(tid, (*name).to_vec());
        }
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        let comm = self.names.entry(tid).or_insert_with(|| name_of(pid, tid));
        let record = event.record(comm, self.stack_bytes, self.period_ns);
        let go_on = record.map_or(ControlFlow::Continue(()), take);
        if event.is_exit() {
            self.names.remove(&tid);
            if pid == tid {
                self.leaving.push(pid);
            }
        }
        go_on
    }

    /// Reports processes that have ended: a process lives as long as any of its threads.
    fn report_exits(&mut self, take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) {
        for pid in std::mem::take(&mut self.leaving) {
            if threads(&[pid]).iter().any(|&tid| tid != pid) {
                self.leaving.push(pid);
                continue;
            }
            if let Some(pids) = &mut self.pids {
                pids.remove(&pid);
            }
            // The result is checked again with the next record.
            let _ = take(Record::of(RecordKind::Exited, pid, pid, b""));
        }
    }
}

impl PerfEvents {
    /// Opens the events.
    pub(crate) fn start(scope: &Scope, pids: &[u32], options: &Options) -> Result<Self, SampleError> {
        let online = cpus::online().map_err(|error| SampleError::read("/sys/devices/system/cpu", error))?;
        // The kernel uses a 16-bit number for the length of the whole record.
        let stack_bytes = options.stack_bytes.min(parse::MOST_STACK) & !7;
        let mut this = Self {
            rings: Vec::new(),
            events: Vec::new(),
            watched: WatchedProcesses {
                pids: (*scope != Scope::All).then(|| pids.iter().copied().collect()),
                others: true,
                leaving: Vec::new(),
                names: HashMap::new(),
                stack_bytes,
                period_ns: event::period_ns(options.frequency_hz),
                lost: 0,
            },
        };
        let attributes = attributes(options.frequency_hz, stack_bytes);
        let threads = if *scope == Scope::All { Vec::new() } else { threads(pids) };
        if threads.is_empty() || threads.len() * online.len() > MOST_EVENTS {
            online.iter().try_for_each(|&cpu| this.open(&attributes, &[None], cpu)).map_err(refused)?;
        } else {
            this.watched.others = false;
            let threads: Vec<_> = threads.into_iter().map(Some).collect();
            online.iter().try_for_each(|&cpu| this.open(&attributes, &threads, cpu)).map_err(refused)?;
        }
        Ok(this)
    }

    /// Opens the events of a CPU: the first one gets a ring, the others write to it.
    fn open(&mut self, attributes: &Attributes, threads: &[Option<u32>], cpu: u32) -> io::Result<()> {
        let mut owner: Option<i32> = None;
        for &thread in threads {
            let event = match attributes.open(thread, Some(cpu)) {
                Ok(event) => event,
                // The thread has ended, or the CPU has been taken offline.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) => continue,
                Err(error) => return Err(error),
            };
            match owner {
                None => {
                    self.rings.push(PerfRing::map(event.as_fd())?);
                    owner = Some(event.as_raw_fd());
                }
                // SAFETY: both are descriptors of events; no memory is passed.
                Some(owner) => match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, owner) } {
                    0 => {}
                    _ => return Err(io::Error::last_os_error()),
                },
            }
            self.events.push(event);
        }
        Ok(())
    }

    /// Passes every record to `take`, until that says to stop. Returns how full the fullest ring was.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) -> f64 {
        let Self { rings, watched, .. } = self;
        let full = rings.iter_mut().map(|ring| ring.drain(&mut |bytes| watched.see(bytes, take))).fold(0.0, f64::max);
        watched.report_exits(take);
        full
    }

    /// Samples lost because a ring was full.
    pub(crate) fn lost(&self) -> u64 {
        self.watched.lost
    }

    /// Whether any sampled process still exists.
    pub(crate) fn any_target(&self) -> bool {
        self.watched
            .pids
            .as_ref()
            .is_none_or(|pids| pids.iter().any(|pid| Path::new("/proc").join(pid.to_string()).exists()))
    }

    /// Ends sampling; the rings keep their contents.
    pub(crate) fn disable(&mut self) {
        const DISABLE: libc::c_ulong = 0x2401;
        for event in &self.events {
            // SAFETY: the descriptor of an event; no memory is passed.
            unsafe { libc::ioctl(event.as_raw_fd(), DISABLE, 0) };
        }
    }
}

fn attributes(frequency_hz: u32, stack_bytes: u32) -> Attributes {
    let mut attributes = Attributes::clock(frequency_hz);
    attributes.sample_type =
        PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes.flags |= event::INHERIT
        | event::COMM
        | event::COMM_EXEC
        | event::TASK
        | event::EXCLUDE_CALLCHAIN_USER
        | event::USE_CLOCK_ID;
    attributes.clock = libc::CLOCK_MONOTONIC;
    attributes.registers = REGISTERS;
    attributes.stack_bytes = stack_bytes;
    attributes
}

/// All threads of these processes.
fn threads(pids: &[u32]) -> Vec<u32> {
    let of = |pid: &u32| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    pids.iter().flat_map(of).filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn name_of(pid: u32, tid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default().trim_ascii_end().to_vec()
}

/// The error if perf events are denied.
pub(crate) fn refused(source: io::Error) -> SampleError {
    let hint = match source.raw_os_error() {
        Some(libc::EMFILE) => "more open files are needed (`ulimit -n`)",
        Some(libc::ENOENT | libc::ENOSYS | libc::EOPNOTSUPP) => "the kernel needs CONFIG_PERF_EVENTS",
        _ => "CAP_PERFMON or root is needed, or a lower `sysctl kernel.perf_event_paranoid`",
    };
    SampleError::PerfEvent { source, hint }
}

impl Event<'_> {
    /// The record for this event; `None` if it only concerns the reader.
    fn record<'a>(&'a self, comm: &'a [u8], stack_bytes: u32, period_ns: u64) -> Option<Record<'a>> {
        let (pid, tid) = self.thread()?;
        let kind = match self {
            Event::Sample(_) => RecordKind::OnCpu,
            Event::Name { executed: true, .. } => RecordKind::Executed,
            _ => return None,
        };
        let mut record = Record::of(kind, pid, tid, comm);
        if let Event::Sample(sample) = self {
            record.time_ns = sample.time_ns;
            record.weight_ns = period_ns;
            record.registers = sample.registers;
            record.stack = sample.stack;
            record.stack_cut = sample.stack.len() >= stack_bytes as usize;
            record.kernel = &sample.kernel;
        }
        Some(record)
    }
}
