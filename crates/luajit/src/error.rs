//! Why a process's Lua frames cannot be shown.

use weir_unwind::UnwindError;

/// What was found, and why it is of no use.
#[derive(Debug, thiserror::Error)]
pub enum LuaError {
    /// The process itself cannot be looked at.
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
    /// LuaJIT whose code does not look as expected.
    #[error("{path}: this build of LuaJIT is not known: {what}; Lua frames are left out")]
    Unknown {
        /// The library or program.
        path: String,
        /// Which check has failed.
        what: String,
    },
}
