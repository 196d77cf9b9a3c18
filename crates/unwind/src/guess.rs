//! Finds the caller of code without an unwind table: assembly, generated code, stripped start-up code.
//!
//! Only results that can be checked are accepted: a return address is in executable memory and
//! follows a call instruction.

use crate::evaluate::RegisterValues;
use crate::process::Process;
use crate::row::{PRESERVED, RBP, RETURN, RSP};
use crate::stack::{Stack, UnwindEnd, UnwindFailure};
use crate::unwinder::Frame;

/// Start-up code without a table extends this many bytes from the entry point.
const START_BYTES: u64 = 64;
/// The longest call instruction: a prefix, opcode, two bytes of addressing, four of displacement.
const LONGEST_CALL: usize = 8;

/// Number of stack bytes searched for a return address, and number of candidates tried.
const MAX_SEARCHED: u64 = 4096;
const MAX_CANDIDATES: usize = 16;

/// Possible callers of a frame without any unwind information: one for each return address on its
/// stack that follows an indirect call (generated code is called only indirectly, and stale return
/// addresses on the stack mostly belong to direct calls).
pub(crate) fn candidates(process: &Process, frame: &Frame, stack: &Stack<'_>) -> Vec<Frame> {
    let returns = returns_below(process, frame, stack, stack.end());
    let candidate = |(at, ip): (u64, u64)| {
        let sp = at.wrapping_add(8);
        let mut values = RegisterValues::default();
        values.set(RETURN, Some(ip));
        values.set(RSP, Some(sp));
        values.set(RBP, frame_pointer(process, frame, stack, at));
        Frame { values, ip, sp, exact: false, first: false }
    };
    returns.map(candidate).take(MAX_CANDIDATES).collect()
}

/// Positions of return addresses after indirect calls in code with unwind tables, below an end.
fn returns_below<'a>(
    process: &'a Process,
    frame: &Frame,
    stack: &'a Stack<'_>,
    end: u64,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let end = end.min(stack.end()).min(frame.sp.saturating_add(MAX_SEARCHED));
    (frame.sp..end).step_by(8).filter_map(|at| {
        let ip = stack.u64(at)?;
        let indirect = call_before(process, ip)? == CallKind::Indirect;
        let loaded = process.loaded(ip).filter(|_| indirect)?;
        loaded.module.frame_range(loaded.to_file(ip - 1)).map(|_| (at, ip))
    })
}

/// Whether rbp may be the caller's, unchanged by code outside of files: there is a return address
/// below the address it holds.
fn may_be_frameless(process: &Process, frame: &Frame, stack: &Stack<'_>, bp: u64) -> bool {
    let generated = process.code(frame.ip).is_some_and(|(_, loaded)| loaded.is_none());
    generated && returns_below(process, frame, stack, bp).next().is_some()
}

/// The frame pointer of the caller whose return address is at `at`: unchanged, or saved below it.
/// It points above, to a place that is next to another return address.
fn frame_pointer(process: &Process, frame: &Frame, stack: &Stack<'_>, at: u64) -> Option<u64> {
    let saved = (frame.sp..at).step_by(8).filter_map(|word| stack.u64(word));
    let proper = |&bp: &u64| {
        let above = stack.u64(bp.wrapping_add(8)).filter(|_| bp > at);
        above.is_some_and(|address| is_return_address(process, address))
    };
    frame.values.get(RBP).into_iter().chain(saved).find(proper)
}

/// The caller's registers, or the way in which unwinding ends.
pub(crate) fn caller(process: &Process, frame: &Frame, stack: &Stack<'_>) -> Result<RegisterValues, UnwindEnd> {
    let bp = frame.values.get(RBP);
    if !frame.first && (bp == Some(0) || is_start(process, frame.ip)) {
        return Err(UnwindEnd::Root);
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
    Err(UnwindEnd::Failed(UnwindFailure::NoTable))
}

/// The registers after returning through the address at `at`.
fn returned(frame: &Frame, stack: &Stack<'_>, at: u64, bp: Option<u64>) -> RegisterValues {
    let mut values = RegisterValues::default();
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

/// The kind of call that pushed a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    Direct,
    Indirect,
}

fn is_return_address(process: &Process, address: u64) -> bool {
    call_before(process, address).is_some()
}

/// The call instruction right before an address in executable memory.
fn call_before(process: &Process, address: u64) -> Option<CallKind> {
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

/// `call rel32`, or `call r/m64` of any length.
fn ends_with_call(bytes: &[u8; LONGEST_CALL]) -> Option<CallKind> {
    /// Number of bytes of a `call r/m64` after its opcode, by mode and base register.
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
        return Some(CallKind::Direct);
    }
    let indirect = (2..LONGEST_CALL).any(|length| {
        let at = LONGEST_CALL - length;
        let modrm = bytes[at + 1];
        let sib = bytes.get(at + 2).copied().unwrap_or(0);
        bytes[at] == 0xff && modrm >> 3 & 7 == 2 && 1 + operand_bytes(modrm, sib) == length
    });
    indirect.then_some(CallKind::Indirect)
}

#[cfg(test)]
mod tests;
