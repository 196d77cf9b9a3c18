//! From registers and stack bytes to return addresses.
//!
//! Each frame is tried in this order: a hook, for code that it knows; the unwind table, by a row
//! cached for the address; and heuristics for code that has neither (`guess`). Results are always
//! validated: a return address is in executable memory, and the stack pointer moves up.
//!
//! Rows are cached by (binary, address), not by the process's addresses: workers of one server and
//! processes with the same libraries share them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::evaluate::{self, EvalError, RegisterValues};
use crate::guess;
use crate::process::{LoadedModule, Process};
use crate::registers::Registers;
use crate::row::{PRESERVED, RBP, RETURN, RSP, UnwindRow};
use crate::stack::{CallerFrame, Cursor, FrameHook, MAX_FRAMES, NativeFrame, Stack, UnwindEnd, UnwindFailure};

/// Maximum number of cached rows (some 200 bytes each); the cache is then cleared.
const MAX_ROWS: usize = 65_536;

/// Unwinds stacks. Caches information about binaries, for all processes.
#[derive(Debug, Default)]
pub struct Unwinder {
    rows: HashMap<(u32, u64), Option<Box<UnwindRow>>, RandomState>,
}

/// A frame with its known registers.
pub(crate) struct Frame {
    pub values: RegisterValues,
    pub ip: u64,
    pub sp: u64,
    pub exact: bool,
    pub first: bool,
}

impl Frame {
    pub fn cursor(&self) -> Cursor {
        Cursor { ip: self.ip, sp: self.sp, bp: self.values.get(RBP), exact: self.exact, first: self.first }
    }
}

enum StepOutcome {
    Caller(Frame),
    End(UnwindEnd),
}

impl Unwinder {
    /// Creates an unwinder with an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Unwinds one stack: adds frames to `out`, innermost first, at most [`MAX_FRAMES`]. There is
    /// always at least one, that of the registers themselves.
    ///
    /// `stack` begins at `registers.sp`. An address missing from the process's maps causes them to
    /// be read again (rate-limited).
    pub fn unwind(
        &mut self,
        process: &mut Process,
        registers: &Registers,
        stack: &[u8],
        mut hook: Option<&mut dyn FrameHook>,
        out: &mut Vec<NativeFrame>,
    ) -> UnwindEnd {
        if !process.is_code(registers.ip) {
            // The process has since executed another program or loaded a library.
            let _ = process.refresh();
        }
        let stack = Stack::new(registers.sp, stack);
        let values = RegisterValues::of(registers);
        let frame = Frame { values, ip: registers.ip, sp: registers.sp, exact: true, first: true };
        let most = out.len() + MAX_FRAMES;
        let (end, last) = self.walk(process, &mut hook, frame, &stack, out, most);
        if end == UnwindEnd::Failed(UnwindFailure::NoTable) {
            self.search(process, &mut hook, &last, &stack, out, most)
        } else {
            end
        }
    }

    /// Steps from frame to frame until the end; returns how it ended, and at which frame. `out`
    /// grows to `most` frames.
    fn walk(
        &mut self,
        process: &mut Process,
        hook: &mut Option<&mut dyn FrameHook>,
        mut frame: Frame,
        stack: &Stack<'_>,
        out: &mut Vec<NativeFrame>,
        most: usize,
    ) -> (UnwindEnd, Frame) {
        while out.len() < most {
            let cursor = frame.cursor();
            out.push(NativeFrame { lookup: cursor.lookup(), ip: frame.ip, sp: frame.sp });
            let next = match hook_step(process, hook, &cursor, stack) {
                Some(step) => after_hook(&frame, step),
                None => self.step(process, &frame, stack),
            };
            match next {
                StepOutcome::End(end) => return (end, frame),
                StepOutcome::Caller(caller) if !known_code(process, hook, &caller.cursor()) => {
                    return (UnwindEnd::Failed(UnwindFailure::NotCode), frame);
                }
                StepOutcome::Caller(caller) => frame = caller,
            }
        }
        (UnwindEnd::TooDeep, frame)
    }

    /// Finds the caller of code without any unwind information (such as code compiled by PCRE): a
    /// word on its stack from which unwinding reaches the root.
    fn search(
        &mut self,
        process: &mut Process,
        hook: &mut Option<&mut dyn FrameHook>,
        frame: &Frame,
        stack: &Stack<'_>,
        out: &mut Vec<NativeFrame>,
        most: usize,
    ) -> UnwindEnd {
        let found = out.len();
        for caller in guess::candidates(process, frame, stack) {
            match self.walk(process, hook, caller, stack, out, most).0 {
                UnwindEnd::Root => return UnwindEnd::Root,
                // It may well be the caller, so the candidates above it are not tried.
                UnwindEnd::Failed(UnwindFailure::Register) => return UnwindEnd::Failed(UnwindFailure::Register),
                _ => out.truncate(found),
            }
        }
        UnwindEnd::Failed(UnwindFailure::NoTable)
    }

    /// Steps by the table, or without one.
    fn step(&mut self, process: &Process, frame: &Frame, stack: &Stack<'_>) -> StepOutcome {
        let lookup = frame.cursor().lookup();
        let Some(loaded) = process.code(lookup).and_then(|(_, loaded)| loaded) else {
            return guessed(process, frame, stack);
        };
        let Some(row) = self.row(loaded, lookup) else {
            if loaded.module.frame_range(loaded.to_file(lookup)).is_some() {
                return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::BadTable));
            }
            return guessed(process, frame, stack);
        };
        if row.is_root() {
            return StepOutcome::End(UnwindEnd::Root);
        }
        let values = match evaluate::caller(row, &frame.values, stack, frame.first) {
            Ok(values) => values,
            Err(EvalError::Stack) => return StepOutcome::End(UnwindEnd::Cut),
            Err(EvalError::Register) => return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::Register)),
            Err(EvalError::Invalid) => return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::BadTable)),
        };
        // A signal handler may run on its own stack, above or below the interrupted one.
        advance(frame, values, row.signal)
    }

    fn row(&mut self, loaded: &LoadedModule, lookup: u64) -> Option<&UnwindRow> {
        let address = loaded.to_file(lookup);
        if self.rows.len() >= MAX_ROWS {
            self.rows.clear();
        }
        let module = &loaded.module;
        let make = || module.call_frames().row(module, address).map(Box::new);
        self.rows.entry((module.id(), address)).or_insert_with(make).as_deref()
    }
}

fn guessed(process: &Process, frame: &Frame, stack: &Stack<'_>) -> StepOutcome {
    match guess::caller(process, frame, stack) {
        Ok(values) => advance(frame, values, false),
        Err(end) => StepOutcome::End(end),
    }
}

fn advance(frame: &Frame, values: RegisterValues, signal: bool) -> StepOutcome {
    let (Some(ip), Some(sp)) = (values.get(RETURN), values.get(RSP)) else {
        return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::Register));
    };
    if ip == 0 {
        return StepOutcome::End(UnwindEnd::Root);
    }
    // The innermost frame may already have removed its own frame (at the end of longjmp).
    let moved = sp > frame.sp || (frame.first && sp == frame.sp && ip != frame.ip);
    if !moved && !signal {
        return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::Loop));
    }
    StepOutcome::Caller(Frame { values, ip, sp, exact: signal, first: false })
}

fn after_hook(frame: &Frame, step: CallerFrame) -> StepOutcome {
    if step.ip == 0 {
        return StepOutcome::End(UnwindEnd::Root);
    }
    if step.sp < frame.sp || (step.sp == frame.sp && step.ip == frame.ip) {
        return StepOutcome::End(UnwindEnd::Failed(UnwindFailure::Loop));
    }
    let mut values = RegisterValues::default();
    values.set(RETURN, Some(step.ip));
    values.set(RSP, Some(step.sp));
    values.set(RBP, step.bp);
    for (&register, value) in PRESERVED.iter().filter(|&&register| register != RBP).zip(step.preserved) {
        values.set(register, value);
    }
    StepOutcome::Caller(Frame { values, ip: step.ip, sp: step.sp, exact: false, first: false })
}

/// Calls the hook if the code has no file, or if the hook wants the address.
fn hook_step(
    process: &mut Process,
    hook: &mut Option<&mut dyn FrameHook>,
    cursor: &Cursor,
    stack: &Stack<'_>,
) -> Option<CallerFrame> {
    let hook = hook.as_deref_mut()?;
    let in_file = process.mapping(cursor.lookup()).is_some_and(|mapping| mapping.has_file() || mapping.is_vdso());
    if !in_file || hook.wants(cursor.ip) { hook.step(cursor, stack) } else { None }
}

/// Whether an address may be code. Maps are read again if they do not contain it.
fn known_code(process: &mut Process, hook: &mut Option<&mut dyn FrameHook>, cursor: &Cursor) -> bool {
    if process.is_code(cursor.lookup()) {
        return true;
    }
    let refreshed = process.refresh().unwrap_or(false);
    (refreshed && process.is_code(cursor.lookup())) || hook.as_deref().is_some_and(|hook| hook.wants(cursor.ip))
}

#[cfg(test)]
mod tests;
