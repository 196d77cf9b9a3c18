//! From addresses to names.
//!
//! A function's name is that of a symbol that covers the address, otherwise the start of its entry
//! in the unwind table (`nginx+0x2a340`: one function, one name), otherwise the binary's.

mod debug_file;
mod demangle;
mod kernel;
mod lines;
mod mini;
mod sound;
pub(crate) mod table;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use weir_profile::{Frame, Origin};

use crate::module::Module;
use crate::process::Process;

pub(crate) use debug_file::find as find_debug_file;

/// Maximum number of addresses with cached names.
const MAX_NAMES: usize = 131_072;

/// The names for one address.
#[derive(Clone, Debug)]
struct ResolvedNames {
    frames: Box<[Frame]>,
    by_symbol: bool,
}

/// Names of code, cached for all processes.
#[derive(Debug, Default)]
pub struct Symbols {
    names: HashMap<(u32, u64), ResolvedNames, RandomState>,
    lines: lines::LineReader,
    kernel: kernel::KernelSymbols,
    /// Additional names that a module's file lacks, by module; sorted by address.
    added: HashMap<u32, Vec<(Range<u64>, &'static str)>, RandomState>,
}

impl Symbols {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the functions at an address of a process ([`crate::NativeFrame::lookup`]): innermost first, inlined ones
    /// before their host. At least one is added; `[unknown]` if nothing is known. Returns whether a symbol names it.
    pub fn resolve(&mut self, process: &Process, lookup: u64, out: &mut Vec<Frame>) -> bool {
        let Some((mapping, loaded)) = process.code(lookup) else {
            out.push(Frame::named("[unknown]", Origin::Marker));
            return false;
        };
        let Some(loaded) = loaded else {
            out.push(Frame { module: mapping.path.clone(), ..Frame::named("[unknown]", Origin::Marker) });
            return false;
        };
        self.resolve_in(&loaded.module, loaded.to_file(lookup), out)
    }

    /// As [`Symbols::resolve`], for a binary and an address as in the file.
    pub fn resolve_in(&mut self, module: &Arc<Module>, address: u64, out: &mut Vec<Frame>) -> bool {
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
        }
        let lines = &mut self.lines;
        let key = (module.id(), address);
        let added = self.added.get(&module.id()).and_then(|names| name_at(names, address));
        let named = self.names.entry(key).or_insert_with(|| named(module, address, lines, added));
        out.extend_from_slice(&named.frames);
        named.by_symbol
    }

    /// Adds names of functions without symbols, by their addresses in the module's file, such as those found by
    /// disassembling a stripped library. Symbols of the file take precedence.
    pub fn add_names(&mut self, module: &Module, names: impl IntoIterator<Item = (Range<u64>, &'static str)>) {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|(range, _)| range.start);
        self.added.insert(module.id(), names);
        self.names.retain(|(id, _), _| *id != module.id());
    }

    /// The kernel's function at an address.
    pub fn kernel(&mut self, address: u64) -> Frame {
        self.kernel.resolve(address)
    }

    /// Remarks on the names, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        self.kernel.remark().into_iter().collect()
    }
}

fn named(
    module: &Arc<Module>,
    address: u64,
    lines: &mut lines::LineReader,
    added: Option<&'static str>,
) -> ResolvedNames {
    let frame = |name: String, origin: Origin, file: String, line: u32| Frame {
        name,
        origin,
        module: module.path().to_owned(),
        build_id: module.build_id(),
        file,
        line,
    };
    let places = lines.at(module, address).unwrap_or_default();
    let mut frames: Vec<Frame> = Vec::new();
    for place in places.inlined {
        frames.push(frame(demangle::demangled(&place.name), Origin::Inlined, place.file, place.line));
    }
    let host = places.host;
    let symbol = module.symbol_at(address).map(|(name, _)| name);
    let symbol = symbol.or(Some(host.name.as_str()).filter(|name| !name.is_empty())).or(added);
    let by_symbol = symbol.is_some();
    let name = symbol.map_or_else(|| without_symbol(module, address), demangle::demangled);
    frames.push(frame(name, Origin::Native, host.file, host.line));
    ResolvedNames { frames: frames.into(), by_symbol }
}

fn name_at(names: &[(Range<u64>, &'static str)], address: u64) -> Option<&'static str> {
    let behind = names.partition_point(|(range, _)| range.start <= address);
    let (range, name) = names.get(behind.checked_sub(1)?)?;
    range.contains(&address).then_some(*name)
}

fn without_symbol(module: &Module, address: u64) -> String {
    let name = module.name();
    match (module.section_at(address), module.frame_range(address)) {
        (Some((section, _)), _) if section.starts_with(".plt") => format!("{name}@plt"),
        (_, Some(range)) => format!("{name}+{:#x}", range.start),
        _ => format!("[{name}]"),
    }
}

#[cfg(test)]
mod tests;
