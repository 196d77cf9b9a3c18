//! Inlined functions and source lines, if a binary or its debug file has DWARF.
//!
//! `blazesym` reads it, through the file that is kept open: the process may end and its files be
//! replaced before the last sample is named. It is used for nothing else, because it keeps its own
//! tables for every file that it has read.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolizer};

use crate::module::Module;
use crate::symbols::sound::lines_are_sound;

/// Maximum size of `.debug_info`, in bytes; for larger ones only names are shown.
const MAX_DEBUG_INFO: usize = 512 << 20;

/// A function at an address, with its source position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceFunction {
    /// Not demangled.
    pub name: String,
    pub file: String,
    pub line: u32,
}

/// All functions at one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceFunctions {
    /// Innermost first.
    pub inlined: Vec<SourceFunction>,
    pub host: SourceFunction,
}

/// Reads DWARF line information.
#[derive(Debug)]
pub(crate) struct LineReader {
    symbolizer: Symbolizer,
    /// Modules with a flag whether their line tables are valid. Modules are kept alive, because
    /// their files are addressed by number, which must not be reused.
    held: HashMap<u32, (Arc<Module>, bool)>,
}

impl Default for LineReader {
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

impl LineReader {
    /// The functions at an address according to DWARF; `None` if there is no information.
    pub fn at(&mut self, module: &Arc<Module>, address: u64) -> Option<SourceFunctions> {
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
        Some(SourceFunctions {
            inlined: inlined.map(|inlined| place(&inlined.name, inlined.code_info.as_ref())).collect(),
            host: place(&symbol.name, host_code),
        })
    }
}

fn place(name: &str, code: Option<&CodeInfo<'_>>) -> SourceFunction {
    let Some(code) = code else { return SourceFunction { name: name.to_owned(), ..SourceFunction::default() } };
    let file = code.to_path().to_string_lossy().into_owned();
    SourceFunction { name: name.to_owned(), file, line: code.line.unwrap_or(0) }
}
