//! Loads a configuration with its included files.
//!
//! Includes are bounded in depth, number and bytes: a file that includes itself is an error, not an endless loop.

use std::io;
use std::sync::Arc;

use super::parse::{Include, parse};
use super::{Configuration, Directive, DirectivePosition, glob};

/// Access to files.
pub trait Files {
    /// Reads a whole file, by its absolute path, of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, is not a regular file, or is longer.
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Vec<u8>>;

    /// Names in a directory, in any order.
    ///
    /// # Errors
    /// If it does not exist or cannot be read.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
}

/// Limits on the input.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nesting depth of includes. nginx has no limit; hand-written configurations are three deep.
    pub depth: usize,
    /// Number of files, counted at each inclusion.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Directives of all files.
    pub directives: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 16, files: 1000, bytes: 64 << 20, directives: 1_000_000 }
    }
}

/// Maximum number of errors.
const MAX_ERRORS: usize = 100;
/// Maximum number of matches of one pattern, and of directories searched for it.
const MAX_MATCHES: usize = 1000;

/// Loads a configuration.
///
/// - `path`: its main file, absolute.
/// - `prefix`: the directory for relative paths, without a trailing slash.
#[must_use]
pub fn load(files: &dyn Files, path: &str, prefix: &str, limits: Limits) -> Configuration {
    let mut loader = Loader { files, prefix, limits, depth: 0, left: limits, configuration: Configuration::default() };
    let start = DirectivePosition { file: Arc::from(path), line: 0 };
    let directives = loader.file(path, &start, 0);
    Configuration { directives, ..loader.configuration }
}

struct Loader<'f> {
    files: &'f dyn Files,
    prefix: &'f str,
    limits: Limits,
    depth: usize,
    /// The remaining limits.
    left: Limits,
    configuration: Configuration,
}

impl Loader<'_> {
    fn file(&mut self, path: &str, from: &DirectivePosition, blocks: usize) -> Vec<Directive> {
        if self.left.files == 0 {
            self.wrong(from, &format!("{path} was not read: more than {} files", self.limits.files));
            return Vec::new();
        }
        self.left.files -= 1;
        let text = match self.files.read(path, self.left.bytes) {
            Ok(text) => text,
            Err(error) => {
                self.wrong(from, &format!("{path} cannot be read: {error}"));
                return Vec::new();
            }
        };
        self.left.bytes = self.left.bytes.saturating_sub(text.len() as u64);
        if !self.configuration.files.iter().any(|known| known == path) {
            self.configuration.files.push(path.to_owned());
        }
        self.depth += 1;
        let directives = parse(&text, &Arc::from(path), blocks, self);
        self.depth -= 1;
        directives
    }

    /// Files that match a pattern, sorted as in `glob(3)`.
    fn matches(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let last_count = found.len();
            if !glob::is_pattern(part) {
                found.iter_mut().for_each(|path| *path = format!("{path}/{part}"));
                continue;
            }
            let mut next = Vec::new();
            for directory in found.iter().take(last_count) {
                let listed = self.files.list(if directory.is_empty() { "/" } else { directory }).unwrap_or_default();
                let names = listed.into_iter().filter(|name| glob::fits(part, name));
                next.extend(names.map(|name| format!("{directory}/{name}")));
            }
            next.sort();
            next.truncate(MAX_MATCHES);
            found = next;
        }
        found
    }
}

impl Include for Loader<'_> {
    fn include(&mut self, pattern: &str, place: &DirectivePosition, blocks: usize) -> Vec<Directive> {
        if self.depth >= self.limits.depth {
            let what = format!("{pattern} was not included: more than {} nested files", self.limits.depth);
            self.wrong(place, &what);
            return Vec::new();
        }
        let absolute = absolute(pattern, self.prefix);
        if !glob::is_pattern(&absolute) {
            return self.file(&absolute, place, blocks);
        }
        let mut directives = Vec::new();
        for path in self.matches(&absolute) {
            directives.append(&mut self.file(&path, place, blocks));
        }
        directives
    }

    fn count(&mut self) -> bool {
        let room = self.left.directives > 0;
        self.left.directives = self.left.directives.saturating_sub(1);
        room
    }

    fn wrong(&mut self, place: &DirectivePosition, what: &str) {
        if self.configuration.errors.len() < MAX_ERRORS {
            self.configuration.errors.push(format!("{place}: {what}"));
        }
    }
}

/// A path of the configuration as an absolute one.
pub(in crate::facts) fn absolute(path: &str, prefix: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", prefix.trim_end_matches('/')) }
}
