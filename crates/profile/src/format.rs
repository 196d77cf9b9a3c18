//! Profiles as files: Weir's own format and those of common tools.
//!
//! All formats are rows of one table, [`FORMATS`]; the format is recognised by content and not by
//! name, because files come through pipes and are renamed. Input is untrusted: sizes are bounded
//! ([`intake`], [`unpack`]), and every id is checked before it is used as an index.

mod error;
mod firefox;
mod folded;
mod intake;
mod perf_script;
mod pprof;
mod speedscope;
mod unpack;
mod weir;

use std::fmt;
use std::io::Write;
use std::path::Path;

use crate::Profile;

pub use error::{FilePosition, FormatError};
pub use intake::{MAX_DEPTH, MAX_NAME_BYTES};
pub use unpack::MAX_UNPACKED_BYTES;

/// A file format of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Weir's own format: a complete [`Profile`], as gzip'd JSON.
    Weir,
    /// One line for each stack: `thread;main;work 12`.
    Folded,
    /// The output of `perf script`.
    PerfScript,
    /// Gzip'd protocol buffers, as Go's tools write and read them.
    Pprof,
    /// JSON for <https://www.speedscope.app>.
    Speedscope,
    /// JSON for <https://profiler.firefox.com>.
    Firefox,
}

type Read = fn(&[u8]) -> Result<Profile, FormatError>;
type WriteTo = fn(&Profile, &mut dyn Write) -> Result<(), FormatError>;

/// One format: its names and operations.
pub struct FormatEntry {
    /// The format.
    pub format: Format,
    /// Its name on the command line.
    pub name: &'static str,
    /// File name extensions, with the dot; the first is used for new files.
    pub extensions: &'static [&'static str],
    sniff: fn(&[u8]) -> bool,
    read: Option<Read>,
    write: Option<WriteTo>,
}

/// Every format, in the order in which [`read`] tries them: the most distinctive first.
pub const FORMATS: &[FormatEntry] = &[
    FormatEntry {
        format: Format::Weir,
        name: "weir",
        extensions: &[".weir.json.gz"],
        sniff: weir::sniff,
        read: Some(weir::read),
        write: Some(weir::write),
    },
    FormatEntry {
        format: Format::Speedscope,
        name: "speedscope",
        extensions: &[".speedscope.json"],
        sniff: speedscope::sniff,
        read: None,
        write: Some(speedscope::write),
    },
    FormatEntry {
        format: Format::Firefox,
        name: "firefox",
        extensions: &[".firefox.json"],
        sniff: firefox::sniff,
        read: None,
        write: Some(firefox::write),
    },
    FormatEntry {
        format: Format::Pprof,
        name: "pprof",
        extensions: &[".pb.gz", ".pprof", ".pb"],
        sniff: pprof::sniff,
        read: Some(pprof::read),
        write: Some(pprof::write),
    },
    FormatEntry {
        format: Format::PerfScript,
        name: "perf-script",
        extensions: &[".perf.txt", ".perf"],
        sniff: perf_script::sniff,
        read: Some(perf_script::read),
        write: None,
    },
    FormatEntry {
        format: Format::Folded,
        name: "folded",
        extensions: &[".folded", ".collapsed"],
        sniff: folded::sniff,
        read: Some(folded::read),
        write: Some(folded::write),
    },
];

/// The first bytes of `perf.data`.
const PERF_DATA: &[u8] = b"PERFILE2";

impl Format {
    /// Its row in [`FORMATS`].
    #[must_use]
    pub fn entry(self) -> &'static FormatEntry {
        FORMATS.iter().find(|entry| entry.format == self).expect("every format has an entry")
    }

    /// The format of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|entry| entry.name == name).map(|entry| entry.format)
    }

    /// The format for a file name.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let wanted = |entry: &&FormatEntry| entry.extensions.iter().any(|extension| name.ends_with(extension));
        FORMATS.iter().find(wanted).map(|entry| entry.format)
    }

    /// Whether [`read`] supports it.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.entry().read.is_some()
    }

    /// Whether [`write`](fn@write) supports it.
    #[must_use]
    pub fn is_written(self) -> bool {
        self.entry().write.is_some()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl fmt::Debug for FormatEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormatEntry").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Reads a profile in any format, gzip'd or not.
///
/// Ids are checked; stacks deeper than [`MAX_DEPTH`] are cut at their root, with a remark.
///
/// # Errors
/// The problem, its position, and what to do.
pub fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let bytes = unpack::unpack(bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(FormatError::Empty);
    }
    if bytes.starts_with(PERF_DATA) {
        return Err(FormatError::PerfData);
    }
    let entry = FORMATS.iter().find(|entry| (entry.sniff)(&bytes)).ok_or(FormatError::Unknown)?;
    let read = entry.read.ok_or(FormatError::WriteOnly(entry.format))?;
    read(&bytes)
}

/// Reads a profile in a known format, gzip'd or not, for tests and fuzzing: users' files are recognised by [`read`].
///
/// # Errors
/// The problem, its position, and what to do.
pub fn read_as(bytes: &[u8], format: Format) -> Result<Profile, FormatError> {
    let read = format.entry().read.ok_or(FormatError::WriteOnly(format))?;
    read(&unpack::unpack(bytes)?)
}

/// Writes a profile.
///
/// # Errors
/// If the format is read-only, or writing fails.
pub fn write(profile: &Profile, format: Format, out: &mut dyn Write) -> Result<(), FormatError> {
    let write = format.entry().write.ok_or(FormatError::ReadOnly(format))?;
    write(profile, out)
}

#[cfg(test)]
mod tests;
