//! User stacks of running processes: from registers and stack bytes to names.
//!
//! ```text
//! Process (maps, modules, memory) ─┐
//! Registers + stack bytes ─────────┴─▶ Unwinder ─▶ NativeFrame... ─▶ Symbols ─▶ weir_profile::Frame...
//!                                        ▲ FrameHook: code without tables (traces of a compiler)
//! ```
//!
//! Nothing is written to a process and nothing stops it: its maps and files are read, and its memory
//! where a module has no file. Its data is untrusted: sizes and loops are bounded, and a damaged binary
//! makes frames unknown but never causes a panic.

mod call_frame;
mod elf;
mod error;
mod evaluate;
mod guess;
mod maps;
mod memory;
mod module;
mod modules;
mod process;
mod registers;
mod row;
mod stack;
mod symbols;
mod unwinder;

pub use call_frame::FrameRange;
pub use elf::Section;
pub use error::UnwindError;
pub use maps::Mapping;
pub use memory::Memory;
pub use module::Module;
pub use modules::Modules;
pub use process::{LoadedModule, Process};
pub use registers::Registers;
pub use stack::{CallerFrame, Cursor, FrameHook, MAX_FRAMES, NativeFrame, Stack, UnwindEnd, UnwindFailure};
pub use symbols::Symbols;
pub use unwinder::Unwinder;
