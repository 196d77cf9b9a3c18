//! Lua in the process: the LuaJIT version and the configured handlers.

use serde::{Deserialize, Serialize};

use super::nginx::DirectivePosition;

mod read;

pub(super) use read::lua_facts;

/// Lua in the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LuaFacts {
    /// `LuaJIT 2.1.0-beta3`, as in the library; empty if not found.
    pub version: String,
    /// Path of the library or executable that contains it.
    pub library: String,
    /// Positions of `lua_code_cache off`: every request compiles its Lua.
    pub code_cache_off: Vec<DirectivePosition>,
    /// Handlers of the configuration, in its order. At most 1,000.
    pub handlers: Vec<LuaHandler>,
    /// Positions of `jit.off()` without arguments, in blocks and in handlers' files: it disables
    /// the compiler globally.
    pub jit_off: Vec<String>,
}

/// One Lua handler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LuaHandler {
    /// The directive: `access_by_lua_block`.
    pub directive: String,
    /// The file, for `*_by_lua_file`; empty for inline code.
    pub file: String,
    /// Number of lines of inline code.
    pub lines: u32,
    /// Where it is configured.
    pub place: DirectivePosition,
    /// A readable name of its server or location; empty for `http` or above.
    pub scope: String,
}
