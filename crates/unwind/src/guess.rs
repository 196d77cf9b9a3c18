//! The caller of code without an unwind table: assembly, code made at run time, stripped start-up code.
//!
//! Only what can be checked is taken: a return address is in executable memory and behind a call
//! instruction.

use crate::evaluate::Values;
use crate::process::Process;
use crate::row::{PRESERVED, RBP, RETURN, RSP};
use crate::stack::{End, Stack, Why};
use crate::unwinder::Frame;

/// Code of a program's start without a table: so many bytes from its entry point.
const START_BYTES: u64 = 64;
/// The longest call instruction: a prefix, opcode, two bytes of addressing, four of displacement.
const LONGEST_CALL: usize = 8;

/// Bytes of a stack that are searched for a return address, and places that are tried.
const MAX_SEARCHED: u64 = 4096;
const MAX_CANDIDATES: usize = 16;

/// Frames that may have called the code of a frame that says nothing about itself: each by a return
/// address on its stack, behind an indirect call (code made at run time is not called otherwise, and
/// what older calls have left on the stack mostly is of direct ones).
pub(crate) fn candidates(process: &Process, frame: &Frame, stack: &Stack<'_>) -> Vec<Frame> {
    let returns = returns_below(process, frame, stack, stack.end());
    let candidate = |(at, ip): (u64, u64)| {
        let sp = at.wrapping_add(8);
        let mut values = Values::default();
        values.set(RETURN, Some(ip));
        values.set(RSP, Some(sp));
        values.set(RBP, frame_pointer(process, frame, stack, at));
        Frame { values, ip, sp, exact: false, first: false }
    };
    returns.map(candidate).take(MAX_CANDIDATES).collect()
}

/// Places of return addresses behind indirect calls in code with unwind tables, below an end.
fn returns_below<'a>(
    process: &'a Process,
    frame: &Frame,
    stack: &'a Stack<'_>,
    end: u64,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let end = end.min(stack.end()).min(frame.sp.saturating_add(MAX_SEARCHED));
    (frame.sp..end).step_by(8).filter_map(|at| {
        let ip = stack.u64(at)?;
        let indirect = call_before(process, ip)? == Call::Indirect;
        let loaded = process.loaded(ip).filter(|_| indirect)?;
        loaded.module.frame_range(loaded.to_file(ip - 1)).map(|_| (at, ip))
    })
}

/// Whether rbp may be that of the caller, which code without a file has left as it was: there is a
/// return address below where it points to.
fn may_be_frameless(process: &Process, frame: &Frame, stack: &Stack<'_>, bp: u64) -> bool {
    let generated = process.code(frame.ip).is_some_and(|(_, loaded)| loaded.is_none());
    generated && returns_below(process, frame, stack, bp).next().is_some()
}

/// The frame pointer of the caller whose return address is at `at`: as it is, or as it was saved
/// below. It points above, to where there is a return address again.
fn frame_pointer(process: &Process, frame: &Frame, stack: &Stack<'_>, at: u64) -> Option<u64> {
    let saved = (frame.sp..at).step_by(8).filter_map(|word| stack.u64(word));
    let proper = |&bp: &u64| {
        let above = stack.u64(bp.wrapping_add(8)).filter(|_| bp > at);
        above.is_some_and(|address| is_return_address(process, address))
    };
    frame.values.get(RBP).into_iter().chain(saved).find(proper)
}

/// Registers of the caller, or how it ends.
pub(crate) fn caller(process: &Process, frame: &Frame, stack: &Stack<'_>) -> Result<Values, End> {
    let bp = frame.values.get(RBP);
    if !frame.first && (bp == Some(0) || is_start(process, frame.ip)) {
        return Err(End::Root);
    }
    if frame.first && stack.u64(frame.sp).is_some_and(|address| is_return_address(process, address)) {
        return Ok(returned(frame, stack, frame.sp, bp));
    }
    if let Some(bp) = bp
        && bp >= frame.sp
        && !may_be_frameless(process, frame, stack, bp)
        && let (Some(next), Some(address)) = (stack.u64(bp), stack.u64(bp.wrapping_add(8)))
        && is_return_address(process, address)
    {
        return Ok(returned(frame, stack, bp.wrapping_add(8), Some(next)));
    }
    Err(End::Failed(Why::NoTable))
}

/// Registers after a return by the address at `at`.
fn returned(frame: &Frame, stack: &Stack<'_>, at: u64, bp: Option<u64>) -> Values {
    let mut values = Values::default();
    for register in PRESERVED {
        values.set(register, frame.values.get(register));
    }
    values.set(RBP, bp);
    values.set(RETURN, stack.u64(at));
    values.set(RSP, Some(at.wrapping_add(8)));
    values
}

fn is_start(process: &Process, ip: u64) -> bool {
    process.loaded(ip).is_some_and(|loaded| {
        let entry = loaded.module.entry();
        entry != 0 && loaded.to_file(ip).wrapping_sub(entry) <= START_BYTES
    })
}

/// How a return address came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Direct,
    Indirect,
}

fn is_return_address(process: &Process, address: u64) -> bool {
    call_before(process, address).is_some()
}

/// The call instruction right before an address of executable memory.
fn call_before(process: &Process, address: u64) -> Option<Call> {
    let before = address.checked_sub(LONGEST_CALL as u64)?;
    if !process.is_code(address - 1) {
        return None;
    }
    let of_file = process.loaded(before).and_then(|loaded| {
        let code = loaded.module.bytes_at(loaded.to_file(before))?;
        code.first_chunk::<LONGEST_CALL>().copied()
    });
    let bytes = match of_file {
        Some(code) => code,
        None => {
            let mut bytes = [0; LONGEST_CALL];
            process.memory().read_exact(before, &mut bytes).ok()?;
            bytes
        }
    };
    ends_with_call(&bytes)
}

/// `call rel32`, or `call r/m64` in any of its lengths.
fn ends_with_call(bytes: &[u8; LONGEST_CALL]) -> Option<Call> {
    /// Bytes of a `call r/m64` behind its opcode, by mode and base register.
    fn operand_bytes(modrm: u8, sib: u8) -> usize {
        let (mode, base) = (modrm >> 6, modrm & 7);
        let scaled = usize::from(mode != 3 && base == 4);
        let displacement = match mode {
            1 => 1,
            2 => 4,
            0 if base == 5 || (base == 4 && sib & 7 == 5) => 4,
            _ => 0,
        };
        1 + scaled + displacement
    }
    if bytes[LONGEST_CALL - 5] == 0xe8 {
        return Some(Call::Direct);
    }
    let indirect = (2..LONGEST_CALL).any(|length| {
        let at = LONGEST_CALL - length;
        let modrm = bytes[at + 1];
        let sib = bytes.get(at + 2).copied().unwrap_or(0);
        bytes[at] == 0xff && modrm >> 3 & 7 == 2 && 1 + operand_bytes(modrm, sib) == length
    });
    indirect.then_some(Call::Indirect)
}

#[cfg(test)]
mod tests;
