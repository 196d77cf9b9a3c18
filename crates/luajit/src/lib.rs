//! Lua frames of running LuaJIT processes.
//!
//! ```text
//! Process ─▶ Layout (disassembly of lua_call and the interpreter) ─▶ Offsets ─▶ BPF walks the Lua stack
//!                                                                                │ RawLua
//! traces, prototypes, names (read from memory, cached) ───────▶ Vm ◀─────────────┘
//!                                                                │ join
//!                                      machine frames and Lua frames, in one order
//! ```
//!
//! LuaJIT's structures differ between versions and builds, and distributions do not ship its debug information. Copies of
//! its header files for each version would be wrong for the next one, and silently so. Everything that varies is therefore
//! derived from the running code: the interpreter's entry and its handler that enters traces contain every offset that a
//! walk needs, because they use them. Whatever all GC64 builds share is checked against live objects before it is used.
//!
//! LuaJIT 2.1 with GC64 on x86-64 is supported (OpenResty's luajit2 too). Others are rejected with a reason.

mod bytecode;
mod cache;
mod entry;
mod error;
mod frame;
mod handler;
mod hook;
mod join;
mod layout;
mod library;
mod name;
mod names;
mod nginx;
mod object;
mod offsets;
mod proto;
mod raw;
mod scan;
mod trace;
mod vm;

pub use error::LuaError;
pub use hook::TraceHook;
pub use join::JoinedFrame;
pub use layout::Layout;
pub use names::{InternalName, internal_names};
pub use offsets::{MAX_GLOBALS, Offsets};
pub use raw::{RawLua, RawLuaFrame};
pub use vm::Vm;
