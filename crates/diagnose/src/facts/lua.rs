//! Lua: which LuaJIT, what is configured to run in it.

use serde::{Deserialize, Serialize};

use super::nginx::Place;

mod read;

pub(super) use read::lua_facts;

/// Lua in the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LuaFacts {
    /// `LuaJIT 2.1.0-beta3`, as the library calls itself; empty: not found.
    pub version: String,
    /// Path of the library or executable that holds it.
    pub library: String,
    /// Where `lua_code_cache off` is configured: every request compiles its Lua anew.
    pub code_cache_off: Vec<Place>,
    /// Handlers of the configuration, in its order. At most 1,000.
    pub handlers: Vec<LuaHandler>,
    /// Where `jit.off()` without arguments is written, in blocks and in handlers' files: the compiler is off for all.
    pub jit_off: Vec<String>,
}

/// One Lua handler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LuaHandler {
    /// The directive: `access_by_lua_block`.
    pub directive: String,
    /// The file, for `*_by_lua_file`; empty: code in the configuration.
    pub file: String,
    /// Lines of code in the configuration.
    pub lines: u32,
    /// Where it is configured.
    pub place: Place,
    /// The server or location that it is in, as a person would say; empty: `http` or above.
    pub scope: String,
}
