//! Errors in profile files, with their positions.

use std::fmt;
use std::io;

use thiserror::Error;

use super::{Format, unpack::MAX_UNPACKED_BYTES};

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// A line, counted from 1.
    Line(u64),
    /// A line and a column, counted from 1.
    Column(u64, u64),
    /// An offset in bytes, after unpacking.
    Byte(u64),
    /// A field of the format, such as `sample 12`.
    Field(String),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Column(line, column) => write!(f, "line {line}, column {column}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Field(field) => f.write_str(field),
        }
    }
}

/// The reason why a profile cannot be read or written.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The format is known, but the file is malformed or too large.
    #[error("{format} profile, {place}: {what}; {hint}")]
    Bad {
        /// The recognised format.
        format: Format,
        /// Position of the problem.
        place: FilePosition,
        /// The problem.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// The file is empty.
    #[error("the profile is empty; was the recording stopped before it wrote anything?")]
    Empty,
    /// The format is not recognised.
    #[error(
        "not a profile that Weir knows; it reads its own (.weir.json.gz), folded stacks, the output of perf script, and pprof"
    )]
    Unknown,
    /// The output of `perf record`, which only perf on the same machine can read reliably.
    #[error("this is a perf.data file; run `perf script -i FILE` where it was recorded, and read its output")]
    PerfData,
    /// A format that can only be written.
    #[error("{0} profiles are written, not read; export it as pprof or as folded stacks instead")]
    WriteOnly(Format),
    /// A format that can only be read.
    #[error("{0} profiles are read, not written; write folded stacks or pprof instead")]
    ReadOnly(Format),
    /// The file exceeds the size limit.
    #[error("the profile is larger than {} MiB; record for a shorter time, or fold the stacks first", MAX_UNPACKED_BYTES >> 20)]
    TooLarge,
    /// The gzip data is damaged.
    #[error("the gzip data is damaged after {0} unpacked bytes: {1}; copy or record it again")]
    Packed(u64, #[source] io::Error),
    /// Writing failed.
    #[error("writing failed: {0}")]
    Io(#[from] io::Error),
    /// The profile cannot be encoded in the format.
    #[error("writing {0} failed: {1}")]
    Encode(Format, #[source] serde_json::Error),
}
