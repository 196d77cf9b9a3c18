//! Records as the BPF programs write them (`bpf/record.bpf.h`).
//!
//! The bytes come from the kernel, but possibly from programs of another build: data that does not
//! fit is an error and never causes a panic.

use weir_luajit::{RawLua, RawLuaFrame};
use weir_unwind::Registers;

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A sample of a running thread.
    OnCpu,
    /// A thread runs again after a wait.
    Waited,
    /// The user stack of the previous wait.
    WaitedFrom,
    /// The process has executed another program.
    Executed,
    /// The process has exited.
    Exited,
    /// A wait that is unfinished when sampling ends; its weight is 0 if it is older than the sampling.
    StillWaiting,
}

/// One record; slices are of the ring's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub kind: RecordKind,
    pub pid: u32,
    pub tid: u32,
    pub time_ns: u64,
    pub weight_ns: u64,
    pub comm: &'a [u8],
    /// The thread was taken off the CPU although it was runnable.
    pub preempted: bool,
    /// A record [`RecordKind::WaitedFrom`] of the same thread and time will follow.
    pub stack_follows: bool,
    pub registers: Option<Registers>,
    pub stack: &'a [u8],
    pub stack_cut: bool,
    /// Innermost first.
    pub kernel: &'a [u64],
    pub lua: Option<RawLua<'a>>,
}

const KINDS: [RecordKind; 6] = [
    RecordKind::OnCpu,
    RecordKind::Waited,
    RecordKind::WaitedFrom,
    RecordKind::Executed,
    RecordKind::Exited,
    RecordKind::StillWaiting,
];
const HAS_REGISTERS: u32 = 1;
const STACK_CUT: u32 = 2;
const PREEMPTED: u32 = 4;
const STACK_FOLLOWS: u32 = 8;

/// `struct record`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Header {
    kind: u32,
    pid: u32,
    tid: u32,
    flags: u32,
    time_ns: u64,
    weight_ns: u64,
    comm: [u8; 16],
    stack_bytes: u32,
    kernel_bytes: u32,
    lua_bytes: u32,
    reserved: u32,
    registers: Registers,
}

impl<'a> Record<'a> {
    /// Parses a record; `None` if it is malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        // SAFETY: `Header` consists of integers only, without padding, and any bits are an integer.
        let (before, headers, _) = unsafe { bytes.align_to::<Header>() };
        let header = headers.first().filter(|_| before.is_empty())?;
        let (_, data) = bytes.split_at_checked(size_of::<Header>())?;
        let (stack, data) = data.split_at_checked(header.stack_bytes as usize)?;
        let (lua, data) = data.split_at_checked(header.lua_bytes as usize)?;
        let kernel = data.get(..header.kernel_bytes as usize)?;
        // SAFETY: any bits are an integer.
        let (before, addresses, after) = unsafe { kernel.align_to::<u64>() };
        if !before.is_empty() || !after.is_empty() {
            return None;
        }
        let comm = &bytes[COMM_AT..COMM_AT + header.comm.len()];
        Some(Self {
            kind: *KINDS.get(header.kind.checked_sub(1)? as usize)?,
            pid: header.pid,
            tid: header.tid,
            time_ns: header.time_ns,
            weight_ns: header.weight_ns,
            comm: comm.split(|&byte| byte == 0).next().unwrap_or_default(),
            preempted: header.flags & PREEMPTED != 0,
            stack_follows: header.flags & STACK_FOLLOWS != 0,
            registers: (header.flags & HAS_REGISTERS != 0).then_some(header.registers),
            stack,
            stack_cut: header.flags & STACK_CUT != 0,
            kernel: addresses,
            lua: parse_lua(lua),
        })
    }

    /// A record without registers and stacks.
    pub(crate) fn of(kind: RecordKind, pid: u32, tid: u32, comm: &'a [u8]) -> Self {
        Self {
            kind,
            pid,
            tid,
            time_ns: 0,
            weight_ns: 0,
            comm,
            preempted: false,
            stack_follows: false,
            registers: None,
            stack: &[],
            stack_cut: false,
            kernel: &[],
            lua: None,
        }
    }
}

/// `struct lua_stack` of `bpf/lua_types.bpf.h`, before its frames.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct LuaHead {
    global: u64,
    jit_base: u64,
    cframe: u64,
    vmstate: i32,
    flags: u32,
    count: u32,
    padding: u32,
}

/// Parses a Lua stack; `None` if there is none, or it is malformed.
fn parse_lua(bytes: &[u8]) -> Option<RawLua<'_>> {
    let (head, frames) = bytes.split_at_checked(size_of::<LuaHead>())?;
    // SAFETY: integers without padding between them; any bits are an integer.
    let (before, heads, _) = unsafe { head.align_to::<LuaHead>() };
    let head = heads.first().filter(|_| before.is_empty())?;
    // SAFETY: as above.
    let (before, frames, _) = unsafe { frames.align_to::<RawLuaFrame>() };
    let frames = frames.get(..head.count as usize).filter(|_| before.is_empty())?;
    let LuaHead { global, cframe, vmstate, flags, .. } = *head;
    Some(RawLua { global, vmstate, cframe, flags, frames })
}

const COMM_AT: usize = std::mem::offset_of!(Header, comm);

#[cfg(test)]
mod tests;
