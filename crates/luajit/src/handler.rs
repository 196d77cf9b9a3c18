//! Extracts the offsets that the entry does not use from the interpreter's handlers.
//!
//! All of the interpreter is scanned once for four patterns: the entry of a trace (`BC_JLOOP`), which uses the table
//! of traces, a trace's machine code and `jit_base`; accesses to a prototype relative to its bytecode, which reveal
//! its size; checks of the stack's limit; and the entry of `lua_cpcall`, which measures from the stack's first slot.

use std::collections::HashMap;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::entry::InterpreterEntry;

/// Maximum size of the scanned code, in bytes; the interpreter has about 25 KiB.
pub(crate) const MAX_VM_BYTES: u64 = 256 << 10;
/// Maximum length of a pattern, in instructions.
const WINDOW: usize = 16;
/// `GCproto.framesize`, `GCproto.k`: the same in all GC64 builds; both must imply the same size.
const PROTO_FRAMESIZE: i64 = 11;
const PROTO_K: i64 = 32;

/// Offsets used by the handlers, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handlers {
    /// Addresses at which the native frame is being built or torn down, with the distance from the
    /// stack pointer to its start; sorted.
    pub partial: Vec<(u64, u32)>,
    /// `global_State.jit_base`
    pub g_jit_base: u32,
    /// From `global_State` to `jit_State.trace`.
    pub g_traces: u32,
    /// `GCtrace.mcode`
    pub t_mcode: u32,
    /// The difference in size between a trace's frame and the interpreter's.
    pub trace_space: u32,
    /// `lua_State.maxstack`
    pub l_maxstack: u32,
    /// `lua_State.stack`
    pub l_stack: u32,
    /// Size of `GCproto`.
    pub proto_size: u32,
}

/// Scans the interpreter; the error states what was not found.
pub(crate) fn read(code: &[u8], address: u64, entry: &InterpreterEntry) -> Result<Handlers, &'static str> {
    let instructions: Vec<Instruction> = Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter().collect();
    let mut handlers = enter_trace(&instructions, entry).ok_or("the handler that enters traces")?;
    handlers.l_maxstack = limit(&instructions).ok_or("lua_State.maxstack")?;
    handlers.l_stack = first_slot(&instructions, entry).ok_or("lua_State.stack")?;
    handlers.partial = partial(&instructions, entry);
    handlers.proto_size = proto_size(&instructions).ok_or("the size of GCproto")?;
    Ok(handlers)
}

/// `mov a,[r14+traces]; mov b,[a+b*8]; mov b,[b+mcode]; ... mov [r14+jit_base],rdx; ... jmp b`
fn enter_trace(instructions: &[Instruction], entry: &InterpreterEntry) -> Option<Handlers> {
    instructions.windows(WINDOW).find_map(|window| {
        let [table, trace, code, rest @ ..] = window else { return None };
        if !(loads(table, Register::R14) && table.memory_index() == Register::None) {
            return None;
        }
        let by_index = loads(trace, table.op0_register()) && trace.memory_index_scale() == 8;
        let target = code.op0_register();
        if !(by_index && loads(code, trace.op0_register()) && code.memory_index() == Register::None) {
            return None;
        }
        let end = rest.iter().position(|i| i.mnemonic() == Mnemonic::Jmp)?;
        let jumps = rest[end].op0_kind() == OpKind::Register && rest[end].op0_register() == target;
        let base = rest[..end].iter().find(|i| stores(i, Register::R14, Register::RDX))?;
        let space = rest[..end].iter().find(|i| i.mnemonic() == Mnemonic::Sub && i.op0_register() == Register::RSP)?;
        let in_global =
            |i: &Instruction| u32::try_from(i.memory_displacement64() as i64 + i64::from(entry.dispatch)).ok();
        jumps.then_some(())?;
        Some(Handlers {
            g_jit_base: in_global(base)?,
            g_traces: in_global(table)?,
            t_mcode: code.memory_displacement64() as u32,
            trace_space: space.immediate(1) as u32,
            ..Handlers::default()
        })
    })
}

/// The entries' first instructions, and the last ones before each return to C.
fn partial(instructions: &[Instruction], entry: &InterpreterEntry) -> Vec<(u64, u32)> {
    let mut partial = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let pushes = |i: &&Instruction| i.mnemonic() == Mnemonic::Push;
        let pops = |i: &&Instruction| i.mnemonic() == Mnemonic::Pop;
        if pushes(&instruction) && instruction.op0_register() == Register::RBP {
            let run = instructions[index..].iter().take_while(pushes).count();
            let next = instructions.get(index + run);
            if run >= 4 && next.is_some_and(|i| i.mnemonic() == Mnemonic::Sub && i.op0_register() == Register::RSP) {
                let start = instructions[index..=index + run].iter();
                partial.extend(start.zip((1..).map(|count| 8 * count)).map(|(i, depth)| (i.ip(), depth)));
            }
        }
        if instruction.mnemonic() == Mnemonic::Add && instruction.op0_register() == Register::RSP {
            let run = instructions[index + 1..].iter().take_while(pops).count();
            let depth = entry.c_size.wrapping_sub(instruction.immediate(1) as u32);
            if run >= 4 && depth as usize == 8 * (run + 1) {
                let end = instructions[index + 1..].iter().take(run + 1);
                partial.extend(end.zip((1..=depth / 8).rev().map(|count| 8 * count)).map(|(i, depth)| (i.ip(), depth)));
            }
        }
    }
    partial.sort_unstable();
    partial
}

/// `cmp r,[rbp+limit]; ja`: the offset that is compared most often.
fn limit(instructions: &[Instruction]) -> Option<u32> {
    let mut seen: HashMap<u32, u32> = HashMap::new();
    for pair in instructions.windows(2) {
        let compares = pair[0].mnemonic() == Mnemonic::Cmp
            && pair[0].op0_kind() == OpKind::Register
            && pair[0].op0_register().is_gpr64()
            && pair[0].op1_kind() == OpKind::Memory
            && pair[0].memory_base() == Register::RBP;
        if compares && pair[1].mnemonic() == Mnemonic::Ja {
            *seen.entry(pair[0].memory_displacement64() as u32).or_default() += 1;
        }
    }
    seen.into_iter().max_by_key(|&(_, count)| count).filter(|&(_, count)| count >= 3).map(|(at, _)| at)
}

/// `mov r,[rbp+stack]; sub r,[rbp+top]`
fn first_slot(instructions: &[Instruction], entry: &InterpreterEntry) -> Option<u32> {
    instructions.windows(2).find_map(|pair| {
        let difference = pair[1].mnemonic() == Mnemonic::Sub
            && pair[1].op1_kind() == OpKind::Memory
            && pair[1].memory_base() == Register::RBP
            && pair[1].memory_displacement64() == u64::from(entry.l_top)
            && pair[1].op0_register() == pair[0].op0_register();
        (difference && loads(&pair[0], Register::RBP)).then(|| pair[0].memory_displacement64() as u32)
    })
}

/// `mov r15,[rbx-4+k-size]` and `movzx r,byte [rbx-4+framesize-size]`, which must agree.
fn proto_size(instructions: &[Instruction]) -> Option<u32> {
    let relative = |i: &Instruction| i.memory_displacement64() as i64 + 4;
    let near = |i: &&Instruction| {
        i.op1_kind() == OpKind::Memory
            && i.memory_base() == Register::RBX
            && i.memory_index() == Register::None
            && (-256..-16).contains(&(i.memory_displacement64() as i64))
    };
    let constants = instructions.iter().filter(near).find(|i| i.mnemonic() == Mnemonic::Mov)?;
    let size = PROTO_K - relative(constants);
    let frame = instructions
        .iter()
        .filter(near)
        .any(|i| i.mnemonic() == Mnemonic::Movzx && PROTO_FRAMESIZE - relative(i) == size);
    frame.then(|| u32::try_from(size).ok()).flatten()
}

fn loads(instruction: &Instruction, base: Register) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_gpr64()
        && instruction.op1_kind() == OpKind::Memory
        && instruction.memory_base() == base
}

fn stores(instruction: &Instruction, base: Register, value: Register) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Memory
        && instruction.memory_base() == base
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register() == value
}
