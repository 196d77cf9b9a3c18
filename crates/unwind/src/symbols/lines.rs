//! Inlined functions and source lines, where a binary or its debug file has DWARF.
//!
//! `blazesym` reads it, by the file that is held open: the process may end and its files be
//! replaced before the last sample is named. It is asked for nothing else, since it keeps tables of
//! its own for every file that it has seen.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolizer};

use crate::module::Module;
use crate::symbols::sound::lines_are_sound;

/// Largest `.debug_info` that is read, in bytes; of larger ones only names are shown.
const MAX_DEBUG_INFO: usize = 512 << 20;

/// A function at an address, and where in its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Not demangled.
    pub name: String,
    pub file: String,
    pub line: u32,
}

/// All functions at one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Innermost first.
    pub inlined: Vec<Place>,
    pub host: Place,
}

/// Reads DWARF.
#[derive(Debug)]
pub(crate) struct Lines {
    symbolizer: Symbolizer,
    /// By module, whether its lines are sound. Held, since their files are asked for by number, which
    /// must not be another's one day.
    held: HashMap<u32, (Arc<Module>, bool)>,
}

impl Default for Lines {
    fn default() -> Self {
        let symbolizer = Symbolizer::builder()
            .enable_auto_reload(false)
            .enable_code_info(true)
            .enable_inlined_fns(true)
            .enable_demangling(false)
            .set_debug_dirs(Some([] as [&str; 0]))
            .build();
        Self { symbolizer, held: HashMap::new() }
    }
}

impl Lines {
    /// What DWARF says of an address; `None` if there is none or it says nothing.
    pub fn at(&mut self, module: &Arc<Module>, address: u64) -> Option<Places> {
        let with_lines = module.debug_file().unwrap_or(module);
        let file = with_lines.file()?;
        if with_lines.layout().place(".debug_info")?.length > MAX_DEBUG_INFO {
            return None;
        }
        let hold = || (Arc::clone(module), lines_are_sound(with_lines));
        if !self.held.entry(module.id()).or_insert_with(hold).1 {
            return None;
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let found = self.symbolizer.symbolize_single(&Source::Elf(Elf::new(path)), Input::VirtOffset(address)).ok()?;
        let symbol = found.into_sym()?;
        let host_code = symbol.code_info.as_deref();
        let inlined = symbol.inlined.iter().rev();
        Some(Places {
            inlined: inlined.map(|inlined| place(&inlined.name, inlined.code_info.as_ref())).collect(),
            host: place(&symbol.name, host_code),
        })
    }
}

fn place(name: &str, code: Option<&CodeInfo<'_>>) -> Place {
    let Some(code) = code else { return Place { name: name.to_owned(), ..Place::default() } };
    let file = code.to_path().to_string_lossy().into_owned();
    Place { name: name.to_owned(), file, line: code.line.unwrap_or(0) }
}
