//! From registers and stack bytes to return addresses.
//!
//! For each frame, in this order: a hook, for code that is its own; the unwind table, by a row that
//! is kept for the address; and what can be said of code that has neither (`guess`). What
//! comes out is never taken on trust: a return address is in executable memory, and the stack pointer
//! moves up.
//!
//! Rows are kept for (binary, address), not for the process's addresses: workers of one server and
//! processes with the same libraries share them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::evaluate::{self, Missing, Values};
use crate::guess;
use crate::process::{Loaded, Process};
use crate::raw::Registers;
use crate::row::{PRESERVED, RBP, RETURN, RSP, Row};
use crate::stack::{Cursor, End, FrameHook, MAX_FRAMES, NativeFrame, Stack, Step, Why};

/// Rows that are kept at most (some 200 bytes each); then it is begun anew.
const MAX_ROWS: usize = 65_536;

/// Unwinds stacks. Keeps what it learns of binaries, for all processes.
#[derive(Debug, Default)]
pub struct Unwinder {
    rows: HashMap<(u32, u64), Option<Box<Row>>, RandomState>,
}

/// A frame and what is known of its registers.
pub(crate) struct Frame {
    pub values: Values,
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

/// What a step led to.
enum Next {
    Caller(Frame),
    End(End),
}

impl Unwinder {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Unwinds one stack: frames are added to `out`, innermost first, at most [`MAX_FRAMES`]. There
    /// is always at least one, that of the registers themselves.
    ///
    /// `stack` begins at `registers.sp`. An address that the process's maps do not have makes them be
    /// read again (not often).
    pub fn unwind(
        &mut self,
        process: &mut Process,
        registers: &Registers,
        stack: &[u8],
        mut hook: Option<&mut dyn FrameHook>,
        out: &mut Vec<NativeFrame>,
    ) -> End {
        if !process.is_code(registers.ip) {
            // It has become another program since, or has loaded a library.
            let _ = process.refresh();
        }
        let stack = Stack::new(registers.sp, stack);
        let values = Values::of(registers);
        let frame = Frame { values, ip: registers.ip, sp: registers.sp, exact: true, first: true };
        let most = out.len() + MAX_FRAMES;
        let (end, last) = self.walk(process, &mut hook, frame, &stack, out, most);
        if end == End::Failed(Why::NoTable) { self.search(process, &mut hook, &last, &stack, out, most) } else { end }
    }

    /// From frame to frame until it ends; says how, and at which frame. `out` grows to `most` frames.
    fn walk(
        &mut self,
        process: &mut Process,
        hook: &mut Option<&mut dyn FrameHook>,
        mut frame: Frame,
        stack: &Stack<'_>,
        out: &mut Vec<NativeFrame>,
        most: usize,
    ) -> (End, Frame) {
        while out.len() < most {
            let cursor = frame.cursor();
            out.push(NativeFrame { lookup: cursor.lookup(), ip: frame.ip, sp: frame.sp });
            let next = match hook_step(process, hook, &cursor, stack) {
                Some(step) => after_hook(&frame, step),
                None => self.step(process, &frame, stack),
            };
            match next {
                Next::End(end) => return (end, frame),
                Next::Caller(caller) if !known_code(process, hook, &caller.cursor()) => {
                    return (End::Failed(Why::NotCode), frame);
                }
                Next::Caller(caller) => frame = caller,
            }
        }
        (End::TooDeep, frame)
    }

    /// The caller of code that says nothing about itself (what PCRE compiles): a word of its stack
    /// from which everything unwinds to the root.
    fn search(
        &mut self,
        process: &mut Process,
        hook: &mut Option<&mut dyn FrameHook>,
        frame: &Frame,
        stack: &Stack<'_>,
        out: &mut Vec<NativeFrame>,
        most: usize,
    ) -> End {
        let found = out.len();
        for caller in guess::candidates(process, frame, stack) {
            match self.walk(process, hook, caller, stack, out, most).0 {
                End::Root => return End::Root,
                // It may well be the caller; those above it are not the next.
                End::Failed(Why::Register) => return End::Failed(Why::Register),
                _ => out.truncate(found),
            }
        }
        End::Failed(Why::NoTable)
    }

    /// By the table, or without one.
    fn step(&mut self, process: &Process, frame: &Frame, stack: &Stack<'_>) -> Next {
        let lookup = frame.cursor().lookup();
        let Some(loaded) = process.code(lookup).and_then(|(_, loaded)| loaded) else {
            return guessed(process, frame, stack);
        };
        let Some(row) = self.row(loaded, lookup) else {
            if loaded.module.frame_range(loaded.to_file(lookup)).is_some() {
                return Next::End(End::Failed(Why::BadTable));
            }
            return guessed(process, frame, stack);
        };
        if row.is_root() {
            return Next::End(End::Root);
        }
        let values = match evaluate::caller(row, &frame.values, stack, frame.first) {
            Ok(values) => values,
            Err(Missing::Stack) => return Next::End(End::Cut),
            Err(Missing::Register) => return Next::End(End::Failed(Why::Register)),
            Err(Missing::Sense) => return Next::End(End::Failed(Why::BadTable)),
        };
        // A signal's handler may have a stack of its own, above or below that of what it interrupted.
        advance(frame, values, row.signal)
    }

    fn row(&mut self, loaded: &Loaded, lookup: u64) -> Option<&Row> {
        let address = loaded.to_file(lookup);
        if self.rows.len() >= MAX_ROWS {
            self.rows.clear();
        }
        let module = &loaded.module;
        let make = || module.call_frames().row(module, address).map(Box::new);
        self.rows.entry((module.id(), address)).or_insert_with(make).as_deref()
    }
}

fn guessed(process: &Process, frame: &Frame, stack: &Stack<'_>) -> Next {
    match guess::caller(process, frame, stack) {
        Ok(values) => advance(frame, values, false),
        Err(end) => Next::End(end),
    }
}

fn advance(frame: &Frame, values: Values, signal: bool) -> Next {
    let (Some(ip), Some(sp)) = (values.get(RETURN), values.get(RSP)) else {
        return Next::End(End::Failed(Why::Register));
    };
    if ip == 0 {
        return Next::End(End::Root);
    }
    // The innermost frame may have taken its own off the stack already (the end of longjmp).
    let moved = sp > frame.sp || (frame.first && sp == frame.sp && ip != frame.ip);
    if !moved && !signal {
        return Next::End(End::Failed(Why::Loop));
    }
    Next::Caller(Frame { values, ip, sp, exact: signal, first: false })
}

fn after_hook(frame: &Frame, step: Step) -> Next {
    if step.ip == 0 {
        return Next::End(End::Root);
    }
    if step.sp < frame.sp || (step.sp == frame.sp && step.ip == frame.ip) {
        return Next::End(End::Failed(Why::Loop));
    }
    let mut values = Values::default();
    values.set(RETURN, Some(step.ip));
    values.set(RSP, Some(step.sp));
    values.set(RBP, step.bp);
    for (&register, value) in PRESERVED.iter().filter(|&&register| register != RBP).zip(step.preserved) {
        values.set(register, value);
    }
    Next::Caller(Frame { values, ip: step.ip, sp: step.sp, exact: false, first: false })
}

/// Asks the hook where the code has no file, or where it wants to be asked.
fn hook_step(
    process: &mut Process,
    hook: &mut Option<&mut dyn FrameHook>,
    cursor: &Cursor,
    stack: &Stack<'_>,
) -> Option<Step> {
    let hook = hook.as_deref_mut()?;
    let in_file = process.mapping(cursor.lookup()).is_some_and(|mapping| mapping.has_file() || mapping.is_vdso());
    if !in_file || hook.wants(cursor.ip) { hook.step(cursor, stack) } else { None }
}

/// Whether an address may be one of code. Maps are read again if they do not know it.
fn known_code(process: &mut Process, hook: &mut Option<&mut dyn FrameHook>, cursor: &Cursor) -> bool {
    if process.is_code(cursor.lookup()) {
        return true;
    }
    let refreshed = process.refresh().unwrap_or(false);
    (refreshed && process.is_code(cursor.lookup())) || hook.as_deref().is_some_and(|hook| hook.wants(cursor.ip))
}

#[cfg(test)]
mod tests;
