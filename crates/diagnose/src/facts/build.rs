//! The build of a binary, derived from its metadata and its code.

use serde::{Deserialize, Serialize};

mod classify;
mod code;
mod dwarf;
mod functions;
mod read;

pub use classify::classify;
pub use code::CodeStatistics;
pub use read::{build_facts, build_facts_of};

/// The role of a binary in the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinaryKind {
    /// The program.
    Executable,
    /// A module of nginx (`load_module`).
    NginxModule,
    /// LuaJIT's library.
    LuaJit,
    /// Another library.
    #[default]
    Library,
}

/// One executable or library.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildFacts {
    /// Path as the process sees it.
    pub path: String,
    /// Its role in the process.
    pub kind: BinaryKind,
    /// Build id in hexadecimal digits; empty if there is none.
    pub build_id: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Whether it has no symbol table (`.symtab`).
    pub stripped: bool,
    /// Compilers in `.comment`: `GCC: (Debian 12.2.0-14) 12.2.0`. At most 16.
    pub compilers: Vec<String>,
    /// Compilers and flags in its debug information (`DW_AT_producer`), most units first. At most 16.
    pub producers: Vec<Producer>,
    /// Flags with which nginx was configured (`--with-cc-opt`): requested, but not necessarily applied.
    pub configured_flags: String,
    /// Statistics of its code; `None` if it is not x86-64, or has no table of its functions.
    pub code: Option<CodeStatistics>,
    /// The derived optimisation.
    pub optimisation: Optimisation,
    /// The reason for missing data; empty if nothing is missing.
    pub remark: String,
}

/// A compiler with its flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Producer {
    /// Verbatim text.
    pub text: String,
    /// Number of compilation units with this text.
    pub units: u32,
}

/// The optimisation level requested from the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimisationLevel {
    /// Unknown.
    #[default]
    Unknown,
    /// `-O0`: every variable lives in memory.
    O0,
    /// `-O1` or `-Og`: registers, but no tail calls and little else.
    O1,
    /// `-O2` or above, or `-Os`.
    O2OrHigher,
}

/// The basis of a judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimisationSource {
    /// No basis.
    #[default]
    Nothing,
    /// Compiler flags in the debug information.
    DebugInformation,
    /// Statistics of the code.
    Code,
}

/// Whether calls at the end of a function became jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailCalls {
    /// Unknown.
    #[default]
    Unknown,
    /// They did.
    Optimised,
    /// They did not: every filter stays on the stack below the one that it calls.
    Missing,
}

/// The optimisation of a binary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Optimisation {
    /// The level.
    pub level: OptimisationLevel,
    /// Calls at the end of functions.
    pub tail_calls: TailCalls,
    /// Confidence, from 0 to 1.
    pub confidence: f64,
    /// The basis of the judgement.
    pub source: OptimisationSource,
    /// The reason, in a sentence with figures.
    pub reason: String,
}
