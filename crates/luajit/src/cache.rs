//! A cache of prototypes and traces.
//!
//! A stack has dozens of frames, mostly of functions seen a moment ago: a cached item is compared
//! with the process's memory from time to time instead of being read for each sample.

use std::time::{Duration, Instant};

use crate::object::{self, Fields};
use crate::proto::Proto;
use crate::trace::Trace;
use crate::vm::Vm;

/// Maximum number of cached prototypes and of traces; beyond it the cache is cleared.
const MAX_PROTOS: usize = 16_384;
const MAX_TRACES: usize = 16_384;
/// Time for which a cached item is used without checking the memory.
const TRUSTED: Duration = Duration::from_millis(50);
/// `jit_State.sizetrace` after `jit_State.trace`.
const TRACE_COUNT: u64 = 12;
/// LuaJIT's own limit is 65,535.
const MAX_TRACE_COUNT: u32 = 1 << 16;

impl Vm {
    /// A prototype, cached if it is still valid.
    pub(crate) fn proto(&mut self, address: u64) -> Option<&Proto> {
        let now = Instant::now();
        let fresh = match self.protos.get_mut(&address) {
            Some((at, _)) if now.duration_since(*at) < TRUSTED => true,
            // A process's last samples are processed after it has ended, so its cached prototypes are used unchecked.
            Some((at, proto)) if proto.is_current(self.memory) || self.memory.u64(address).is_err() => {
                *at = now;
                true
            }
            _ => false,
        };
        if !fresh {
            self.names.remove(&address);
            self.protos.remove(&address);
            let proto = Proto::read(self.memory, address)?;
            if self.protos.len() >= MAX_PROTOS {
                self.protos.clear();
                self.names.clear();
            }
            self.protos.insert(address, (now, proto));
        }
        self.protos.get(&address).map(|(_, proto)| proto)
    }

    /// The trace that contains an address of machine code; `number` is the running one according to the VM.
    pub(crate) fn trace(&mut self, global: u64, number: u32, address: u64) -> Option<&mut Trace> {
        let number = if self.has_code(global, number, address) {
            number
        } else {
            self.trace_numbers(global).into_iter().find(|&other| self.has_code(global, other, address))?
        };
        self.traces.get_mut(&(global, number)).map(|(_, trace)| trace)
    }

    /// A trace by its number.
    pub(crate) fn trace_of(&mut self, global: u64, number: u32) -> Option<&mut Trace> {
        let key = (global, number);
        let now = Instant::now();
        let fresh = match self.traces.get_mut(&key) {
            Some((at, _)) if now.duration_since(*at) < TRUSTED => true,
            Some((at, trace)) if trace.is_current(self.memory) || self.memory.u64(global).is_err() => {
                *at = now;
                true
            }
            _ => false,
        };
        if !fresh {
            let table = self.memory.u64(global + u64::from(self.layout.handlers.g_traces)).ok()?;
            let address = self.memory.u64(table + 8 * u64::from(number)).ok()?;
            // A collected trace is kept: samples may still refer to it by number.
            let trace = Trace::read(self.memory, address, number);
            if self.traces.len() >= MAX_TRACES {
                self.traces.clear();
            }
            match trace {
                Some(trace) => drop(self.traces.insert(key, (now, trace))),
                None => self.traces.get_mut(&key)?.0 = now,
            }
        }
        self.traces.get_mut(&key).map(|(_, trace)| trace)
    }

    fn has_code(&mut self, global: u64, number: u32, address: u64) -> bool {
        number != 0 && self.trace_of(global, number).is_some_and(|trace| trace.code.contains(&address))
    }

    /// Numbers of existing traces: the table is larger than their number, and is read at once.
    fn trace_numbers(&self, global: u64) -> Vec<u32> {
        let at = global.wrapping_add(u64::from(self.layout.handlers.g_traces));
        let count = self.memory.u32(at.wrapping_add(TRACE_COUNT)).unwrap_or(0).min(MAX_TRACE_COUNT);
        let table = self.memory.u64(at).ok().and_then(|table| object::read(self.memory, table, 8 * count as usize));
        let table = table.unwrap_or_default();
        (1..count).filter(|&number| table.u64(8 * number as usize).is_some_and(|trace| trace != 0)).collect()
    }
}
