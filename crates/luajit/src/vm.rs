//! LuaJIT in one process: its virtual machines, functions and traces.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use weir_unwind::{Memory, Process, Registers};

use crate::error::LuaError;
use crate::hook::TraceHook;
use crate::layout::Layout;
use crate::library::Library;
use crate::nginx;
use crate::object::{self, TABLE, THREAD};
use crate::offsets::{MAX_GLOBALS, Offsets};
use crate::proto::{PROTO_SIZE, Proto};
use crate::raw::RawLua;
use crate::scan;
use crate::trace::{MCODE, Trace};

/// Possible sizes of `lua_State`: the main one lies directly before `global_State`.
const STATE_SIZES: std::ops::RangeInclusive<u64> = 80..=160;
/// `lua_State.env` after `lua_State.stack`.
const ENVIRONMENT: u64 = 16;
/// Maximum size of a Lua stack, in bytes: 65,500 slots and some more, of eight bytes.
const MAX_STACK: u64 = 1 << 20;

/// LuaJIT in a process.
#[derive(Debug)]
pub struct Vm {
    pub(crate) memory: Memory,
    pub(crate) layout: Layout,
    offsets: Offsets,
    /// The mapping of the code around the interpreter.
    pub(crate) code: Range<u64>,
    pub(crate) library: Library,
    pub(crate) protos: HashMap<u64, (Instant, Proto)>,
    pub(crate) names: HashMap<u64, String>,
    pub(crate) traces: HashMap<(u64, u32), (Instant, Trace)>,
}

impl Vm {
    /// Looks for LuaJIT in a process; `None` if it has none (yet).
    ///
    /// # Errors
    /// If there is a Lua whose frames cannot be shown, with the reason.
    pub fn find(process: &mut Process) -> Result<Option<Self>, LuaError> {
        let mut refused = None;
        let mut layout = None;
        for loaded in process.modules() {
            match Layout::of(loaded) {
                Ok(Some(found)) => layout = Some(found),
                Ok(None) => {}
                Err(error) => refused = Some(error),
            }
        }
        let Some(layout) = layout else { return refused.map_or(Ok(None), Err) };
        let unknown = |what: String| LuaError::Unknown { path: layout.path.clone(), what };
        for (name, found, expected) in [
            ("the size of GCproto", u64::from(layout.handlers.proto_size), PROTO_SIZE as u64),
            ("GCtrace.mcode", u64::from(layout.handlers.t_mcode), MCODE),
        ] {
            if found != expected {
                return Err(unknown(format!("{name} is {found}, not {expected}")));
            }
        }
        let mut vm = Self {
            memory: process.memory(),
            offsets: layout.offsets(),
            code: process.mapping(layout.vm_start).map_or(0..0, |mapping| mapping.start..mapping.end),
            layout,
            library: Library::default(),
            protos: HashMap::new(),
            names: HashMap::new(),
            traces: HashMap::new(),
        };
        if let Some(state) = nginx::state(process) {
            vm.add_state(state);
        }
        for table in scan::dispatch_tables(process, &vm.layout) {
            let global = table.wrapping_sub(u64::from(vm.offsets.dispatch));
            if let Some(what) = vm.main_state(global).and_then(|main| vm.unsound(global, main)) {
                return Err(LuaError::Unknown { path: vm.layout.path, what: what.to_owned() });
            }
            vm.add_global(global);
        }
        Ok(Some(vm))
    }

    /// The offsets for the kernel side. Changes when [`Vm::learn`] finds a virtual machine.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The known virtual machines, each by its `global_State`.
    #[must_use]
    pub fn globals(&self) -> &[u64] {
        &self.offsets.globals[..self.offsets.global_count as usize]
    }

    /// Checks whether registers reveal a new virtual machine: in the interpreter and in traces, r14
    /// points to its dispatch table. Cheap if `ip` is elsewhere in a file; call it for samples
    /// whose `ip` is in [`Vm::is_interpreter`] or in no file.
    pub fn learn(&mut self, registers: &Registers) -> Option<u64> {
        self.add_global(registers.r14.wrapping_sub(u64::from(self.offsets.dispatch)))
    }

    /// Adds a virtual machine found by the kernel side.
    pub fn learn_from(&mut self, lua: &RawLua<'_>) -> Option<u64> {
        self.add_global(lua.global)
    }

    /// Whether an address is in the interpreter's own code.
    #[must_use]
    pub fn is_interpreter(&self, address: u64) -> bool {
        self.layout.in_vm(address)
    }

    /// The unwinder's hook for frames of traces; `lua` is the Lua stack that the kernel side read with this sample.
    #[must_use]
    pub fn hook<'a>(&'a mut self, lua: Option<&'a RawLua<'a>>) -> TraceHook<'a> {
        TraceHook::new(self, lua)
    }

    fn add_state(&mut self, state: u64) -> Option<u64> {
        object::is(self.memory, state, THREAD).then_some(())?;
        self.add_global(self.memory.u64(state + u64::from(self.offsets.l_global)).ok()?)
    }

    /// Adds a virtual machine if its current coroutine points back to it.
    fn add_global(&mut self, global: u64) -> Option<u64> {
        if self.globals().contains(&global) || self.globals().len() == MAX_GLOBALS || !global.is_multiple_of(8) {
            return None;
        }
        let main = self.main_state(global).filter(|&main| self.unsound(global, main).is_none())?;
        self.offsets.globals[self.offsets.global_count as usize] = global;
        self.offsets.global_count += 1;
        let environment = main + u64::from(self.offsets.l_stack) + ENVIRONMENT;
        if let Ok(globals) = self.memory.u64(environment) {
            self.library.merge(Library::read(self.memory, globals));
        }
        Some(global)
    }

    /// The first mismatch between a virtual machine and the layout; checked before any of its data is used.
    fn unsound(&self, global: u64, main: u64) -> Option<&'static str> {
        let offsets = &self.offsets;
        let word = |address: u64, at: u32| self.memory.u64(address + u64::from(at)).unwrap_or(0);
        let (stack, base) = (word(main, offsets.l_stack), word(main, offsets.l_base));
        let limit = word(main, offsets.l_maxstack);
        let current = word(global, offsets.g_current);
        let globals = word(main, offsets.l_stack + ENVIRONMENT as u32);
        let ordered =
            stack != 0 && stack < base && stack < limit && base - stack <= MAX_STACK && limit - stack <= MAX_STACK;
        if !ordered {
            return Some("the main coroutine's stack is not where lua_State says");
        }
        if object::of_value(word(stack, 0), THREAD) != Some(main) {
            return Some("the main coroutine's stack does not begin with it");
        }
        if current != 0 && !(object::is(self.memory, current, THREAD) && word(current, offsets.l_global) == global) {
            return Some("global_State.cur_L is not a coroutine");
        }
        (!object::is(self.memory, globals, TABLE)).then_some("the main coroutine's globals are not a table")
    }

    /// The main coroutine, which lies directly before `global_State`.
    fn main_state(&self, global: u64) -> Option<u64> {
        STATE_SIZES.step_by(8).map(|size| global.wrapping_sub(size)).find(|&state| {
            object::is(self.memory, state, THREAD)
                && self.memory.u64(state + u64::from(self.offsets.l_global)).ok() == Some(global)
        })
    }
}
