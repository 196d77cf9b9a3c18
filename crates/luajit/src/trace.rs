//! Traces: machine code compiled by LuaJIT, and the Lua code that it stands for.
//!
//! A trace runs through several functions, but only the frame in which it started is on the Lua
//! stack. The others can be recovered: for each exit of a trace, LuaJIT stores a snapshot of the
//! Lua stack to be rebuilt, frames included, and the start of the corresponding machine code. The
//! snapshot in effect at an address therefore gives the functions running there.

use std::collections::HashMap;
use std::ops::Range;

use weir_unwind::Memory;

use crate::bytecode::Instruction;
use crate::object::{self, Fields};
use crate::proto::PROTO_SIZE;

/// Maximum number of snapshots, of their entries, and of constants of a trace (LuaJIT's own limits are lower).
const MAX_SNAPSHOTS: usize = 4096;
const MAX_ENTRIES: u32 = 1 << 16;
/// Maximum number of frames of one snapshot; it has at most 250 slots, and a frame takes two.
const MAX_INLINED: usize = 128;

/// Length of the fields of `GCtrace` before its machine code's address, which the interpreter's code reveals.
pub(crate) const MCODE: u64 = 88;
const HEADER: usize = 112;
/// A snapshot: `mapofs`, `ref`, `mcofs`, slots, entries.
const SNAPSHOT: usize = 12;
/// Kinds of links between frames.
const CONTINUATION: u64 = 2;
const VARIABLE_ARGUMENTS: u64 = 3;
/// References of constants lie below this.
const BIAS: u32 = 0x8000;

/// A position in a function that a trace runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inlined {
    /// The function object, if the trace is specialised to it.
    pub function: Option<u64>,
    /// The prototype that contains `pc`, if the trace knows it.
    pub proto: Option<u64>,
    /// The continuation of the function, as in other frames: after the running instruction.
    pub pc: u64,
}

/// A trace.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    address: u64,
    header: Vec<u8>,
    pub number: u32,
    /// The root trace of a side trace; 0 if it is a root.
    pub root: u32,
    pub code: Range<u64>,
    pub start_proto: u64,
    pub start_pc: u64,
    /// Bytes of stack that it uses in addition to the fixed part of all traces.
    pub stack: u16,
    snapshots: Vec<Snapshot>,
    entries: Vec<u8>,
    first_constant: u32,
    constants: Vec<u8>,
    /// Bytecode ranges of the functions that it runs through, with their prototypes.
    protos: Vec<(Range<u64>, u64)>,
    /// Frames of the snapshots that were looked up.
    known: HashMap<usize, Vec<Inlined>>,
}

#[derive(Clone, Copy, Debug)]
struct Snapshot {
    map: u32,
    code: u32,
    count: u8,
}

impl Trace {
    /// Reads a trace.
    pub fn read(memory: Memory, address: u64, number: u32) -> Option<Self> {
        if !object::is(memory, address, object::TRACE) {
            return None;
        }
        let header = object::read(memory, address, HEADER)?;
        let start = header.u64(MCODE as usize)?;
        let first_constant = header.u32(40)?;
        let mut trace = Self {
            address,
            number,
            root: u32::from(header.u16(108)?),
            code: start..start.saturating_add(u64::from(header.u32(84)?)),
            start_proto: header.u64(64)?,
            start_pc: header.u64(72)?,
            stack: header.u16(102)?,
            snapshots: Vec::new(),
            entries: Vec::new(),
            first_constant,
            constants: Vec::new(),
            protos: Vec::new(),
            known: HashMap::new(),
            header,
        };
        if u32::from(trace.header.u16(104)?) != number || start == 0 {
            return None;
        }
        trace.read_snapshots(memory);
        trace.read_constants(memory);
        Some(trace)
    }

    /// Whether the same trace is still there.
    pub fn is_current(&self, memory: Memory) -> bool {
        let Some(now) = object::read(memory, self.address, HEADER) else { return false };
        let same = |from: usize, to: usize| now[from..to] == self.header[from..to];
        now[9] == object::TRACE && same(32, 96) && same(104, 106)
    }

    /// Functions that run at an address of the machine code, innermost first; the last one is that
    /// of the frame on the Lua stack. Empty if not known.
    pub fn frames(&mut self, memory: Memory, lookup: u64) -> &[Inlined] {
        let offset = lookup.saturating_sub(self.code.start);
        let behind = self.snapshots.partition_point(|snapshot| u64::from(snapshot.code) <= offset);
        let Some(index) = behind.checked_sub(1) else { return &[] };
        if !self.known.contains_key(&index) {
            let frames = self.rebuild(memory, self.snapshots[index]).unwrap_or_default();
            self.known.insert(index, frames);
        }
        &self.known[&index]
    }

    fn rebuild(&self, memory: Memory, snapshot: Snapshot) -> Option<Vec<Inlined>> {
        let at = snapshot.map as usize * 4;
        let count = usize::from(snapshot.count);
        let slot = |index: usize| Some((self.entries.u32(at + index * 4)? >> 24, self.entries.u16(at + index * 4)?));
        let slots: HashMap<u32, u16> = (0..count).map(slot).collect::<Option<_>>()?;
        let value = |slot: u32| self.constant(*slots.get(&slot)?);
        let place = self.entries.u64(at + count * 4)?;
        let mut pc = (place >> 8) + 4;
        let mut base = (place & 0xff) as u32;
        let mut frames = Vec::new();
        while base > 0 && frames.len() < MAX_INLINED {
            let link = value(base + 1)?;
            let kind = link & 7;
            if kind != VARIABLE_ARGUMENTS {
                frames.push(Inlined { function: value(base), proto: self.proto_at(pc), pc });
            }
            let size = if link & 3 == 0 {
                2 + Instruction(memory.u32(link - 4).ok()?).a()
            } else {
                u32::try_from(link >> 3).ok()?
            };
            pc = match kind {
                CONTINUATION => value(base - 1)?,
                VARIABLE_ARGUMENTS => pc,
                _ if link & 3 == 0 => link,
                _ => 0,
            };
            base = base.checked_sub(size).filter(|_| size > 0)?;
        }
        frames.push(Inlined { function: None, proto: self.proto_at(pc), pc });
        Some(frames)
    }

    /// A constant's value, which follows its instruction.
    fn constant(&self, reference: u16) -> Option<u64> {
        let index = u32::from(reference).checked_sub(self.first_constant)?;
        (u32::from(reference) < BIAS).then(|| self.constants.u64((index as usize + 1) * 8)).flatten()
    }

    fn read_snapshots(&mut self, memory: Memory) -> Option<()> {
        let count = usize::from(self.header.u16(10)?).min(MAX_SNAPSHOTS);
        let bytes = object::read(memory, self.header.u64(48)?, count * SNAPSHOT)?;
        let length = self.header.u32(44)?.min(MAX_ENTRIES);
        let entries = object::read(memory, self.header.u64(56)?, length as usize * 4)?;
        let snapshots: Vec<Snapshot> = bytes
            .chunks_exact(SNAPSHOT)
            .map(|bytes| Some(Snapshot { map: bytes.u32(0)?, code: u32::from(bytes.u16(6)?), count: bytes.u8(10)? }))
            .collect::<Option<_>>()?;
        // Versions before 2020 have shorter snapshots, without a position in the code: the data
        // read here is then not in order.
        let size = self.code.end - self.code.start;
        let ordered = snapshots.windows(2).all(|pair| pair[0].map <= pair[1].map && pair[0].code <= pair[1].code);
        let inside = snapshots.iter().all(|snapshot| u64::from(snapshot.code) <= size && snapshot.map <= length);
        if ordered && inside {
            self.snapshots = snapshots;
            self.entries = entries;
        }
        Some(())
    }

    fn read_constants(&mut self, memory: Memory) -> Option<()> {
        let count = BIAS.checked_sub(self.first_constant)?;
        let instructions = self.header.u64(32)?;
        let start = instructions.checked_add(u64::from(self.first_constant) * 8)?;
        self.constants = object::read(memory, start, count as usize * 8)?;
        let mut protos = vec![self.start_proto];
        // An object's instruction has its tag as its type, and is followed by the object.
        for at in (0..self.constants.len().saturating_sub(8)).step_by(8) {
            let kind = self.constants.u8(at + 4)? & 0x1f;
            let value = self.constants.u64(at + 8)?;
            let plausible = value & 7 == 0 && value > 4096 && value >> 47 == 0;
            if kind == object::PROTO && plausible {
                protos.push(value);
            } else if kind == object::FUNCTION && plausible && object::is(memory, value, object::FUNCTION) {
                let function = object::read(memory, value, 40)?;
                if function.u8(10)? == 0 {
                    protos.push(function.u64(32)?.wrapping_sub(PROTO_SIZE as u64));
                }
            }
        }
        protos.sort_unstable();
        protos.dedup();
        for proto in protos {
            if object::is(memory, proto, object::PROTO) {
                let start = proto + PROTO_SIZE as u64;
                let length = memory.u32(proto + 12).ok()?;
                self.protos.push((start..start + 4 * u64::from(length), proto));
            }
        }
        Some(())
    }

    fn proto_at(&self, pc: u64) -> Option<u64> {
        let found = self.protos.iter().find(|(code, _)| pc > code.start && pc <= code.end)?;
        Some(found.1)
    }
}
