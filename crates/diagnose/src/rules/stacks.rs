//! Questions that rules ask a profile: which part of the time has such a frame in its stack, where does
//! it come from, which Lua line is to blame.
//!
//! A question about names is answered once for each frame (a profile has thousands) and then looked up
//! for each stack (tens of thousands), so that forty rules over a long profile are a matter of
//! milliseconds. Names are compared without what tools append: `_[k]`, `.constprop.0`, `@plt`.

use std::collections::HashMap;

use weir_profile::{Frame, FrameId, Origin, Profile};

use crate::finding::Evidence;

/// Frames shown of one stack.
const SHOWN_FRAMES: usize = 4;

/// A profile with samples, ready to be asked.
pub(crate) struct Stacks<'a> {
    profile: &'a Profile,
    total: f64,
}

/// A set of frames of one profile.
pub(crate) struct Set(Vec<bool>);

impl Set {
    pub fn has(&self, frame: FrameId) -> bool {
        self.0[frame.0 as usize]
    }

    /// Whether a stack has one of them.
    pub fn any(&self, stack: &[FrameId]) -> bool {
        stack.iter().any(|&frame| self.has(frame))
    }

    /// The outermost of them.
    pub fn first(&self, stack: &[FrameId]) -> Option<usize> {
        stack.iter().position(|&frame| self.has(frame))
    }

    /// Whether the innermost frame is one of them.
    pub fn leaf(&self, stack: &[FrameId]) -> bool {
        stack.last().is_some_and(|&frame| self.has(frame))
    }

    fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}

/// Time with something in common.
pub(crate) struct Part {
    /// Its share of the whole, 0 to 1.
    pub share: f64,
    /// Its samples.
    pub samples: u64,
}

impl Part {
    /// Whether it is at least `share` of the time and rests on at least `samples` samples: a share of
    /// three samples is chance.
    pub fn reaches(&self, share: f64, samples: u64) -> bool {
        self.share >= share && self.samples >= samples
    }
}

impl<'a> Stacks<'a> {
    /// `None`: there is no profile, or nothing was sampled.
    pub fn of(profile: Option<&'a Profile>) -> Option<Self> {
        let profile = profile?;
        let total = profile.total();
        (total > 0).then_some(Self { profile, total: as_float(total) })
    }

    /// Frames that pass a test.
    pub fn frames(&self, test: impl Fn(&Frame) -> bool) -> Set {
        Set(self.profile.frames.iter().map(test).collect())
    }

    /// Frames of machine code or of the kernel with one of these names; `*` stands for anything at either end.
    pub fn named(&self, patterns: &[&str]) -> Set {
        self.frames(|frame| !is_lua(frame) && is_named(&frame.name, patterns))
    }

    /// Frames of Lua functions and builtins with one of these names.
    pub fn lua_named(&self, patterns: &[&str]) -> Set {
        self.frames(|frame| is_named(&frame.name, patterns))
    }

    /// Frames of binaries whose path contains one of these, whether a symbol is known or not.
    pub fn in_module(&self, parts: &[&str]) -> Set {
        self.frames(|frame| parts.iter().any(|part| frame.module.contains(part) || marks(&frame.name, part)))
    }

    /// Frames of LuaJIT itself with one of these names. Some of its functions are called as others are elsewhere
    /// (`gc_*`, `asm_*`): those count in its own library, and where a profile knows no modules but has `lj_` in it.
    pub fn of_luajit(&self, patterns: &[&str]) -> Set {
        let own = |frame: &Frame| bare(&frame.name).starts_with("lj_");
        let has_luajit = self.profile.frames.iter().any(own);
        self.frames(|frame| {
            let elsewhere = !frame.module.is_empty() || frame.origin == Origin::Kernel || !has_luajit;
            is_named(&frame.name, patterns) && (own(frame) || frame.module.contains("luajit") || !elsewhere)
        })
    }

    /// The time whose stacks pass a test.
    pub fn part(&self, test: impl Fn(&[FrameId]) -> bool) -> Part {
        let mut part = (0_u64, 0);
        for sample in &self.profile.samples {
            if test(self.profile.stack(sample.stack)) {
                part = (part.0 + sample.weight, part.1 + sample.count);
            }
        }
        Part { share: as_float(part.0) / self.total, samples: part.1 }
    }

    /// The time with any of these frames in its stack.
    pub fn under(&self, set: &Set) -> Part {
        if set.is_empty() { Part { share: 0.0, samples: 0 } } else { self.part(|stack| set.any(stack)) }
    }

    /// The heaviest ways that lead to the outermost frame of a set, and no further.
    pub fn ways(&self, set: &Set, most: usize) -> Vec<Evidence> {
        self.ways_where(set, |_| true, most)
    }

    /// The same, of stacks that pass a test.
    pub fn ways_where(&self, set: &Set, test: impl Fn(&[FrameId]) -> bool, most: usize) -> Vec<Evidence> {
        self.grouped(most, |stack| {
            let at = set.first(stack).filter(|_| test(stack))?;
            let known = stack[..=at].iter().map(|&id| self.profile.frame(id)).filter(|frame| !is_unknown(frame));
            let mut names: Vec<String> = known.map(label).collect();
            names.drain(..names.len().saturating_sub(SHOWN_FRAMES));
            Some(names)
        })
    }

    /// The Lua lines from which the outermost frame of a set is called, heaviest first.
    pub fn lua_callers(&self, set: &Set, most: usize) -> Vec<Evidence> {
        self.grouped(most, |stack| {
            let at = set.first(stack)?;
            let caller = stack[..at].iter().rev().map(|&id| self.profile.frame(id)).find(|frame| is_lua_code(frame))?;
            let mut names = vec![label(caller)];
            let found = self.profile.frame(stack[at]);
            names.extend((!is_unknown(found)).then(|| label(found)));
            Some(names)
        })
    }

    /// The Lua lines from which a set is called, or the ways to it where no Lua frame was read.
    pub fn callers(&self, set: &Set, most: usize) -> Vec<Evidence> {
        let lua = self.lua_callers(set, most);
        if lua.is_empty() { self.ways(set, most) } else { lua }
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

/// Whether a name, without what tools append to it, is one of these.
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

/// A name without what tools, linkers and compilers append.
pub(crate) fn bare(name: &str) -> &str {
    let name = ["_[k]", "_[j]", "_[i]"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.split("@").next().unwrap_or(name);
    let name = name.split_once("+0x").map_or(name, |(name, _)| name);
    [".constprop.", ".isra.", ".part.", ".cold", ".llvm."]
        .iter()
        .fold(name, |name, end| name.split_once(end).map_or(name, |(name, _)| name))
}

/// Whether a frame stands for code of a binary that has no symbol for it: `[libssl.so.3]`.
fn marks(name: &str, part: &str) -> bool {
    name.starts_with('[') && name.contains(part)
}

/// Whether nothing is known of a frame but where it is: `[nginx]`, `nginx+0x3a0f0`, `0x7f0012345678`.
fn is_unknown(frame: &Frame) -> bool {
    let name = frame.name.as_str();
    let in_module = name.split_once("+0x").is_some_and(|(head, _)| frame.module.ends_with(head));
    frame.origin == Origin::Marker || name.is_empty() || name.starts_with('[') || name.starts_with("0x") || in_module
}

/// Whether a frame is of Lua: code, trace or builtin.
fn is_lua(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Lua | Origin::LuaTrace | Origin::LuaBuiltin)
}

/// Whether it is one that somebody has written and can change: folded profiles of others only have the name.
fn is_lua_code(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Lua | Origin::LuaTrace) || frame.name.contains(".lua:")
}

/// A frame as people read it: a Lua function with its file and the line that it is at.
fn label(frame: &Frame) -> String {
    if !is_lua_code(frame) {
        return bare(&frame.name).to_owned();
    }
    let label = weir_profile::label::label(frame);
    // The sampler has the file beside the function, other tools within its name.
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
