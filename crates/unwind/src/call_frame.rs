//! Unwind tables of a binary: `.eh_frame` with its search table, or `.debug_frame`.
//!
//! Built on `gimli`, not on `framehop`, which follows only rsp and rbp, does not read memory in
//! expressions, and silently falls back to frame pointers. In Debian's libcrypto 793 rows (its
//! hand-written ciphers and digests, where a TLS server spends its time) need more, as does each
//! frame below a signal handler. `framehop` serves as a second opinion in the tests.

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    UnwindContext, UnwindOffset, UnwindSection,
};

use crate::module::Module;
use crate::row::UnwindRow;

/// Maximum number of indexed entries of a table without a search table; later ones are not found.
const MAX_ENTRIES: usize = 4 << 20;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The address range of one unwind table entry: usually a function, or its cold part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRange {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
}

/// An entry found by reading the whole table.
#[derive(Clone, Copy, Debug)]
struct IndexEntry {
    start: u64,
    end: u64,
    offset: usize,
}

/// The way to find the entry for an address.
#[derive(Debug)]
enum EntryLookup {
    /// The linker's sorted table.
    Header,
    /// An index built here.
    Index(Vec<IndexEntry>),
}

/// The unwind tables of one binary. It holds no bytes, which belong to the module.
#[derive(Debug)]
pub(crate) struct CallFrames {
    bases: BaseAddresses,
    eh: Option<EntryLookup>,
    debug: Option<Vec<IndexEntry>>,
}

impl CallFrames {
    /// Finds the tables of a module.
    pub fn of(module: &Module) -> Self {
        let address = |name: &str| module.layout().place(name).map_or(0, |place| place.address);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_eh_frame_hdr(address(".eh_frame_hdr"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let eh = eh_frame(module).map(|section| {
            if has_search_table(module, &bases) {
                EntryLookup::Header
            } else {
                EntryLookup::Index(index(&section, &bases))
            }
        });
        let debug = debug_frame(module).map(|section| index(&section, &bases));
        Self { bases, eh, debug }
    }

    /// The range of the entry that covers an address.
    pub fn range(&self, module: &Module, address: u64) -> Option<FrameRange> {
        if let Some((_, entry)) = self.eh_entry(module, address) {
            return Some(range_of(&entry));
        }
        self.debug_entry(module, address).map(|(_, entry)| range_of(&entry))
    }

    /// The row for an address; `None` if it is missing or damaged.
    pub fn row(&self, module: &Module, address: u64) -> Option<UnwindRow> {
        if let Some((section, entry)) = self.eh_entry(module, address) {
            return row_of(&section, &entry, &self.bases, address);
        }
        let (section, entry) = self.debug_entry(module, address)?;
        row_of(&section, &entry, &self.bases, address)
    }

    fn eh_entry<'a>(
        &self,
        module: &'a Module,
        address: u64,
    ) -> Option<(EhFrame<Bytes<'a>>, FrameDescriptionEntry<Bytes<'a>>)> {
        let section = eh_frame(module)?;
        let offset = match self.eh.as_ref()? {
            EntryLookup::Header => {
                let header = header(module)?.parse(&self.bases, 8).ok()?;
                let table = header.table()?;
                let pointer = table.lookup(address, &self.bases).ok()?;
                table.pointer_to_offset(pointer).ok()?
            }
            EntryLookup::Index(entries) => find(entries, address)?.into(),
        };
        let entry = section.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset).ok()?;
        entry.contains(address).then_some((section, entry))
    }

    fn debug_entry<'a>(
        &self,
        module: &'a Module,
        address: u64,
    ) -> Option<(DebugFrame<Bytes<'a>>, FrameDescriptionEntry<Bytes<'a>>)> {
        let section = debug_frame(module)?;
        let offset = find(self.debug.as_ref()?, address)?.into();
        let entry = section.fde_from_offset(&self.bases, offset, DebugFrame::cie_from_offset).ok()?;
        entry.contains(address).then_some((section, entry))
    }
}

fn eh_frame(module: &Module) -> Option<EhFrame<Bytes<'_>>> {
    let section = module.section(".eh_frame").filter(|section| !section.data.is_empty())?;
    Some(EhFrame::new(section.data, LittleEndian))
}

fn debug_frame(module: &Module) -> Option<DebugFrame<Bytes<'_>>> {
    let section = module.section(".debug_frame").filter(|section| !section.data.is_empty())?;
    let mut frames = DebugFrame::new(section.data, LittleEndian);
    frames.set_address_size(8);
    Some(frames)
}

fn header(module: &Module) -> Option<EhFrameHdr<Bytes<'_>>> {
    Some(EhFrameHdr::new(module.section(".eh_frame_hdr")?.data, LittleEndian))
}

fn has_search_table(module: &Module, bases: &BaseAddresses) -> bool {
    header(module).and_then(|header| header.parse(bases, 8).ok()).is_some_and(|header| header.table().is_some())
}

/// Reads a whole table, up to the first damaged entry.
fn index<'a, S>(section: &S, bases: &BaseAddresses) -> Vec<IndexEntry>
where
    S: UnwindSection<Bytes<'a>>,
    S::Offset: UnwindOffset<usize>,
{
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        if found.len() == MAX_ENTRIES {
            break;
        }
        if let CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(S::cie_from_offset)
            && !entry.is_empty_range()
        {
            let FrameRange { start, end } = range_of(&entry);
            found.push(IndexEntry { start, end, offset: entry.offset() });
        }
    }
    found.sort_unstable_by_key(|entry| entry.start);
    found
}

trait EmptyRange {
    fn is_empty_range(&self) -> bool;
}

impl EmptyRange for FrameDescriptionEntry<Bytes<'_>> {
    fn is_empty_range(&self) -> bool {
        self.len() == 0
    }
}

fn find(entries: &[IndexEntry], address: u64) -> Option<usize> {
    let behind = entries.partition_point(|entry| entry.start <= address);
    entries.get(behind.checked_sub(1)?).filter(|entry| address < entry.end).map(|entry| entry.offset)
}

fn range_of(entry: &FrameDescriptionEntry<Bytes<'_>>) -> FrameRange {
    FrameRange { start: entry.initial_address(), end: entry.initial_address().wrapping_add(entry.len()) }
}

fn row_of<'a, S>(
    section: &S,
    entry: &FrameDescriptionEntry<Bytes<'a>>,
    bases: &BaseAddresses,
    address: u64,
) -> Option<UnwindRow>
where
    S: UnwindSection<Bytes<'a>>,
{
    let mut context = UnwindContext::new();
    let row = entry.unwind_info_for_address(section, bases, &mut context, address).ok()?;
    UnwindRow::of(section, row, entry.is_signal_trampoline())
}
