//! Unwinds the interpreter's native frame.
//!
//! A trace's machine code has no unwind table, and the interpreter's is wrong where it moves the stack pointer (at
//! the exit of a trace). But LuaJIT stores the address of its innermost native frame (`L->cframe`), which is part of
//! the sample: from there on the layout of the frame is known. Frames of the interpreter further out are found by its
//! table, because their stack pointer is that of a call.

use weir_unwind::{CallerFrame, Cursor, FrameHook, Stack};

use crate::layout::Layout;
use crate::raw::RawLua;
use crate::vm::Vm;

/// A trace and its exit use less stack than this, in bytes (`spadjust` has 16 bits).
const MAX_TRACE_STACK: u64 = 1 << 16;
/// Maximum number of bytes that the interpreter pushes beyond its frame, at the exit of a trace.
const MAX_PUSHED: u64 = 4096;

/// Unwinds the innermost frame of the interpreter or of a trace.
#[derive(Debug)]
pub struct TraceHook<'a> {
    vm: &'a mut Vm,
    lua: Option<&'a RawLua<'a>>,
    done: bool,
}

impl<'a> TraceHook<'a> {
    pub(crate) fn new(vm: &'a mut Vm, lua: Option<&'a RawLua<'a>>) -> Self {
        Self { vm, lua, done: false }
    }

    /// The interpreter's stack pointer at `at`, or when it entered the trace.
    fn frame(&mut self, at: &Cursor, stack: &Stack<'_>) -> Option<u64> {
        let entry = self.vm.layout.entry;
        let in_vm = self.vm.layout.in_vm(at.ip);
        let Some(lua) = self.lua else {
            return if in_vm { None } else { self.by_trace(at) };
        };
        let known = |sp: u64| {
            let state = stack.u64(sp.wrapping_add(u64::from(entry.c_state)));
            state.is_some_and(|state| state != 0 && lua.frames.iter().any(|frame| frame.state == state))
        };
        if in_vm && (known(at.sp) || lua.cframe == at.sp) {
            return Some(at.sp);
        }
        let reach = if in_vm { MAX_PUSHED } else { MAX_TRACE_STACK };
        let distance = lua.cframe.checked_sub(at.sp)?;
        (distance <= reach && (known(lua.cframe) || !in_vm)).then_some(lua.cframe)
    }

    /// The caller of a small assembler function next to the interpreter, called from C: it stores
    /// nothing on the stack.
    fn helper(&self, at: &Cursor, stack: &Stack<'_>) -> Option<CallerFrame> {
        let layout = &self.vm.layout;
        if !at.exact || !layout.in_vm(at.ip) || self.lua.is_some_and(|lua| at.sp >= lua.cframe) {
            return None;
        }
        let ip = stack.u64(at.sp)?;
        let by_c = self.vm.code.contains(&ip) && !layout.in_vm(ip);
        by_c.then_some(CallerFrame { ip, sp: at.sp.wrapping_add(8), bp: at.bp, preserved: [None; 5] })
    }

    /// Without data from the kernel side: by the trace that contains the address.
    fn by_trace(&mut self, at: &Cursor) -> Option<u64> {
        let lookup = at.lookup();
        for global in self.vm.globals().to_vec() {
            if let Some(trace) = self.vm.trace(global, 0, lookup) {
                let space = u64::from(trace.stack) + u64::from(self.vm.layout.handlers.trace_space);
                return at.sp.checked_add(space);
            }
        }
        None
    }
}

impl FrameHook for TraceHook<'_> {
    fn wants(&self, ip: u64) -> bool {
        !self.done && self.vm.layout.in_vm(ip)
    }

    fn step(&mut self, at: &Cursor, stack: &Stack<'_>) -> Option<CallerFrame> {
        if self.done {
            return None;
        }
        let in_vm = self.vm.layout.in_vm(at.ip);
        if let Some(depth) = self.vm.layout.partial(at.ip).filter(|_| at.exact) {
            self.done = true;
            return partly(at, depth, stack);
        }
        if let Some(step) = self.helper(at, stack) {
            return Some(step);
        }
        let frame = self.frame(at, stack);
        self.done |= in_vm || frame.is_some();
        caller(&self.vm.layout, frame?, in_vm, stack)
    }
}

/// The caller of the interpreter while it builds or tears down its frame: rbp is pushed first.
fn partly(at: &Cursor, depth: u32, stack: &Stack<'_>) -> Option<CallerFrame> {
    let top = at.sp.wrapping_add(u64::from(depth));
    let below = |bytes: u64| stack.u64(top.wrapping_sub(bytes));
    let bp = if depth > 8 { below(16) } else { at.bp };
    let bx = if depth > 16 { below(24) } else { None };
    Some(CallerFrame { ip: below(8)?, sp: top, bp, preserved: [bx, None, None, None, None] })
}

/// The caller of the interpreter, whose frame begins at `sp`: rbp, rbx, r15 and r14 were pushed
/// first. A trace has stored r12 and r13 below.
fn caller(layout: &Layout, sp: u64, in_vm: bool, stack: &Stack<'_>) -> Option<CallerFrame> {
    let top = sp.wrapping_add(u64::from(layout.entry.c_size));
    let pushed = |bytes: u64| stack.u64(top.wrapping_sub(bytes));
    let ip = pushed(8)?;
    let more = |below: u64| if in_vm { None } else { stack.u64(sp.wrapping_sub(below)) };
    Some(CallerFrame { ip, sp: top, bp: pushed(16), preserved: [pushed(24), more(0), more(8), pushed(40), pushed(32)] })
}
