//! Files as a process sees them, in its container if it has one.
//!
//! `/proc/PID/root/PATH` alone is not sufficient: the kernel resolves an absolute link in it
//! against the reader's root. Links are therefore followed here, each from the root of the process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use super::nginx::Files;

/// Maximum number of links followed for one path, as in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;
/// Maximum number of names listed in one directory.
const MAX_NAMES: usize = 100_000;

/// The root of a process.
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
}

impl Root {
    /// The root of process `pid`.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self::at(format!("/proc/{pid}/root"))
    }

    /// A root at a directory.
    #[must_use]
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// Translates a path of the process to one of this process, with all links followed.
    ///
    /// # Errors
    /// If there are more than 40 links, or a directory cannot be read. A path that does not exist is not an error.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut left: Vec<PathBuf> = parts(path);
        let (mut at, mut links) = (self.base.clone(), 0);
        let mut depth = 0_usize;
        while let Some(part) = left.pop() {
            if part == Path::new("..") {
                if depth > 0 {
                    at.pop();
                    depth -= 1;
                }
                continue;
            }
            let next = at.join(&part);
            let is_link = fs::symlink_metadata(&next).is_ok_and(|data| data.file_type().is_symlink());
            if !is_link {
                at = next;
                depth += 1;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(io::Error::other(format!("more than {MAX_LINKS} links in {}", path.display())));
            }
            let target = fs::read_link(&next)?;
            if target.is_absolute() {
                (at, depth) = (self.base.clone(), 0);
            }
            left.extend(parts(&target));
        }
        Ok(at)
    }

    /// Opens a regular file for reading. It never blocks: FIFOs and devices are rejected.
    ///
    /// # Errors
    /// If it does not exist, is not a regular file, or cannot be read.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(self.resolve(path)?)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
    }
}

/// Components of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    named.collect()
}

impl Files for Root {
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(Path::new(path))?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(io::Error::other(format!("longer than the remaining limit of {max_bytes} bytes")));
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.resolve(Path::new(path))?)?;
        Ok(entries.take(MAX_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }
}
