//! File access; nothing else in this crate reads files.
//!
//! Tests and the fuzzer use files in memory, so the reader only knows the trait [`Files`]. Names
//! with `*`, `?` or `[...]` are expanded here and not by a library, because the order is part of
//! the language: by name, byte by byte, as the shell does in the C locale.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::confined;

/// Maximum number of files that one pattern may match.
const MAX_FOUND: usize = 10_000;

/// Files and directories.
pub trait Files {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If it cannot be read, or is longer than `limit` bytes.
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>>;

    /// Names in a directory, in any order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// A canonical path, the same for every way to name the file.
    fn identity(&self, path: &Path) -> PathBuf;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let (file, about) = confined::open_file(path, limit as u64)?;
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default() + 1);
        // The file may have grown since.
        file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > limit { Err(confined::too_large(limit as u64)) } else { Ok(bytes) }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        confined::open(directory)?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory)?.take(MAX_FOUND) {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
    }
}

/// Files in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub BTreeMap<PathBuf, Vec<u8>>);

impl Files for Memory {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let bytes = self.0.get(&self.identity(path)).ok_or(io::ErrorKind::NotFound)?;
        if bytes.len() > limit { Err(confined::too_large(limit as u64)) } else { Ok(bytes.clone()) }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let directory = self.identity(directory);
        let inside = self.0.keys().filter_map(|path| path.strip_prefix(&directory).ok()?.components().next());
        let mut names: Vec<String> = inside.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        names.dedup();
        Ok(names)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        plain(path)
    }
}

/// A path without `.` and `..`, by its text alone.
#[must_use]
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// Whether the path contains wildcards.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// Files that match the pattern, by name.
pub(super) fn expand(files: &dyn Files, pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(name) = component else {
            found.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let name = name.to_string_lossy();
        if !is_pattern(&name) {
            found.iter_mut().for_each(|path| path.push(&*name));
            continue;
        }
        let mut next = Vec::new();
        for directory in &found {
            let mut names = files.list(directory).unwrap_or_default();
            names.retain(|candidate| matches(name.as_bytes(), candidate.as_bytes()));
            names.sort_unstable();
            next.extend(names.iter().map(|name| directory.join(name)));
            next.truncate(MAX_FOUND);
        }
        found = next;
    }
    found
}

/// Whether the shell pattern matches `name`. At most `pattern * name` steps: a star takes the
/// shortest text, and only the last star is ever extended.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(length) = one(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((at, taken)) = star {
            p = at + 1;
            n = taken + 1;
            star = Some((at, n));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Length of the pattern element at the start of `pattern`, if it matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'[' => class(pattern, byte),
        plain => (plain == byte).then_some(1),
    }
}

/// The same for `[...]`; an unclosed bracket is a literal.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = 1 + usize::from(negated);
    // A bracket in first position is a member of the class.
    let Some(length) = pattern.get(first + 1..).and_then(|rest| rest.iter().position(|&byte| byte == b']')) else {
        return (byte == b'[').then_some(1);
    };
    let end = first + 1 + length;
    let mut members = &pattern[first..end];
    let mut within = false;
    while let [low, rest @ ..] = members {
        if let [b'-', high, rest @ ..] = rest {
            within |= (*low..=*high).contains(&byte);
            members = rest;
        } else {
            within |= *low == byte;
            members = rest;
        }
    }
    (within != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names() {
        let cases: &[(&str, &str, bool)] = &[
            ("*.conf", "a.conf", true),
            ("*.conf", ".conf", false),
            ("*.conf", "a.conf.example", false),
            ("REQUEST-9[0-1]*", "REQUEST-901-X.conf", true),
            ("REQUEST-9[!0-1]*", "REQUEST-901-X.conf", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("*a*b*c*", "xxaxxcxxbxx", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), *expected, "{pattern} {name}");
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let names = ["/r/b.conf", "/r/a.conf", "/r/B.conf", "/r/a.data", "/s/x.conf"];
        let files = Memory(names.iter().map(|name| (PathBuf::from(name), Vec::new())).collect());
        let found = expand(&files, Path::new("/r/*.conf"));
        assert_eq!(found, ["/r/B.conf", "/r/a.conf", "/r/b.conf"].map(PathBuf::from));
        assert_eq!(expand(&files, Path::new("/*/x.conf")).len(), 2, "existence is for the reader to check");
    }
}
