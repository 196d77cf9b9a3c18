//! Names of LuaJIT's internal functions in libraries that are stripped of them, as those of
//! distributions are.
//!
//! Only the API (`lua_*`) is exported, but it is made of calls of the functions that a profile is
//! about: `lua_pushlstring` makes a string by `lj_str_new` and may call `lj_gc_step`, `lua_createtable`
//! shares only the latter with it. So a function is told by which exported functions call it, and
//! which do not. Lists of addresses or hashes of code for each build would be exact and never
//! complete. A name that has two candidates, or none, is not given: a profile without a name is better
//! than one with a wrong one.
//!
//! Whoever draws stacks needs the entries only (`lj_gc_step`, not all of the collector): what they
//! call stands below them.

use std::collections::{BTreeSet, HashMap};

use weir_unwind::Module;

use crate::entry;

/// Longest function that is read, in bytes; the API's are shorter than 2 KiB, `gc_onestep` is the longest here.
const MAX_FUNCTION: u64 = 16 << 10;

/// A function that the file has no symbol for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalName {
    /// First address, in the file's terms (see [`Module`]).
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Its name in LuaJIT's sources.
    pub name: &'static str,
}

/// How a function is told from the others.
struct Told {
    name: &'static str,
    /// All of these call it.
    by: &'static [&'static str],
    /// None of these does.
    not_by: &'static [&'static str],
}

/// In an order in which each row needs only exported functions and rows above.
const TOLD: &[Told] = &[
    Told {
        name: "lj_str_new",
        by: &["lua_pushlstring", "lua_pushstring", "lua_getfield", "lua_setfield"],
        not_by: &["lua_createtable"],
    },
    Told {
        name: "lj_gc_step",
        by: &["lua_pushlstring", "lua_pushstring", "lua_createtable", "lua_newuserdata", "lua_gc"],
        not_by: &["lua_getfield"],
    },
    Told { name: "lj_gc_fullgc", by: &["lua_gc"], not_by: &["lua_createtable"] },
    Told { name: "gc_onestep", by: &["lj_gc_step", "lj_gc_fullgc"], not_by: &["lua_gc"] },
    Told { name: "lj_tab_new_ah", by: &["lua_createtable"], not_by: &["lua_pushlstring"] },
    Told { name: "lj_tab_new", by: &["lj_tab_new_ah"], not_by: &[] },
    Told { name: "lj_tab_get", by: &["lua_rawget"], not_by: &["lua_rawset"] },
    Told { name: "lj_tab_set", by: &["lua_rawset"], not_by: &["lua_rawget"] },
    Told { name: "lj_tab_setinth", by: &["lua_rawseti"], not_by: &["lua_rawset"] },
    Told { name: "lj_tab_newkey", by: &["lj_tab_set", "lj_tab_setinth"], not_by: &["lua_rawset"] },
    Told {
        name: "lj_meta_tget",
        by: &["lua_gettable", "lua_getfield"],
        not_by: &["lua_settable", "lua_pushlstring", "lua_rawget"],
    },
    Told { name: "lj_meta_tset", by: &["lua_settable", "lua_setfield"], not_by: &["lua_gettable", "lua_getfield"] },
];

/// Names of internal functions, by address. Empty if the library has symbols, or is no LuaJIT.
#[must_use]
pub fn internal_names(module: &Module) -> Vec<InternalName> {
    if module.symbol("lj_str_new").is_some() {
        return Vec::new();
    }
    let mut calls = Calls { module, known: HashMap::new(), read: HashMap::new() };
    for told in TOLD {
        if let Some(address) = calls.tell(told) {
            calls.known.insert(told.name, address);
        }
    }
    calls.tell_resize();
    let range = |(&name, &start): (&&'static str, &u64)| {
        Some(InternalName { start, end: module.frame_range(start)?.end, name })
    };
    let mut names: Vec<InternalName> = calls.known.iter().filter_map(range).collect();
    names.sort_by_key(|name| name.start);
    names
}

struct Calls<'m> {
    module: &'m Module,
    known: HashMap<&'static str, u64>,
    /// What each function calls, in the order of its code.
    read: HashMap<u64, Vec<u64>>,
}

impl Calls<'_> {
    /// The one function that all of `by` call and none of `not_by`; `None` unless there is exactly one.
    fn tell(&mut self, told: &Told) -> Option<u64> {
        let (first, others) = told.by.split_first()?;
        let mut candidates: BTreeSet<u64> = self.called_by(first)?.into_iter().collect();
        for caller in others {
            let called = self.called_by(caller)?;
            candidates.retain(|address| called.contains(address));
        }
        for caller in told.not_by {
            let called = self.called_by(caller)?;
            candidates.retain(|address| !called.contains(address));
        }
        candidates.retain(|address| !self.known.values().any(|known| known == address));
        let mut left = candidates.into_iter();
        left.next().filter(|_| left.next().is_none())
    }

    /// `lj_tab_newkey` makes room and then sets again: what it calls right before `lj_tab_set` is
    /// `rehashtab`, or, where that was put into it, `lj_tab_resize` itself, which is told by moving
    /// all keys over with `lj_tab_set` and `lj_tab_setinth`.
    fn tell_resize(&mut self) -> Option<()> {
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

    /// What an exported or an already known function calls.
    fn called_by(&mut self, name: &str) -> Option<Vec<u64>> {
        let address = self.known.get(name).copied().or_else(|| self.module.symbol(name))?;
        Some(self.calls_of(address))
    }

    /// Beginnings of functions without a name that the function at an address calls or jumps to.
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

    /// Whether a function begins there that has no symbol and is no stub of the linker.
    fn is_internal(&self, address: u64) -> bool {
        let begins = self.module.frame_range(address).is_some_and(|range| range.start == address);
        let in_text = self.module.section_at(address).is_some_and(|(name, _)| name == ".text");
        begins && in_text && self.module.symbol_at(address).is_none_or(|(_, start)| start != address)
    }
}

#[cfg(test)]
mod tests;
