//! Queries over a profile's stacks: the share of time with certain frames in the stack, the call
//! paths to them, the responsible Lua lines.
//!
//! A query by name is answered once for each frame (a profile has thousands) and then looked up for
//! each stack (tens of thousands), so that forty rules over a long profile take milliseconds. Names
//! are compared without the suffixes that tools append: `_[k]`, `.constprop.0`, `@plt`.

use std::collections::HashMap;

use weir_profile::{Frame, FrameId, Origin, Profile};

use crate::finding::Evidence;

/// Number of frames shown of one stack.
const SHOWN_FRAMES: usize = 4;

/// A profile with samples, prepared for queries.
pub(crate) struct Stacks<'a> {
    profile: &'a Profile,
    total: f64,
}

/// A set of frames of one profile.
pub(crate) struct FrameSet(Vec<bool>);

impl FrameSet {
    pub fn has(&self, frame: FrameId) -> bool {
        self.0[frame.0 as usize]
    }

    /// Whether a stack contains one of the frames.
    pub fn any(&self, stack: &[FrameId]) -> bool {
        stack.iter().any(|&frame| self.has(frame))
    }

    /// The position of the outermost one.
    pub fn first(&self, stack: &[FrameId]) -> Option<usize> {
        stack.iter().position(|&frame| self.has(frame))
    }

    /// Whether the innermost frame is in the set.
    pub fn leaf(&self, stack: &[FrameId]) -> bool {
        stack.last().is_some_and(|&frame| self.has(frame))
    }

    fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}

/// The part of the time whose stacks satisfy a condition.
pub(crate) struct TimeShare {
    /// Its share of the total, 0 to 1.
    pub share: f64,
    /// Its samples.
    pub samples: u64,
}

impl TimeShare {
    /// Whether it is at least `share` of the time and has at least `samples` samples: a share of
    /// three samples is random.
    pub fn reaches(&self, share: f64, samples: u64) -> bool {
        self.share >= share && self.samples >= samples
    }
}

impl<'a> Stacks<'a> {
    /// `None` if there is no profile, or it has no samples.
    pub fn of(profile: Option<&'a Profile>) -> Option<Self> {
        let profile = profile?;
        let total = profile.total();
        (total > 0).then_some(Self { profile, total: as_float(total) })
    }

    /// Frames that satisfy a test.
    pub fn frames(&self, test: impl Fn(&Frame) -> bool) -> FrameSet {
        FrameSet(self.profile.frames.iter().map(test).collect())
    }

    /// Machine code or kernel frames with one of these names; `*` matches anything at either end.
    pub fn named(&self, patterns: &[&str]) -> FrameSet {
        self.frames(|frame| !is_lua(frame) && is_named(&frame.name, patterns))
    }

    /// Frames of Lua functions and builtins with one of these names.
    pub fn lua_named(&self, patterns: &[&str]) -> FrameSet {
        self.frames(|frame| is_named(&frame.name, patterns))
    }

    /// Frames of binaries whose path contains one of these, whether or not a symbol is known.
    pub fn in_module(&self, parts: &[&str]) -> FrameSet {
        self.frames(|frame| parts.iter().any(|part| frame.module.contains(part) || marks(&frame.name, part)))
    }

    /// Frames of LuaJIT itself with one of these names. Some of its functions have common names (`gc_*`, `asm_*`):
    /// those count only in its own library, or if a profile without modules contains `lj_`.
    pub fn of_luajit(&self, patterns: &[&str]) -> FrameSet {
        let own = |frame: &Frame| bare(&frame.name).starts_with("lj_");
        let has_luajit = self.profile.frames.iter().any(own);
        self.frames(|frame| {
            let elsewhere = !frame.module.is_empty() || frame.origin == Origin::Kernel || !has_luajit;
            is_named(&frame.name, patterns) && (own(frame) || frame.module.contains("luajit") || !elsewhere)
        })
    }

    /// The time whose stacks satisfy a test.
    pub fn part(&self, test: impl Fn(&[FrameId]) -> bool) -> TimeShare {
        let mut part = (0_u64, 0);
        for sample in &self.profile.samples {
            if test(self.profile.stack(sample.stack)) {
                part = (part.0 + sample.weight, part.1 + sample.count);
            }
        }
        TimeShare { share: as_float(part.0) / self.total, samples: part.1 }
    }

    /// The time with any of these frames in its stack.
    pub fn under(&self, set: &FrameSet) -> TimeShare {
        if set.is_empty() { TimeShare { share: 0.0, samples: 0 } } else { self.part(|stack| set.any(stack)) }
    }

    /// The heaviest call paths to the outermost frame of a set.
    pub fn call_paths(&self, set: &FrameSet, most: usize) -> Vec<Evidence> {
        self.call_paths_where(set, |_| true, most)
    }

    /// The same, for stacks that satisfy a test.
    pub fn call_paths_where(&self, set: &FrameSet, test: impl Fn(&[FrameId]) -> bool, most: usize) -> Vec<Evidence> {
        self.grouped(most, |stack| {
            let at = set.first(stack).filter(|_| test(stack))?;
            let known = stack[..=at].iter().map(|&id| self.profile.frame(id)).filter(|frame| !is_unknown(frame));
            let mut names: Vec<String> = known.map(label).collect();
            names.drain(..names.len().saturating_sub(SHOWN_FRAMES));
            Some(names)
        })
    }

    /// The Lua lines that call the outermost frame of a set, heaviest first.
    pub fn lua_callers(&self, set: &FrameSet, most: usize) -> Vec<Evidence> {
        self.grouped(most, |stack| {
            let at = set.first(stack)?;
            let caller = stack[..at].iter().rev().map(|&id| self.profile.frame(id)).find(|frame| is_lua_code(frame))?;
            let mut names = vec![label(caller)];
            let found = self.profile.frame(stack[at]);
            names.extend((!is_unknown(found)).then(|| label(found)));
            Some(names)
        })
    }

    /// The Lua lines that call a set, or the call paths to it if no Lua frame was read.
    pub fn callers(&self, set: &FrameSet, most: usize) -> Vec<Evidence> {
        let lua = self.lua_callers(set, most);
        if lua.is_empty() { self.call_paths(set, most) } else { lua }
    }

    fn grouped(&self, most: usize, key: impl Fn(&[FrameId]) -> Option<Vec<String>>) -> Vec<Evidence> {
        let mut groups: HashMap<Vec<String>, u64> = HashMap::new();
        for sample in &self.profile.samples {
            if let Some(key) = key(self.profile.stack(sample.stack)) {
                *groups.entry(key).or_default() += sample.weight;
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        groups.truncate(most);
        let stack = |(frames, weight)| Evidence::Stack { share: as_float(weight) / self.total, frames };
        groups.into_iter().map(stack).collect()
    }
}

/// Whether a name, without suffixes of tools, is one of these.
pub(crate) fn is_named(name: &str, patterns: &[&str]) -> bool {
    let name = bare(name);
    debug_assert!(patterns.iter().all(|pattern| !pattern.trim_matches('*').contains('*')), "{patterns:?}");
    patterns.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == *pattern,
    })
}

/// A name without the suffixes of tools, linkers and compilers.
pub(crate) fn bare(name: &str) -> &str {
    let name = ["_[k]", "_[j]", "_[i]"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.split("@").next().unwrap_or(name);
    let name = name.split_once("+0x").map_or(name, |(name, _)| name);
    [".constprop.", ".isra.", ".part.", ".cold", ".llvm."]
        .iter()
        .fold(name, |name, end| name.split_once(end).map_or(name, |(name, _)| name))
}

/// Whether a frame stands for code without a symbol in a binary: `[libssl.so.3]`.
fn marks(name: &str, part: &str) -> bool {
    name.starts_with('[') && name.contains(part)
}

/// Whether only the location of a frame is known: `[nginx]`, `nginx+0x3a0f0`, `0x7f0012345678`.
fn is_unknown(frame: &Frame) -> bool {
    let name = frame.name.as_str();
    let in_module = name.split_once("+0x").is_some_and(|(head, _)| frame.module.ends_with(head));
    frame.origin == Origin::Marker || name.is_empty() || name.starts_with('[') || name.starts_with("0x") || in_module
}

/// Whether a frame belongs to Lua: code, trace or builtin.
fn is_lua(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Lua | Origin::LuaTrace | Origin::LuaBuiltin)
}

/// Whether it is user code that can be changed: folded profiles of other tools have only the name.
fn is_lua_code(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Lua | Origin::LuaTrace) || frame.name.contains(".lua:")
}

/// The display form of a frame: a Lua function with its file and current line.
fn label(frame: &Frame) -> String {
    if !is_lua_code(frame) {
        return bare(&frame.name).to_owned();
    }
    let label = weir_profile::label::label(frame);
    // The sampler stores the file beside the function, other tools within its name.
    let file = weir_profile::label::file_name(if frame.file.is_empty() { &frame.module } else { &frame.file });
    if frame.origin == Origin::LuaTrace || file.is_empty() || label.contains(file) {
        label
    } else {
        format!("{file}:{label}")
    }
}

#[allow(clippy::cast_precision_loss, reason = "below 2^52 nanoseconds: 52 days of one CPU")]
fn as_float(weight: u64) -> f64 {
    weight as f64
}
