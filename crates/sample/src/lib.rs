//! Sampling of running processes: their CPU time, their waits, and their system calls.
//!
//! ```text
//!              BPF programs (on a timer, at switches, at system calls)     perf events, if BPF is denied
//!                                          │ ring                           │ rings
//! Target ─▶ ResolvedTarget ─▶ Session ◀────┴───────── Record ◀──────────────┘
//!                                │ unwind (weir-unwind), join Lua (weir-luajit)
//!                                ▼ names, once, at the end
//!                             Recorded: weir_profile::Profile...
//! ```
//!
//! Nothing stops a sampled process or writes to it. A sample contains what cannot be read later: registers, stack bytes,
//! the kernel's stack, Lua's stack. Unwinding in the kernel would copy less, but needs the unwind tables of every binary
//! there; copying a few KiB a hundred times a second is cheaper than that.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("weir-sample runs on Linux on x86-64 only: registers, system calls and unwind tables are those of it");

mod cpus;
mod ebpf;
mod error;
mod event;
mod gather;
mod image;
mod options;
mod perf;
mod privilege;
mod record;
mod ring;
mod session;
mod source;
mod stacks;
mod system_calls;
mod target;

pub use error::SampleError;
pub use options::{Backend, LEAST_STACK, MOST_HZ, MOST_STACK, Options};
pub use privilege::privilege;
pub use session::{Progress, Recorded, Session};
pub use target::{ResolvedTarget, Target, family, find, roots};
