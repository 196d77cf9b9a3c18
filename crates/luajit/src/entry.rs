//! Extracts structure offsets from the interpreter's entry (`lj_vm_call`).
//!
//! The entry builds the native frame, stores the `lua_State` in it, links it into the chain of frames, finds the
//! dispatch table and marks the interpreter as running: nearly all that a walk needs, in some forty instructions
//! without a branch, of the same form in every GC64 build. The roles of registers (rdi the state, rbp its copy, r14
//! the dispatch table, rdx BASE, rbx PC) are the interpreter's on System V.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Maximum number of instructions read; the entry has about forty.
const MAX_INSTRUCTIONS: usize = 64;

/// Offsets used by the entry, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InterpreterEntry {
    pub c_size: u32,
    pub c_results: u32,
    pub c_state: u32,
    pub c_pc: u32,
    pub c_previous: u32,
    pub l_global: u32,
    pub l_cframe: u32,
    pub l_base: u32,
    pub l_top: u32,
    pub dispatch: u32,
    pub g_current: u32,
    pub g_vmstate: u32,
}

/// The reason why an entry was not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryError {
    /// References are 32 bits wide.
    Narrow,
    /// An expected instruction was not found.
    Missing(&'static str),
}

/// Whether code starts like the interpreter's entries: it saves rbp, rbx, r15, r14 in this order.
pub(crate) fn is_entry(code: &[u8]) -> bool {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    code.starts_with(&[0x55, 0x53, 0x41, 0x57, 0x41, 0x56])
}

/// Targets of the calls and jumps in a piece of code, in order.
pub(crate) fn targets(code: &[u8], address: u64) -> Vec<u64> {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE)
        .iter()
        .filter(|instruction| instruction.op_count() == 1 && instruction.op0_kind() == OpKind::NearBranch64)
        .map(|instruction| instruction.near_branch64())
        .collect()
}

/// Reads the entry.
pub(crate) fn read(code: &[u8], address: u64) -> Result<InterpreterEntry, EntryError> {
    let mut reader = EntryReader::default();
    for instruction in Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter().take(MAX_INSTRUCTIONS) {
        if instruction.mnemonic() == Mnemonic::Jmp && instruction.op0_kind() == OpKind::Memory {
            break;
        }
        reader.take(&instruction)?;
    }
    reader.finish()
}

#[derive(Default)]
struct EntryReader {
    depth: u32,
    results: Option<u32>,
    state: Option<u32>,
    pc: Option<u32>,
    previous: Option<u32>,
    global: Option<u32>,
    cframe: Option<u32>,
    base: Option<u32>,
    top: Option<u32>,
    dispatch: Option<u32>,
    current: Option<i64>,
    vmstate: Option<i64>,
    /// The register that holds the previous native frame.
    chain: Option<Register>,
}

impl EntryReader {
    fn take(&mut self, instruction: &Instruction) -> Result<(), EntryError> {
        match (instruction.mnemonic(), instruction.op0_kind(), instruction.op1_kind()) {
            (Mnemonic::Push, _, _) => self.depth += 8,
            (Mnemonic::Sub, OpKind::Register, OpKind::Immediate8to64 | OpKind::Immediate32to64)
                if instruction.op0_register() == Register::RSP =>
            {
                self.depth += instruction.immediate(1) as u32;
            }
            (Mnemonic::Add, OpKind::Register, OpKind::Immediate8to64 | OpKind::Immediate32to64)
                if instruction.op0_register() == Register::R14 =>
            {
                self.dispatch = Some(instruction.immediate(1) as u32);
            }
            (Mnemonic::Mov, OpKind::Register, OpKind::Register) if is_narrow_state(instruction) => {
                return Err(EntryError::Narrow);
            }
            (Mnemonic::Mov, OpKind::Memory, _) => self.store(instruction),
            (Mnemonic::Mov, OpKind::Register, OpKind::Memory) => self.load(instruction),
            _ => {}
        }
        Ok(())
    }

    fn store(&mut self, instruction: &Instruction) {
        let at = instruction.memory_displacement64();
        let source = (instruction.op1_kind() == OpKind::Register).then(|| instruction.op1_register());
        let slot = match (instruction.memory_base(), source) {
            (Register::RSP, Some(Register::EDX)) => &mut self.results,
            (Register::RSP, Some(Register::RDI)) => &mut self.state,
            (Register::RSP, Some(Register::RBP)) => &mut self.pc,
            (Register::RSP, Some(register)) if Some(register) == self.chain => &mut self.previous,
            (Register::RBP, Some(Register::RSP)) => &mut self.cframe,
            (Register::R14, Some(Register::RBP)) => {
                self.current.get_or_insert(at as i64);
                return;
            }
            (Register::R14, None) if instruction.immediate32() == u32::MAX => {
                self.vmstate.get_or_insert(at as i64);
                return;
            }
            _ => return,
        };
        slot.get_or_insert(at as u32);
    }

    fn load(&mut self, instruction: &Instruction) {
        if !matches!(instruction.memory_base(), Register::RBP | Register::RDI) {
            return;
        }
        let at = instruction.memory_displacement64() as u32;
        match instruction.op0_register() {
            Register::R14 => self.global = self.global.or(Some(at)),
            Register::RDX => self.base = self.base.or(Some(at)),
            Register::RAX => self.top = self.top.or(Some(at)),
            register if self.chain.is_none() && register.is_gpr64() => self.chain = Some(register),
            _ => {}
        }
    }

    fn finish(self) -> Result<InterpreterEntry, EntryError> {
        let dispatch = self.dispatch.ok_or(EntryError::Missing("the dispatch table"))?;
        let in_global = |from_dispatch: Option<i64>, what| {
            let at = from_dispatch.map(|at| at + i64::from(dispatch)).ok_or(EntryError::Missing(what))?;
            u32::try_from(at).map_err(|_| EntryError::Missing(what))
        };
        Ok(InterpreterEntry {
            c_size: self.depth + 8,
            c_results: self.results.ok_or(EntryError::Missing("the number of results in the native frame"))?,
            c_state: self.state.ok_or(EntryError::Missing("lua_State in the native frame"))?,
            c_pc: self.pc.ok_or(EntryError::Missing("PC in the native frame"))?,
            c_previous: self.previous.ok_or(EntryError::Missing("the chain of native frames"))?,
            l_global: self.global.ok_or(EntryError::Missing("lua_State.glref"))?,
            l_cframe: self.cframe.ok_or(EntryError::Missing("lua_State.cframe"))?,
            l_base: self.base.ok_or(EntryError::Missing("lua_State.base"))?,
            l_top: self.top.ok_or(EntryError::Missing("lua_State.top"))?,
            dispatch,
            g_current: in_global(self.current, "global_State.cur_L")?,
            g_vmstate: in_global(self.vmstate, "global_State.vmstate")?,
        })
    }
}

/// The argument is moved as 32 bits: an interpreter with 32-bit references.
fn is_narrow_state(instruction: &Instruction) -> bool {
    instruction.op1_register() == Register::EDI && instruction.op0_register() == Register::EBP
}

#[cfg(test)]
mod tests;
