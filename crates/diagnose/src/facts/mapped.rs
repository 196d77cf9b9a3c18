//! Binaries mapped by a process, opened as mapped, even if their path now refers to another file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::root::Root;

/// Maximum number of binaries of one process; a browser has 200.
const MAX_BINARIES: usize = 512;

/// A binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    /// Path as the process sees it.
    pub path: String,
    /// Its first mapping, as in `/proc/PID/map_files`.
    range: String,
    /// Whether the path now refers to another file, or to none.
    pub replaced: bool,
}

/// Files with executable mappings, by path.
///
/// # Errors
/// If the process may not be read.
pub(super) fn binaries(pid: u32) -> io::Result<Vec<Mapped>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mut found: BTreeMap<&str, Mapped> = BTreeMap::new();
    for (range, path) in maps.lines().filter_map(executable) {
        if found.len() < MAX_BINARIES || found.contains_key(path) {
            let name = path.trim_end_matches(" (deleted)");
            let mapped = Mapped { path: name.to_owned(), range: range.to_owned(), replaced: name.len() != path.len() };
            found.entry(path).or_insert(mapped);
        }
    }
    Ok(found.into_values().collect())
}

/// Range and path of a line, if it is the code of a file: `55d0-55d1 r-xp 0 08:01 42 /usr/sbin/nginx`.
fn executable(line: &str) -> Option<(&str, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let at = rest.find('/')?;
    let before = &rest[..at];
    (before.as_bytes().get(2) == Some(&b'x')).then_some((range, &rest[at..]))
}

impl Mapped {
    /// Opens the mapped file, otherwise the file at its path.
    pub fn open(&self, pid: u32, root: &Root) -> io::Result<File> {
        // The kernel writes the range of a link without leading zeros, whereas `maps` has at least eight digits.
        let short: Vec<&str> = self.range.split('-').map(|end| end.trim_start_matches('0')).collect();
        let mapped = File::open(format!("/proc/{pid}/map_files/{}", short.join("-")));
        mapped.or_else(|error| if self.replaced { Err(error) } else { root.open(Path::new(&self.path)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files_counts() {
        let cases = [
            ("5500-5600 r-xp 00000000 08:01 42   /usr/sbin/nginx", Some(("5500-5600", "/usr/sbin/nginx"))),
            ("5500-5600 r--p 00000000 08:01 42   /usr/sbin/nginx", None),
            ("5500-5600 r-xp 00000000 00:00 0    [vdso]", None),
            ("5500-5600 r-xp 00000000 08:01 42   /a b (deleted)", Some(("5500-5600", "/a b (deleted)"))),
            ("", None),
        ];
        for (line, want) in cases {
            assert_eq!(executable(line), want, "{line}");
        }
    }

    #[test]
    fn this_test_is_mapped() {
        let own = binaries(std::process::id()).expect("readable");
        let exe = std::env::current_exe().expect("known");
        let found = own.iter().find(|mapped| Path::new(&mapped.path) == exe).expect("is there");
        assert!(found.open(std::process::id(), &Root::at("/")).is_ok() && !found.replaced);
    }
}
