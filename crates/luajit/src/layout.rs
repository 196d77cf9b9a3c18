//! The structure offsets of one build of LuaJIT, derived once for each binary from its code alone.

use weir_unwind::LoadedModule;

use crate::entry::{self, EntryError, InterpreterEntry};
use crate::error::LuaError;
use crate::handler::{self, Handlers, MAX_VM_BYTES};
use crate::offsets::{MAX_GLOBALS, Offsets};

/// A function of every Lua's API, whose last call is to the interpreter's entry.
const LUA: &str = "lua_call";
/// A function that exists only in LuaJIT.
const LUAJIT: &str = "luaJIT_setmode";
/// Maximum length of `lua_call`, in bytes.
const MAX_CALLER: u64 = 1024;
/// Maximum length of the entry, in bytes.
const MAX_ENTRY: usize = 512;

/// One build of LuaJIT, loaded in a process.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Path of the binary.
    pub(crate) path: String,
    pub(crate) vm_start: u64,
    pub(crate) vm_end: u64,
    pub(crate) entry: InterpreterEntry,
    pub(crate) handlers: Handlers,
}

impl Layout {
    /// Derives a binary's layout; `None` if it does not contain Lua.
    ///
    /// # Errors
    /// If it is another Lua, or an unsupported LuaJIT.
    pub fn of(loaded: &LoadedModule) -> Result<Option<Self>, LuaError> {
        let module = &loaded.module;
        let Some(lua_call) = module.symbol_range(LUA) else { return Ok(None) };
        let path = module.path().to_owned();
        if module.symbol(LUAJIT).is_none() {
            return Err(LuaError::PlainLua { path });
        }
        let unknown = |what: &str| LuaError::Unknown { path: path.clone(), what: what.to_owned() };
        let size = lua_call.end.saturating_sub(lua_call.start).clamp(1, MAX_CALLER);
        let code =
            bytes(loaded, lua_call.start, size).ok_or_else(|| unknown("the code of lua_call is not in the file"))?;
        let vm_call = entry::targets(code, lua_call.start)
            .into_iter()
            .find(|&target| bytes(loaded, target, 16).is_some_and(entry::is_entry))
            .ok_or_else(|| unknown("lua_call calls no entry of the interpreter"))?;
        let range = module
            .frame_range(vm_call)
            .filter(|range| range.end.checked_sub(range.start).is_some_and(|size| size <= MAX_VM_BYTES))
            .ok_or_else(|| unknown("the interpreter has no unwind table (built without it)"))?;
        let vm = bytes(loaded, range.start, range.end - range.start)
            .ok_or_else(|| unknown("the code of the interpreter is not in the file"))?;
        let start = &vm[usize::try_from(vm_call - range.start).expect("the range holds it")..];
        let entry = entry::read(&start[..start.len().min(MAX_ENTRY)], vm_call).map_err(|odd| match odd {
            EntryError::Narrow => LuaError::NotGc64 { path: path.clone() },
            EntryError::Missing(what) => unknown(&format!("{what} was not found in the interpreter's entry")),
        })?;
        let handlers = handler::read(vm, range.start, &entry)
            .map_err(|what| unknown(&format!("{what} was not found in the interpreter")))?;
        Ok(Some(Self {
            path,
            vm_start: loaded.to_process(range.start),
            vm_end: loaded.to_process(range.end),
            entry,
            handlers: Handlers {
                partial: handlers.partial.iter().map(|&(ip, depth)| (loaded.to_process(ip), depth)).collect(),
                ..handlers
            },
        }))
    }

    /// The offsets for the kernel side, still without any virtual machine.
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        let Self { entry, handlers, .. } = self;
        Offsets {
            vm_start: self.vm_start,
            vm_end: self.vm_end,
            globals: [0; MAX_GLOBALS],
            global_count: 0,
            dispatch: entry.dispatch,
            g_current: entry.g_current,
            g_vmstate: entry.g_vmstate,
            g_jit_base: handlers.g_jit_base,
            l_global: entry.l_global,
            l_base: entry.l_base,
            l_maxstack: handlers.l_maxstack,
            l_stack: handlers.l_stack,
            l_cframe: entry.l_cframe,
            c_size: entry.c_size,
            c_state: entry.c_state,
            c_pc: entry.c_pc,
            c_previous: entry.c_previous,
            c_results: entry.c_results,
            proto_size: handlers.proto_size,
        }
    }

    /// The distance from the stack pointer to the start of the native frame, if the frame is incomplete.
    pub(crate) fn partial(&self, address: u64) -> Option<u32> {
        let at = self.handlers.partial.binary_search_by_key(&address, |&(ip, _)| ip).ok()?;
        Some(self.handlers.partial[at].1)
    }

    /// Whether an address is in the interpreter.
    #[must_use]
    pub fn in_vm(&self, address: u64) -> bool {
        (self.vm_start..self.vm_end).contains(&address)
    }
}

fn bytes(loaded: &LoadedModule, address: u64, size: u64) -> Option<&[u8]> {
    loaded.module.bytes_at(address)?.get(..usize::try_from(size).ok()?)
}
