//! The source of records: BPF programs, or perf events if BPF is denied.

use std::fmt;
use std::ops::ControlFlow;

use crate::ebpf::{CallSum, Counters, Programs, ShortWaits};
use crate::error::SampleError;
use crate::options::{Backend, Options};
use crate::perf::PerfEvents;
use crate::privilege::privilege;
use crate::record::Record;
use crate::target::ResolvedTarget;

/// BPF programs or perf events.
pub(crate) enum RecordSource {
    Ebpf(Box<Programs>),
    Perf(PerfEvents),
}

impl fmt::Debug for RecordSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RecordSource").field(&self.method()).finish()
    }
}

impl RecordSource {
    /// Starts what was requested, as far as possible; returns remarks on what is not possible.
    pub(crate) fn start(found: &ResolvedTarget, options: &Options) -> Result<(Self, Vec<String>), SampleError> {
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

    /// The value of [`weir_profile::Meta::method`].
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Ebpf(_) => "ebpf",
            Self::Perf(_) => "perf_event",
        }
    }

    /// Passes every record to `take`, until that says to stop. Returns how full the ring was.
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

    /// Begins sampling. Perf events begin by themselves.
    pub(crate) fn open(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.set_gate(true);
        }
    }

    /// Ends sampling; the rings keep their contents.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Ebpf(programs) => programs.set_gate(false),
            Self::Perf(events) => events.disable(),
        }
    }

    /// Detaches the programs, which takes a while.
    pub(crate) fn detach(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.detach();
        }
    }

    /// Writes unfinished waits to the ring; call it after detaching everything else.
    pub(crate) fn still_waiting(&mut self) {
        if let Self::Ebpf(programs) = self {
            programs.still_waiting();
        }
    }

    /// Limitations, a sentence each; each is returned once.
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

    pub(crate) fn short_waits(&self) -> Vec<ShortWaits> {
        match self {
            Self::Ebpf(programs) => programs.short_waits(),
            Self::Perf(_) => Vec::new(),
        }
    }

    /// Sets the Lua offsets of a process; `None` removes them.
    pub(crate) fn set_lua(&mut self, pid: u32, offsets: Option<&[u8]>) {
        if let Self::Ebpf(programs) = self {
            programs.set_lua(pid, offsets);
        }
    }
}
