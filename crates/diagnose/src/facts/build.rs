//! How a binary was built: what it says of itself, and what its code gives away.

use serde::{Deserialize, Serialize};

mod classify;
mod code;
mod dwarf;
mod functions;
mod read;

pub use classify::classify;
pub use code::CodeStatistics;
pub use read::{build_facts, build_facts_of};

/// What a binary is to the process.
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
    /// What it is to the process.
    pub kind: BinaryKind,
    /// Build id in hexadecimal digits; empty: none.
    pub build_id: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Whether it has no symbol table (`.symtab`).
    pub stripped: bool,
    /// Compilers in `.comment`: `GCC: (Debian 12.2.0-14) 12.2.0`. At most 16.
    pub compilers: Vec<String>,
    /// Compilers and flags in its debug information (`DW_AT_producer`), most units first. At most 16.
    pub producers: Vec<Producer>,
    /// Flags that nginx was configured with (`--with-cc-opt`), of an nginx: what was asked for, not what was done.
    pub configured_flags: String,
    /// How its code looks; `None`: not x86-64, or no table of its functions.
    pub code: Option<CodeStatistics>,
    /// What follows from all that.
    pub optimisation: Optimisation,
    /// Why something is missing; empty: nothing is.
    pub remark: String,
}

/// A compiler with its flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Producer {
    /// As it is written.
    pub text: String,
    /// Compilation units that say so.
    pub units: u32,
}

/// How far the compiler was asked to optimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Cannot be said.
    #[default]
    Unknown,
    /// `-O0`: every variable lives in memory.
    O0,
    /// `-O1` or `-Og`: registers, but no tail calls and little else.
    O1,
    /// `-O2` or above, or `-Os`.
    O2OrHigher,
}

/// Where a judgement comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimisationSource {
    /// There is none.
    #[default]
    Nothing,
    /// The compiler's own words in the debug information.
    DebugInformation,
    /// Statistics of the code.
    Code,
}

/// Whether calls at the end of a function were made jumps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailCalls {
    /// Cannot be said.
    #[default]
    Unknown,
    /// They were.
    Optimised,
    /// They were not: every filter stays on the stack of the one that it calls.
    Missing,
}

/// What the compiler did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Optimisation {
    /// How far.
    pub level: Level,
    /// Calls at the end of functions.
    pub tail_calls: TailCalls,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// Where it comes from.
    pub source: OptimisationSource,
    /// Why, in a sentence with the figures.
    pub reason: String,
}
