//! Names of built-in functions: `string.gsub`, `ngx.req.get_headers`.
//!
//! Fast functions have numbers that differ between builds; C functions have addresses, often without symbols. Lua
//! code reaches both through tables that contain the names, so the globals of the running VM are walked once.

use std::collections::{HashMap, HashSet};

use weir_unwind::Memory;

use crate::object::{self, FUNCTION, Fields, STRING, TABLE};

/// Maximum nesting of tables: `ngx.req.get_headers` has two.
const MAX_DEPTH: usize = 3;
/// Maximum number of tables.
const MAX_TABLES: usize = 256;
/// Maximum number of fields of one table.
const MAX_NODES: u32 = 4096;
/// Maximum number of names.
const MAX_NAMES: usize = 8192;

const NODES: u64 = 40;
const NODE_MASK: u64 = 52;
const NODE_SIZE: usize = 24;
const FUNCTION_BYTES: usize = 48;
/// Functions that return fast functions.
const MAKERS: [&str; 3] = ["coroutine.wrap", "ipairs", "string.gmatch"];
/// Names through which everything is reachable a second time, under a longer name.
const SKIPPED: [&str; 2] = ["_G", "package"];

/// Names of functions, by number or address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    /// Fast functions by `ffid`.
    fast: HashMap<u32, String>,
    /// C functions by their entry.
    entries: HashMap<u64, String>,
    /// Library functions that are written in Lua, by prototype's bytecode.
    codes: HashMap<u64, String>,
}

impl Library {
    /// Walks the globals, starting at their table.
    pub fn read(memory: Memory, globals: u64) -> Self {
        let mut library = Self::default();
        let mut seen = HashSet::from([globals]);
        let mut tables = vec![(globals, String::new(), 0)];
        while let Some((table, prefix, depth)) = tables.pop() {
            for (name, value) in fields(memory, table) {
                if SKIPPED.contains(&name.as_str()) {
                    continue;
                }
                if let Some(function) = object::of_value(value, FUNCTION) {
                    library.add(memory, function, format!("{prefix}{name}"));
                } else if let Some(inner) = object::of_value(value, TABLE)
                    && depth < MAX_DEPTH
                    && seen.len() < MAX_TABLES
                    && seen.insert(inner)
                {
                    tables.push((inner, format!("{prefix}{name}."), depth + 1));
                }
            }
        }
        library
    }

    /// Adds the names of another virtual machine's globals.
    pub fn merge(&mut self, other: Self) {
        self.fast.extend(other.fast);
        self.entries.extend(other.entries);
        self.codes.extend(other.codes);
    }

    /// The name of a function that is not written in Lua.
    pub fn name(&self, ffid: u32, entry: u64) -> Option<&str> {
        let name = if ffid > 1 {
            // Functions returned by `coroutine.wrap` and iterators are in no table; their number
            // precedes their maker's.
            let made_by = || self.fast.get(&(ffid + 1)).filter(|name| MAKERS.contains(&name.as_str()));
            self.fast.get(&ffid).or_else(made_by)
        } else {
            self.entries.get(&entry)
        };
        name.map(String::as_str)
    }

    /// The name of a library function that is written in Lua.
    pub fn lua_function(&self, code: u64) -> Option<&str> {
        self.codes.get(&code).map(String::as_str)
    }

    fn add(&mut self, memory: Memory, function: u64, name: String) {
        let Some(bytes) = object::read(memory, function, FUNCTION_BYTES) else { return };
        if bytes.u8(9) != Some(FUNCTION) || self.fast.len() + self.entries.len() + self.codes.len() >= MAX_NAMES {
            return;
        }
        let word = |at| bytes.u64(at).expect("the bytes are long enough");
        match bytes[10] {
            0 => self.codes.entry(word(32)).or_insert(name),
            1 => self.entries.entry(word(40)).or_insert(name),
            ffid => self.fast.entry(u32::from(ffid)).or_insert(name),
        };
    }
}

/// Fields of a table with string keys.
fn fields(memory: Memory, table: u64) -> Vec<(String, u64)> {
    if !object::is(memory, table, TABLE) {
        return Vec::new();
    }
    let (Ok(nodes), Ok(mask)) = (memory.u64(table + NODES), memory.u32(table + NODE_MASK)) else { return Vec::new() };
    if mask >= MAX_NODES {
        return Vec::new();
    }
    let Some(bytes) = object::read(memory, nodes, (mask as usize + 1) * NODE_SIZE) else { return Vec::new() };
    let mut fields: Vec<(String, u64)> = bytes
        .chunks_exact(NODE_SIZE)
        .filter_map(|node| {
            let key = object::of_value(node.u64(8)?, STRING)?;
            Some((object::string(memory, key)?, node.u64(0)?))
        })
        .collect();
    fields.sort();
    fields
}
