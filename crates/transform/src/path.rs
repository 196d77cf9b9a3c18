//! `normalisePath` and `normalisePathWin`: resolve `//`, `/./` and `/../`.
//!
//! A state machine over one buffer that follows ModSecurity's step by step: its corner cases (the
//! result for `a..` or `/..//`) follow from the order of its steps, not from a definition. It works
//! in place, because it both reads ahead and takes back earlier output.

use bumpalo::Bump;
use memchr::{memchr, memchr_iter};

use crate::byteset::ByteSet;
use crate::edit::changed;

pub(crate) const UNIX: ByteSet = ByteSet::from_list(b"./");
pub(crate) const WINDOWS: ByteSet = UNIX.with(b'\\');

pub(crate) fn normalise<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    if is_normal(input) {
        return input;
    }
    changed(input, Path::run(arena.alloc_slice_copy(input), Separators::Slash))
}

/// Whether a path without backslashes has neither an empty segment nor one that ends in a reference.
fn is_normal(path: &[u8]) -> bool {
    let refers = |segment_end: usize| match path[..segment_end] {
        [.., before, b'.'] => matches!(before, b'/' | b'.'),
        [b'.'] => true,
        _ => false,
    };
    !refers(path.len()) && memchr_iter(b'/', path).all(|at| path.get(at + 1) != Some(&b'/') && !refers(at))
}

/// Backslashes count as slashes and become slashes, except for the last of three or more in a row,
/// which ModSecurity overlooks.
pub(crate) fn normalise_windows<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    if memchr(b'\\', input).is_none() && is_normal(input) {
        return input;
    }
    changed(input, Path::run(arena.alloc_slice_copy(input), Separators::SlashAndBackslash))
}

#[derive(Clone, Copy, PartialEq)]
enum Separators {
    Slash,
    SlashAndBackslash,
}

impl Separators {
    fn contain(self, byte: Option<&u8>) -> bool {
        byte == Some(&b'/') || self == Self::SlashAndBackslash && byte == Some(&b'\\')
    }
}

struct Path<'a> {
    bytes: &'a mut [u8],
    /// The next byte to read; never before `written`.
    read: usize,
    /// The length of the result so far.
    written: usize,
    separators: Separators,
    relative: bool,
    /// Back-references have removed everything: further ones are copied.
    at_root: bool,
}

/// The action at the end of a segment.
enum PathStep {
    /// Copy the byte at `read`.
    Copy,
    /// The path is complete.
    End,
}

impl<'a> Path<'a> {
    fn run(bytes: &'a mut [u8], separators: Separators) -> &'a [u8] {
        let relative = !separators.contain(bytes.first());
        let trailing = separators.contain(bytes.last());
        let mut path = Self { bytes, read: 0, written: 0, separators, relative, at_root: false };
        while path.read < path.bytes.len() {
            path.convert();
            let is_last = path.read + 1 == path.bytes.len();
            let ends_segment = is_last || path.bytes[path.read + 1] == b'/';
            if ends_segment && matches!(path.end_segment(is_last), PathStep::End) {
                break;
            }
            path.copy();
            if is_last {
                break;
            }
        }
        if !trailing && path.written > 0 && path.bytes[path.written - 1] == b'/' {
            path.written -= 1;
        }
        let Self { bytes, written, .. } = path;
        &bytes[..written]
    }

    /// Replaces backslashes at `read` and after it with slashes.
    fn convert(&mut self) {
        if self.separators == Separators::SlashAndBackslash {
            let next_two = self.bytes[self.read..].iter_mut().take(2);
            next_two.filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
    }

    /// At the last byte of a segment: resolves a reference that ends there.
    fn end_segment(&mut self, is_last: bool) -> PathStep {
        let before = self.written.checked_sub(1).map(|at| self.bytes[at]);
        match (self.bytes[self.read], before) {
            (b'/', _) if !is_last => PathStep::Copy, // An empty segment: copying skips it.
            (b'.', Some(b'.')) => self.back(is_last),
            (b'.', None) => self.skip(is_last),
            (b'.', Some(b'/')) => {
                if !is_last {
                    self.written -= 1;
                }
                self.skip(is_last)
            }
            (b'.', Some(_)) => PathStep::Copy,
            (_, before) => {
                if before.is_some() {
                    self.at_root = false;
                }
                PathStep::Copy
            }
        }
    }

    /// A back-reference whose first dot has been written: removes the segment before it.
    fn back(&mut self, is_last: bool) -> PathStep {
        if self.relative && (self.at_root || self.written <= 2) {
            self.at_root = true;
            return PathStep::Copy;
        }
        self.written = match self.written.checked_sub(3) {
            Some(from) => self.bytes[..=from].iter().rposition(|&byte| byte == b'/').unwrap_or(0),
            None => 0,
        };
        if self.written == 0 {
            self.at_root = true;
            // An absolute path keeps its slash.
            self.written = usize::from(!self.relative && is_last);
        }
        self.skip(is_last)
    }

    fn skip(&mut self, is_last: bool) -> PathStep {
        if is_last {
            return PathStep::End;
        }
        self.read += 1;
        PathStep::Copy
    }

    /// Copies the byte at `read`; of several slashes only the last.
    fn copy(&mut self) {
        if self.bytes[self.read] == b'/' {
            while self.separators.contain(self.bytes.get(self.read + 1)) {
                self.read += 1;
            }
            if self.relative && self.written == 0 {
                self.read += 1;
                return;
            }
        }
        self.bytes[self.written] = self.bytes[self.read];
        self.written += 1;
        self.read += 1;
    }
}
