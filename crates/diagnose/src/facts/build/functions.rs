//! The boundaries of functions, without symbols: unwind tables contain them and survive `strip`.

use std::collections::HashSet;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection, ReadRef, SectionKind};

/// Maximum number of functions of one binary; the largest browsers have about as many.
const MAX_FUNCTIONS: usize = 1_000_000;
/// Maximum size of `.eh_frame`.
const MAX_TABLE_BYTES: u64 = 128 << 20;
/// Maximum size of one code section.
const MAX_CODE_BYTES: u64 = 256 << 20;

/// One function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Function {
    /// Address of its first byte, as in the file.
    pub start: u64,
    /// Address after its last byte.
    pub end: u64,
}

/// Code of a binary with its functions.
#[derive(Debug, Default)]
pub(super) struct Functions<'d> {
    /// By address, without duplicate starts.
    pub all: Vec<Function>,
    starts: HashSet<u64>,
    /// Sections with stubs that jump into libraries.
    stubs: Vec<Function>,
    code: Vec<(u64, &'d [u8])>,
}

impl<'d> Functions<'d> {
    /// Reads the functions; unreadable parts are missing.
    pub fn of<R: ReadRef<'d>>(file: &object::File<'d, R>) -> Self {
        let mut functions = Self::default();
        let mut bases = BaseAddresses::default();
        let mut table: &[u8] = &[];
        for section in file.sections() {
            let (name, range) = (section.name().unwrap_or(""), (section.address(), section.size()));
            let span = Function { start: range.0, end: range.0.saturating_add(range.1) };
            match name {
                ".eh_frame" if range.1 <= MAX_TABLE_BYTES => {
                    bases = bases.set_eh_frame(range.0);
                    table = section.data().unwrap_or(&[]);
                }
                ".text" => bases = bases.set_text(range.0),
                ".got" => bases = bases.set_got(range.0),
                _ => {}
            }
            if name.starts_with(".plt") {
                functions.stubs.push(span);
            } else if section.kind() == SectionKind::Text && range.1 <= MAX_CODE_BYTES {
                functions.code.extend(section.data().ok().map(|data| (range.0, data)));
            }
        }
        functions.list(table, &bases);
        functions
    }

    fn list(&mut self, table: &[u8], bases: &BaseAddresses) {
        let mut section = EhFrame::new(table, LittleEndian);
        section.set_address_size(8);
        let mut entries = section.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let (start, length) = (entry.initial_address(), entry.len());
            // Stubs also have an entry.
            if length == 0 || self.in_stubs(start) {
                continue;
            }
            if self.all.len() >= MAX_FUNCTIONS {
                break;
            }
            self.all.push(Function { start, end: start.saturating_add(length) });
        }
        self.all.sort_unstable();
        self.all.dedup_by_key(|function| function.start);
        self.starts = self.all.iter().map(|function| function.start).collect();
    }

    /// Whether a function begins at this address.
    pub fn is_start(&self, address: u64) -> bool {
        self.starts.contains(&address)
    }

    /// Whether the address is in a stub that jumps into a library.
    pub fn in_stubs(&self, address: u64) -> bool {
        self.stubs.iter().any(|span| (span.start..span.end).contains(&address))
    }

    /// The bytes of a function; empty if they are not in the file.
    pub fn bytes(&self, function: Function) -> &'d [u8] {
        let holds = |&&(start, code): &&(u64, &[u8])| {
            function.start >= start && function.end <= start.saturating_add(code.len() as u64)
        };
        let Some(&(start, code)) = self.code.iter().find(holds) else { return &[] };
        let at = |address: u64| usize::try_from(address - start).unwrap_or(usize::MAX);
        code.get(at(function.start)..at(function.end)).unwrap_or(&[])
    }
}
