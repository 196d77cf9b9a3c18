//! The symbols of one binary, by address and by name.
//!
//! This table is Weir's own and not `blazesym`'s: a stripped program's names come from up to four tables (`.symtab`,
//! `.dynsym`, those of a debug file and of `.gnu_debugdata`) that must be combined, and one order decides between
//! aliases. Each symbol takes 24 bytes; names stay in the mapped file.

use std::ops::Range;

use object::LittleEndian;
use object::elf::{self, FileHeader64, Sym64};
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::module::Module;
use crate::symbols::mini;

/// Maximum number of symbols of one table; later ones are ignored.
const MAX_SYMBOLS: usize = 4 << 20;
/// Number of symbols examined below an address for one whose size covers it.
const MAX_LOOK_BACK: usize = 64;

type Header = FileHeader64<LittleEndian>;

/// The file that contains a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameSource {
    Module,
    DebugFile,
    Mini,
}

#[derive(Clone, Copy, Debug)]
struct SymbolEntry {
    start: u64,
    size: u32,
    /// Offset and length of its name in the file.
    name: u32,
    length: u16,
    origin: NameSource,
    /// Among symbols at one address, the highest rank wins.
    rank: u8,
}

/// The symbols of one binary.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    /// Functions, by address.
    code: Vec<SymbolEntry>,
    /// Variables, by address.
    data: Vec<SymbolEntry>,
    /// The file in `.gnu_debugdata`; empty if there is none.
    mini: Vec<u8>,
}

impl SymbolTable {
    /// Reads the tables of a module and of its debug files.
    pub fn of(module: &Module) -> Self {
        let mut table = Self { mini: mini::unpacked(module).unwrap_or_default(), ..Self::default() };
        table.add(module.data(), NameSource::Module);
        if let Some(debug) = module.debug_file() {
            table.add(debug.data(), NameSource::DebugFile);
        }
        let mini = std::mem::take(&mut table.mini);
        table.add(&mini, NameSource::Mini);
        table.mini = mini;
        for entries in [&mut table.code, &mut table.data] {
            entries.sort_by_key(|entry| (entry.start, entry.rank));
            entries.shrink_to_fit();
        }
        table
    }

    /// The range of a symbol.
    pub fn by_name(&self, module: &Module, name: &str) -> Option<Range<u64>> {
        let is_it =
            |entry: &&SymbolEntry| usize::from(entry.length) == name.len() && self.name(module, entry) == Some(name);
        let entry = self.code.iter().chain(&self.data).find(is_it)?;
        Some(entry.start..entry.start.saturating_add(u64::from(entry.size)))
    }

    /// The function that covers an address, and where it starts.
    pub fn by_address<'a>(&'a self, module: &'a Module, address: u64) -> Option<(&'a str, u64)> {
        let behind = self.code.partition_point(|entry| entry.start <= address);
        let below = || self.code[..behind].iter().rev().take(MAX_LOOK_BACK);
        let covering = below().find(|entry| address - entry.start < u64::from(entry.size));
        let entry = covering.or_else(|| below().next().filter(|entry| unsized_covers(module, entry, address)))?;
        Some((self.name(module, entry)?, entry.start))
    }

    fn name<'a>(&'a self, module: &'a Module, entry: &SymbolEntry) -> Option<&'a str> {
        let file = match entry.origin {
            NameSource::Module => module.data(),
            NameSource::DebugFile => module.debug_file()?.data(),
            NameSource::Mini => &self.mini,
        };
        let start = entry.name as usize;
        std::str::from_utf8(file.get(start..start + usize::from(entry.length))?).ok()
    }

    fn add(&mut self, file: &[u8], origin: NameSource) {
        let Ok(header) = Header::parse(file) else { return };
        let Ok(sections) = header.sections(LittleEndian, file) else { return };
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let Ok(symbols) = sections.symbols(LittleEndian, file, kind) else { continue };
            let Ok(strings) = sections.section(symbols.string_section()) else { continue };
            let Some((offset, length)) = strings.file_range(LittleEndian) else { continue };
            let Some(names) = file.get(offset as usize..).and_then(|rest| rest.get(..length as usize)) else {
                continue;
            };
            for symbol in symbols.iter().take(MAX_SYMBOLS) {
                let code = sections
                    .section(object::SectionIndex(usize::from(symbol.st_shndx(LittleEndian).0)))
                    .is_ok_and(|section| section.sh_flags(LittleEndian).0 & elf::SHF_EXECINSTR.0 != 0);
                self.add_symbol(symbol, code, names, offset, origin);
            }
        }
    }

    fn add_symbol(&mut self, symbol: &Sym64<LittleEndian>, code: bool, names: &[u8], offset: u64, origin: NameSource) {
        let kind = symbol.st_type();
        let function = matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC) || (kind == elf::STT_NOTYPE && code);
        if symbol.is_undefined(LittleEndian) || !(function || kind == elf::STT_OBJECT) {
            return;
        }
        let at = symbol.st_name(LittleEndian) as usize;
        let Some(name) = names.get(at..).and_then(|rest| rest.split(|&byte| byte == 0).next()) else { return };
        // `memcpy@@GLIBC_2.14` is memcpy.
        let name = name.split(|&byte| byte == b'@').next().unwrap_or(name);
        let (Ok(length), Ok(start)) = (u16::try_from(name.len()), u32::try_from(offset as usize + at)) else { return };
        if name.is_empty() || name[0] == b'.' || name[0] == b'$' {
            return;
        }
        let size = u32::try_from(symbol.st_size(LittleEndian)).unwrap_or(u32::MAX);
        let rank = rank(symbol, kind, name);
        let entry = SymbolEntry { start: symbol.st_value(LittleEndian), size, name: start, length, origin, rank };
        if function { self.code.push(entry) } else { self.data.push(entry) }
    }
}

/// Ranks several names for one address: typed before untyped, global before weak before local, and
/// public names before the implementation's.
fn rank(symbol: &Sym64<LittleEndian>, kind: elf::SymbolType, name: &[u8]) -> u8 {
    let typed = u8::from(kind != elf::STT_NOTYPE);
    let binding = match symbol.st_bind() {
        elf::STB_GLOBAL => 2,
        elf::STB_WEAK => 1,
        _ => 0,
    };
    let plain = 2 - name.iter().take(2).take_while(|&&byte| byte == b'_').count() as u8;
    typed << 4 | plain << 2 | binding
}

/// Whether a symbol without a size (assembly) extends to an address: no other entry of the unwind
/// table, and no other section, begins between them.
fn unsized_covers(module: &Module, entry: &SymbolEntry, address: u64) -> bool {
    let section = || module.section_at(entry.start).map(|(_, section)| section.address);
    entry.size == 0
        && module.frame_range(address).is_none_or(|range| range.start <= entry.start)
        && section() == module.section_at(address).map(|(_, section)| section.address)
}
