//! Names of LuaJIT's internal functions in stripped libraries, such as those of distributions.
//!
//! Only the API (`lua_*`) is exported, but it calls the functions that matter in a profile: `lua_pushlstring` makes a
//! string with `lj_str_new` and may call `lj_gc_step`, `lua_createtable` shares only the latter with it. A function
//! is therefore identified by which exported functions call it, and which do not. Lists of addresses or code hashes
//! for each build would be exact but never complete. A name with two candidates, or none, is not used: no name is
//! better than a wrong one.
//!
//! Stacks only need the entry points (`lj_gc_step`, not all of the collector): their callees are below them.

use std::collections::{BTreeSet, HashMap};

use weir_unwind::Module;

use crate::entry;

/// Maximum length of a function, in bytes; the API's are shorter than 2 KiB, `gc_onestep` is the longest.
const MAX_FUNCTION: u64 = 16 << 10;

/// A function without a symbol in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalName {
    /// First address, as in the file (see [`Module`]).
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Its name in LuaJIT's sources.
    pub name: &'static str,
}

/// The callers that identify a function.
struct CallerPattern {
    name: &'static str,
    /// All of these functions call it.
    by: &'static [&'static str],
    /// None of these functions calls it.
    not_by: &'static [&'static str],
}

/// In an order in which each row needs only exported functions and rows above.
const CALLER_PATTERNS: &[CallerPattern] = &[
    CallerPattern {
        name: "lj_str_new",
        by: &["lua_pushlstring", "lua_pushstring", "lua_getfield", "lua_setfield"],
        not_by: &["lua_createtable"],
    },
    CallerPattern {
        name: "lj_gc_step",
        by: &["lua_pushlstring", "lua_pushstring", "lua_createtable", "lua_newuserdata", "lua_gc"],
        not_by: &["lua_getfield"],
    },
    CallerPattern { name: "lj_gc_fullgc", by: &["lua_gc"], not_by: &["lua_createtable"] },
    CallerPattern { name: "gc_onestep", by: &["lj_gc_step", "lj_gc_fullgc"], not_by: &["lua_gc"] },
    CallerPattern { name: "lj_tab_new_ah", by: &["lua_createtable"], not_by: &["lua_pushlstring"] },
    CallerPattern { name: "lj_tab_new", by: &["lj_tab_new_ah"], not_by: &[] },
    CallerPattern { name: "lj_tab_get", by: &["lua_rawget"], not_by: &["lua_rawset"] },
    CallerPattern { name: "lj_tab_set", by: &["lua_rawset"], not_by: &["lua_rawget"] },
    CallerPattern { name: "lj_tab_setinth", by: &["lua_rawseti"], not_by: &["lua_rawset"] },
    CallerPattern { name: "lj_tab_newkey", by: &["lj_tab_set", "lj_tab_setinth"], not_by: &["lua_rawset"] },
    CallerPattern {
        name: "lj_meta_tget",
        by: &["lua_gettable", "lua_getfield"],
        not_by: &["lua_settable", "lua_pushlstring", "lua_rawget"],
    },
    CallerPattern {
        name: "lj_meta_tset",
        by: &["lua_settable", "lua_setfield"],
        not_by: &["lua_gettable", "lua_getfield"],
    },
];

/// Names of internal functions, by address. Empty if the library has symbols, or is not LuaJIT.
#[must_use]
pub fn internal_names(module: &Module) -> Vec<InternalName> {
    if module.symbol("lj_str_new").is_some() {
        return Vec::new();
    }
    let mut calls = CallGraph { module, known: HashMap::new(), read: HashMap::new() };
    for pattern in CALLER_PATTERNS {
        if let Some(address) = calls.identify(pattern) {
            calls.known.insert(pattern.name, address);
        }
    }
    calls.identify_resize();
    let range = |(&name, &start): (&&'static str, &u64)| {
        Some(InternalName { start, end: module.frame_range(start)?.end, name })
    };
    let mut names: Vec<InternalName> = calls.known.iter().filter_map(range).collect();
    names.sort_by_key(|name| name.start);
    names
}

struct CallGraph<'m> {
    module: &'m Module,
    known: HashMap<&'static str, u64>,
    /// The callees of each function, in the order of its code.
    read: HashMap<u64, Vec<u64>>,
}

impl CallGraph<'_> {
    /// The function that all of `by` and none of `not_by` call; `None` unless there is exactly one.
    fn identify(&mut self, pattern: &CallerPattern) -> Option<u64> {
        let (first, others) = pattern.by.split_first()?;
        let mut candidates: BTreeSet<u64> = self.called_by(first)?.into_iter().collect();
        for caller in others {
            let called = self.called_by(caller)?;
            candidates.retain(|address| called.contains(address));
        }
        for caller in pattern.not_by {
            let called = self.called_by(caller)?;
            candidates.retain(|address| !called.contains(address));
        }
        candidates.retain(|address| !self.known.values().any(|known| known == address));
        let mut left = candidates.into_iter();
        left.next().filter(|_| left.next().is_none())
    }

    /// `lj_tab_newkey` makes room and then sets the key again: its callee right before `lj_tab_set`
    /// is `rehashtab`, or, if that was inlined, `lj_tab_resize` itself, which is recognised because
    /// it moves all keys with `lj_tab_set` and `lj_tab_setinth`.
    fn identify_resize(&mut self) -> Option<()> {
        let (newkey, set, set_integer) =
            (*self.known.get("lj_tab_newkey")?, *self.known.get("lj_tab_set")?, *self.known.get("lj_tab_setinth")?);
        let called = self.calls_of(newkey);
        let at = called.iter().position(|&address| address == set)?;
        let before = *called[..at].last()?;
        let moves = |calls: &[u64]| calls.contains(&set) && calls.contains(&set_integer);
        if moves(&self.calls_of(before)) {
            self.known.insert("lj_tab_resize", before);
            return Some(());
        }
        let resize = self.calls_of(before).into_iter().find(|&address| moves(&self.calls_of(address)))?;
        self.known.insert("rehashtab", before);
        self.known.insert("lj_tab_resize", resize);
        Some(())
    }

    /// The callees of an exported or already identified function.
    fn called_by(&mut self, name: &str) -> Option<Vec<u64>> {
        let address = self.known.get(name).copied().or_else(|| self.module.symbol(name))?;
        Some(self.calls_of(address))
    }

    /// Starts of unnamed functions that the function at an address calls or jumps to.
    fn calls_of(&mut self, address: u64) -> Vec<u64> {
        if let Some(known) = self.read.get(&address) {
            return known.clone();
        }
        let called = self.read_calls(address).unwrap_or_default();
        self.read.insert(address, called.clone());
        called
    }

    fn read_calls(&self, address: u64) -> Option<Vec<u64>> {
        let range = self.module.frame_range(address).filter(|range| range.start == address)?;
        let length = range.end.checked_sub(range.start).filter(|&length| length <= MAX_FUNCTION)?;
        let code = self.module.bytes_at(address)?.get(..usize::try_from(length).ok()?)?;
        let outside = |target: &u64| !(range.start..range.end).contains(target);
        Some(
            entry::targets(code, address)
                .into_iter()
                .filter(outside)
                .filter(|&target| self.is_internal(target))
                .collect(),
        )
    }

    /// Whether a function begins at the address that has no symbol and is not a linker stub.
    fn is_internal(&self, address: u64) -> bool {
        let begins = self.module.frame_range(address).is_some_and(|range| range.start == address);
        let in_text = self.module.section_at(address).is_some_and(|(name, _)| name == ".text");
        begins && in_text && self.module.symbol_at(address).is_none_or(|(_, start)| start != address)
    }
}

#[cfg(test)]
mod tests;
