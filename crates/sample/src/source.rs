//! Where records come from: BPF programs, or perf events where those are refused.

use std::fmt;
use std::ops::ControlFlow;

use crate::ebpf::{CallSum, Counters, Programs, Waited};
use crate::error::SampleError;
use crate::options::{Backend, Options};
use crate::perf::PerfEvents;
use crate::privilege::privilege;
use crate::record::Record;
use crate::target::Found;

/// One of the two.
pub(crate) enum Source {
    Ebpf(Box<Programs>),
    Perf(PerfEvents),
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Source").field(&self.method()).finish()
    }
}

impl Source {
    /// Starts what was asked for, or what is possible; with it comes a sentence about what is not.
    pub(crate) fn start(found: &Found, options: &Options) -> Result<(Self, Vec<String>), SampleError> {
        let refusal = match options.backend {
            Backend::PerfEvent => "they were asked for".to_owned(),
            Backend::Auto | Backend::Ebpf => match Programs::start(&found.scope, options) {
                Ok(programs) => return Ok((Self::Ebpf(Box::new(programs)), Vec::new())),
                Err(error) if options.backend == Backend::Ebpf => return Err(privilege().err().unwrap_or(error)),
                Err(error) => error.to_string(),
            },
        };
        let needs_bpf =
            [("sampling of waits", options.off_cpu.is_some()), ("counting of system calls", options.system_calls)];
        if let Some((what, _)) = needs_bpf.into_iter().find(|(_, wanted)| *wanted) {
            return Err(privilege().err().unwrap_or(SampleError::NeedsBpf { what, reason: refusal }));
        }
        let events = PerfEvents::start(&found.scope, &found.pids, options)
            .map_err(|error| privilege().err().unwrap_or(error))?;
        let lua = if options.lua { ", which cannot read Lua stacks" } else { "" };
        Ok((Self::Perf(events), vec![format!("perf events were used{lua}: {refusal}")]))
    }

    /// What [`weir_profile::Meta::method`] says.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Ebpf(_) => "ebpf",
            Self::Perf(_) => "perf_event",
        }
    }

    /// Gives every record to `take`, until that says to stop. Returns how full the ring was.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) -> f64 {
        match self {
            Self::Ebpf(programs) => programs.drain(take),
            Self::Perf(events) => events.drain(take),
        }
    }

    /// Whether any process is left to sample.
    pub(crate) fn any_target(&self) -> bool {
        match self {
            Self::Ebpf(programs) => programs.any_target(),
            Self::Perf(events) => events.any_target(),
        }
    }

    /// Begins the sampling. Perf events have begun by themselves.
    pub(crate) fn open(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.set_gate(true);
        }
    }

    /// Ends the sampling; what is in the rings stays.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Ebpf(programs) => programs.set_gate(false),
            Self::Perf(events) => events.disable(),
        }
    }

    /// Takes the programs away, which takes a while.
    pub(crate) fn detach(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.detach();
        }
    }

    /// Writes waits that are not over to the ring; for when all else is detached.
    pub(crate) fn still_waiting(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.still_waiting();
        }
    }

    /// What could not be done, a sentence each; each is given once.
    pub(crate) fn remarks(&mut self) -> Vec<String> {
        match self {
            Self::Ebpf(programs) => programs.remarks(),
            Self::Perf(_) => Vec::new(),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        match self {
            Self::Ebpf(programs) => programs.counters(),
            Self::Perf(events) => Counters { lost: events.lost(), ..Counters::default() },
        }
    }

    pub(crate) fn calls(&self) -> Vec<CallSum> {
        match self {
            Self::Ebpf(programs) => programs.calls(),
            Self::Perf(_) => Vec::new(),
        }
    }

    pub(crate) fn short_waits(&self) -> Vec<Waited> {
        match self {
            Self::Ebpf(programs) => programs.short_waits(),
            Self::Perf(_) => Vec::new(),
        }
    }

    /// Says where a process's Lua is; `None`: nowhere any more.
    pub(crate) fn set_lua(&mut self, pid: u32, offsets: Option<&[u8]>) {
        if let Self::Ebpf(programs) = self {
            programs.set_lua(pid, offsets);
        }
    }
}
