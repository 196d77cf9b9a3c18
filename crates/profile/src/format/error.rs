//! What is wrong with a profile file, and where.

use std::fmt;
use std::io;

use thiserror::Error;

use super::{Format, unpack::MAX_UNPACKED_BYTES};

/// Where in a file something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// A line and a column, counted from 1.
    Column(u64, u64),
    /// Bytes from the start, after unpacking.
    Byte(u64),
    /// A field of the format: `sample 12`.
    Field(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Column(line, column) => write!(f, "line {line}, column {column}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Field(field) => f.write_str(field),
        }
    }
}

/// Why a profile cannot be read or written.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The file is of a known format, but broken or too large.
    #[error("{format} profile, {place}: {what}; {hint}")]
    Bad {
        /// The format that the file was taken for.
        format: Format,
        /// Where.
        place: Place,
        /// What is wrong.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Nothing is in it.
    #[error("the profile is empty; was the recording stopped before it wrote anything?")]
    Empty,
    /// No format that is known.
    #[error(
        "not a profile that Weir knows; it reads its own (.weir.json.gz), folded stacks, the output of perf script, and pprof"
    )]
    Unknown,
    /// What `perf record` writes, which only perf of the same machine can read well.
    #[error("this is perf's own file; run `perf script -i FILE` where it was recorded, and read what it prints")]
    PerfData,
    /// A format that is only written.
    #[error("{0} profiles are written, not read; export it as pprof or as folded stacks instead")]
    WriteOnly(Format),
    /// A format that is only read.
    #[error("{0} profiles are read, not written; write folded stacks or pprof instead")]
    ReadOnly(Format),
    /// Larger than what is read.
    #[error("the profile is larger than {} MiB; record for a shorter time, or fold it first", MAX_UNPACKED_BYTES >> 20)]
    TooLarge,
    /// The packed bytes are damaged.
    #[error("the gzip data is damaged after {0} unpacked bytes: {1}; copy or record it again")]
    Packed(u64, #[source] io::Error),
    /// Writing failed.
    #[error("writing failed: {0}")]
    Io(#[from] io::Error),
    /// Something cannot be said in the format.
    #[error("writing {0} failed: {1}")]
    Encode(Format, #[source] serde_json::Error),
}
