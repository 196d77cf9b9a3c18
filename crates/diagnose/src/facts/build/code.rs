//! Statistics of a binary's code.
//!
//! Compilers leave marks at each optimisation level, which `strip` does not remove. Without optimisation, arguments
//! are stored on the stack immediately and every variable is read from there. From `-O2` on GCC turns the last call
//! of a function into a jump, clears registers with `xor`, and aligns functions; with `-O1` it does none of these. A
//! sample of functions suffices to see that: at most 4,000 or 2 MiB, spread evenly over the binary.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use serde::{Deserialize, Serialize};

use super::functions::{Function, Functions};

/// Maximum number of analysed functions.
const MAX_FUNCTIONS: usize = 4000;
/// Maximum size of analysed code.
const MAX_BYTES: usize = 2 << 20;
/// Maximum length of an analysed function: generated parsers and interpreters are not representative.
const MAX_FUNCTION_BYTES: usize = 32 << 10;
/// Number of instructions at the beginning of a function in which arguments are stored on the stack.
const PROLOGUE: usize = 14;
/// Maximum number of instructions between a call and the end of the function.
const EPILOGUE: usize = 10;

/// Counts over a sample of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeStatistics {
    /// Functions in the binary.
    pub functions: u64,
    /// Analysed functions.
    pub sampled: u64,
    /// Their instructions.
    pub instructions: u64,
    /// Instructions that read or write memory on the stack, by `rbp` or `rsp`.
    pub stack: u64,
    /// Functions that store an argument on the stack at once (`mov [rbp-x], rdi`).
    pub spills: u64,
    /// Jumps to other functions at the end of a function.
    pub tail_jumps: u64,
    /// Calls at the end of a function that could have been jumps.
    pub missed_tail_calls: u64,
    /// Registers cleared by `xor`.
    pub cleared_by_xor: u64,
    /// Registers cleared by `mov reg, 0`.
    pub cleared_by_mov: u64,
}

#[allow(clippy::cast_precision_loss, reason = "shares of counts far below 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl CodeStatistics {
    /// Share of functions that store arguments on the stack at once.
    #[must_use]
    pub fn spill_share(&self) -> f64 {
        share(self.spills, self.sampled)
    }

    /// Share of instructions that access the stack.
    #[must_use]
    pub fn stack_share(&self) -> f64 {
        share(self.stack, self.instructions)
    }

    /// Share of jumps among possible tail calls.
    #[must_use]
    pub fn tail_share(&self) -> f64 {
        share(self.tail_jumps, self.tail_jumps + self.missed_tail_calls)
    }

    /// Share of `xor` among cleared registers.
    #[must_use]
    pub fn xor_share(&self) -> f64 {
        share(self.cleared_by_xor, self.cleared_by_xor + self.cleared_by_mov)
    }

    /// Analyses a binary; `None` if it has no functions to analyse.
    pub(super) fn of(functions: &Functions<'_>) -> Option<Self> {
        let mut statistics = Self { functions: functions.all.len() as u64, ..Self::default() };
        let step = functions.all.len().div_ceil(MAX_FUNCTIONS).max(1);
        let average = functions.all.iter().map(|function| function.end - function.start).sum::<u64>();
        let expected = usize::try_from(average).unwrap_or(usize::MAX) / step;
        // If functions are large, fewer of them, so that the end of the binary is sampled too.
        let step = step * expected.div_ceil(MAX_BYTES).max(1);
        let (mut bytes, mut buffer) = (0, Vec::new());
        for &function in functions.all.iter().step_by(step) {
            let code = functions.bytes(function);
            if code.is_empty() || code.len() > MAX_FUNCTION_BYTES {
                continue;
            }
            bytes += code.len();
            if bytes > MAX_BYTES {
                break;
            }
            decode(function, code, &mut buffer);
            statistics.add(function, &buffer, functions);
        }
        (statistics.sampled > 0).then_some(statistics)
    }

    fn add(&mut self, function: Function, instructions: &[Instruction], functions: &Functions<'_>) {
        self.sampled += 1;
        self.instructions += instructions.len() as u64;
        self.prologue(instructions);
        for (at, instruction) in instructions.iter().enumerate() {
            let base = memory_base(instruction);
            self.stack += u64::from(base.is_some_and(is_stack));
            match clears(instruction) {
                Some(Clears::Xor) => self.cleared_by_xor += 1,
                Some(Clears::Mov) => self.cleared_by_mov += 1,
                None => {}
            }
            match instruction.flow_control() {
                FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch_target();
                    let outside = !(function.start..function.end).contains(&target);
                    let entered = functions.is_start(target) || functions.in_stubs(target);
                    self.tail_jumps += u64::from(outside && entered);
                }
                FlowControl::IndirectBranch => self.tail_jumps += u64::from(is_tail_jump(&instructions[..=at])),
                FlowControl::Call | FlowControl::IndirectCall => {
                    self.missed_tail_calls += u64::from(is_end(&instructions[at + 1..]));
                }
                _ => {}
            }
        }
    }

    fn prologue(&mut self, instructions: &[Instruction]) {
        let body = usize::from(instructions.first().is_some_and(|first| first.mnemonic() == Mnemonic::Endbr64));
        let begin = &instructions[body..instructions.len().min(body + PROLOGUE)];
        // After a call or a jump, registers no longer hold the arguments.
        let straight = begin.iter().take_while(|one| one.flow_control() == FlowControl::Next);
        self.spills += u64::from(straight.into_iter().any(is_spill));
    }
}

fn decode(function: Function, code: &[u8], into: &mut Vec<Instruction>) {
    into.clear();
    let mut decoder = Decoder::with_ip(64, code, function.start, DecoderOptions::NONE);
    while decoder.can_decode() {
        into.push(decoder.decode());
    }
}

/// The base register of the memory that an instruction accesses; `None` if it accesses none. `lea`,
/// `nop`, pushes and pops are not counted.
fn memory_base(instruction: &Instruction) -> Option<Register> {
    if matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) {
        return None;
    }
    let any = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    any.then(|| instruction.memory_base())
}

fn is_stack(base: Register) -> bool {
    matches!(base, Register::RBP | Register::RSP)
}

/// `mov [rbp-x], rdi`: stores an argument register (System V) of any width.
fn is_spill(instruction: &Instruction) -> bool {
    let argument = || {
        let whole = instruction.op1_register().full_register();
        matches!(whole, Register::RDI | Register::RSI | Register::RDX | Register::RCX | Register::R8 | Register::R9)
    };
    instruction.mnemonic() == Mnemonic::Mov && memory_base(instruction).is_some_and(is_stack) && argument()
}

enum Clears {
    Xor,
    Mov,
}

fn clears(instruction: &Instruction) -> Option<Clears> {
    let register = instruction.op0_register();
    match instruction.mnemonic() {
        Mnemonic::Xor if register.is_gpr() && register == instruction.op1_register() => Some(Clears::Xor),
        Mnemonic::Mov
            if register.is_gpr32()
                && instruction.op1_kind() == OpKind::Immediate32
                && instruction.immediate32() == 0 =>
        {
            Some(Clears::Mov)
        }
        _ => None,
    }
}

/// Whether an indirect jump, the last of these instructions, leaves the function. Jump tables of
/// `switch` use an index, or add an offset to the register first.
fn is_tail_jump(upto: &[Instruction]) -> bool {
    const LOOK_BACK: usize = 6;
    let Some((jump, before)) = upto.split_last() else { return false };
    if jump.op0_kind() == OpKind::Memory {
        return jump.memory_index() == Register::None;
    }
    let register = jump.op0_register().full_register();
    let recent = before.iter().rev().take(LOOK_BACK);
    let sets = recent.clone().find(|one| one.op_count() > 0 && one.op0_register().full_register() == register);
    match sets {
        Some(one) => {
            one.mnemonic() != Mnemonic::Add && (memory_base(one).is_none() || one.memory_index() == Register::None)
        }
        None => true,
    }
}

/// Whether only the end of the function follows: the stack is released, registers are restored, `ret`.
fn is_end(after: &[Instruction]) -> bool {
    for one in after.iter().take(EPILOGUE) {
        match one.mnemonic() {
            Mnemonic::Ret => return true,
            Mnemonic::Pop | Mnemonic::Leave | Mnemonic::Nop => {}
            Mnemonic::Add if one.op0_register() == Register::RSP => {}
            _ => return false,
        }
    }
    false
}
