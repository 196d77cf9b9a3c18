//! Profiles as files: Weir's own, and those of the tools that people have.
//!
//! All formats stand in one table, [`FORMATS`]; reading looks at the bytes and not at the name,
//! because files come through pipes and are renamed. Whatever is read comes from outside: sizes
//! are bounded ([`intake`], [`unpack`]), and every id is checked before anyone indexes with it.

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

pub use error::{FormatError, Place};
pub use intake::{MAX_DEPTH, MAX_NAME_BYTES};
pub use unpack::MAX_UNPACKED_BYTES;

/// A file format of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Weir's own: everything that a [`Profile`] holds, as gzip'd JSON.
    Weir,
    /// One line for each stack: `thread;main;work 12`.
    Folded,
    /// The text that `perf script` prints.
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

/// One format: what it is called, and what can be done with it.
pub struct Entry {
    /// Which.
    pub format: Format,
    /// Its name on the command line.
    pub name: &'static str,
    /// Endings of its files' names, with the dot; the first is the one to give new files.
    pub extensions: &'static [&'static str],
    sniff: fn(&[u8]) -> bool,
    read: Option<Read>,
    write: Option<WriteTo>,
}

/// Every format, in the order in which [`read`] tries them: what is hard to mistake comes first.
pub const FORMATS: &[Entry] = &[
    Entry {
        format: Format::Weir,
        name: "weir",
        extensions: &[".weir.json.gz"],
        sniff: weir::sniff,
        read: Some(weir::read),
        write: Some(weir::write),
    },
    Entry {
        format: Format::Speedscope,
        name: "speedscope",
        extensions: &[".speedscope.json"],
        sniff: speedscope::sniff,
        read: None,
        write: Some(speedscope::write),
    },
    Entry {
        format: Format::Firefox,
        name: "firefox",
        extensions: &[".firefox.json"],
        sniff: firefox::sniff,
        read: None,
        write: Some(firefox::write),
    },
    Entry {
        format: Format::Pprof,
        name: "pprof",
        extensions: &[".pb.gz", ".pprof", ".pb"],
        sniff: pprof::sniff,
        read: Some(pprof::read),
        write: Some(pprof::write),
    },
    Entry {
        format: Format::PerfScript,
        name: "perf-script",
        extensions: &[".perf.txt", ".perf"],
        sniff: perf_script::sniff,
        read: Some(perf_script::read),
        write: None,
    },
    Entry {
        format: Format::Folded,
        name: "folded",
        extensions: &[".folded", ".collapsed"],
        sniff: folded::sniff,
        read: Some(folded::read),
        write: Some(folded::write),
    },
];

/// How `perf.data` begins.
const PERF_DATA: &[u8] = b"PERFILE2";

impl Format {
    /// Its entry in [`FORMATS`].
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        FORMATS.iter().find(|entry| entry.format == self).expect("every format has an entry")
    }

    /// The format of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|entry| entry.name == name).map(|entry| entry.format)
    }

    /// The format that a file's name asks for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let wanted = |entry: &&Entry| entry.extensions.iter().any(|extension| name.ends_with(extension));
        FORMATS.iter().find(wanted).map(|entry| entry.format)
    }

    /// Whether [`read`] understands it.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.entry().read.is_some()
    }

    /// Whether [`write`](fn@write) makes it.
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

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Reads a profile, whatever its format, packed by gzip or not.
///
/// Ids are checked, stacks deeper than [`MAX_DEPTH`] are cut at their root with a remark.
///
/// # Errors
/// What is wrong, where, and what to do.
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

/// Reads a profile of a known format, packed by gzip or not.
///
/// # Errors
/// What is wrong, where, and what to do.
pub fn read_as(bytes: &[u8], format: Format) -> Result<Profile, FormatError> {
    let read = format.entry().read.ok_or(FormatError::WriteOnly(format))?;
    read(&unpack::unpack(bytes)?)
}

/// Writes a profile.
///
/// # Errors
/// If the format is only read, or writing fails.
pub fn write(profile: &Profile, format: Format, out: &mut dyn Write) -> Result<(), FormatError> {
    let write = format.entry().write.ok_or(FormatError::ReadOnly(format))?;
    write(profile, out)
}

#[cfg(test)]
mod tests;
