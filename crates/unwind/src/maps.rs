//! Parses `/proc/PID/maps`.
//!
//! Unrecognised lines are skipped: the kernel writes them, but a path may contain anything.

/// Maximum number of mappings of one process; further ones are ignored. The kernel's default limit
/// (`vm.max_map_count`) is 65,530.
pub(crate) const MAX_MAPPINGS: usize = 65_536;

/// A range of a process's addresses and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file of `start`, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
    /// Path as the process sees it, `[heap]`, `[vdso]`; empty if anonymous. Invalid UTF-8 is replaced.
    pub path: String,
    /// Whether the file has since been deleted (or replaced).
    pub deleted: bool,
    /// Whether it may be read.
    pub readable: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
}

impl Mapping {
    /// Whether it maps a file.
    #[must_use]
    pub fn has_file(&self) -> bool {
        self.inode != 0
    }

    /// Whether it is the vdso, code that the kernel provides.
    #[must_use]
    pub fn is_vdso(&self) -> bool {
        self.path == "[vdso]"
    }

    /// Whether both map the same file.
    pub(crate) fn same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Parses the text of `/proc/PID/maps`, which the kernel sorts by address.
pub(crate) fn parse(text: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> =
        text.split(|&byte| byte == b'\n').take(MAX_MAPPINGS).filter_map(parse_line).collect();
    if !mappings.is_sorted_by_key(|mapping| mapping.start) {
        mappings.sort_by_key(|mapping| mapping.start);
    }
    mappings
}

fn parse_line(line: &[u8]) -> Option<Mapping> {
    let line = String::from_utf8_lossy(line);
    let mut rest: &str = &line;
    let mut word = || {
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = tail;
        word
    };
    let (range, permissions, offset, device, inode) = (word(), word().as_bytes(), word(), word(), word());
    let (start, end) = range.split_once('-')?;
    let (major, minor) = device.split_once(':')?;
    let path = rest.trim_start();
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let mapping = Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        offset: hexadecimal(offset)?,
        device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
        inode: inode.parse().ok()?,
        path: path.to_owned(),
        deleted,
        readable: permissions.first() == Some(&b'r'),
        writable: permissions.get(1) == Some(&b'w'),
        executable: permissions.get(2) == Some(&b'x'),
    };
    (mapping.start < mapping.end).then_some(mapping)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests;
