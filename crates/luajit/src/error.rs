//! Reasons why a process's Lua frames cannot be shown.

use weir_unwind::UnwindError;

/// A Lua that is not supported, with the reason.
#[derive(Debug, thiserror::Error)]
pub enum LuaError {
    /// The process itself cannot be read.
    #[error(transparent)]
    Process(#[from] UnwindError),
    /// Lua by PUC-Rio, not LuaJIT.
    #[error("{path} is PUC Lua, not LuaJIT: its functions are shown as the C functions of its interpreter")]
    PlainLua {
        /// The library or program.
        path: String,
    },
    /// LuaJIT with 32-bit references (built without GC64).
    #[error(
        "{path} is LuaJIT without GC64 (32-bit references), whose Lua frames cannot be shown: newer builds have GC64 by default, older ones with XCFLAGS=-DLUAJIT_ENABLE_GC64"
    )]
    NotGc64 {
        /// The library or program.
        path: String,
    },
    /// LuaJIT with unexpected code.
    #[error("{path}: this build of LuaJIT is not supported: {what}; Lua frames are not shown")]
    Unknown {
        /// The library or program.
        path: String,
        /// The check that failed.
        what: String,
    },
}
