//! A binary: a program, a library, or the kernel's vdso.
//!
//! Its file is mapped, not read: unused pages cost nothing, and several workers with the same libraries share one
//! mapping. Truncating a mapped file would kill the reader (SIGBUS); but package managers replace files instead, and
//! truncation would also kill the process that runs the code.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::Mmap;

use crate::call_frame::{CallFrames, FrameRange};
use crate::elf::{ElfLayout, Section, SectionLocation};
use crate::error::UnwindError;
use crate::symbols::find_debug_file;
use crate::symbols::table::SymbolTable;

/// Module numbers, by which rows and names are cached.
static NEXT_ID: AtomicU32 = AtomicU32::new(0);

enum ModuleBytes {
    Mapped(Mmap),
    Copied(Vec<u8>),
}

impl ModuleBytes {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => mapped,
            Self::Copied(bytes) => bytes,
        }
    }
}

/// An open binary. Addresses are those of the file; add [`crate::LoadedModule::bias`] for the process's.
pub struct Module {
    id: u32,
    path: String,
    data: ModuleBytes,
    layout: ElfLayout,
    /// Kept if source lines may be looked up in it, even after the process has ended.
    file: Option<File>,
    debug_file: Option<Box<Module>>,
    frames: OnceLock<CallFrames>,
    symbols: OnceLock<SymbolTable>,
}

impl Module {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened or is not a 64-bit x86 ELF file.
    pub fn open(path: &Path) -> Result<Self, UnwindError> {
        let file = File::open(path).map_err(|error| UnwindError::Open { path: path.to_owned(), error })?;
        let mut module = Self::of_file(file, &path.to_string_lossy())?;
        module.find_debug_file(None);
        Ok(module)
    }

    pub(crate) fn of_file(file: File, path: &str) -> Result<Self, UnwindError> {
        // SAFETY: the mapping is private and read-only; all of its bytes are treated as untrusted
        // input that may change, and only plain integers and bytes are read from it.
        let mapped = unsafe { Mmap::map(&file) }.map_err(|error| UnwindError::Open { path: path.into(), error })?;
        let mut module = Self::new(ModuleBytes::Mapped(mapped), path)?;
        module.file = module.layout.place(".debug_info").map(|_| file);
        Ok(module)
    }

    pub(crate) fn of_bytes(bytes: Vec<u8>, path: &str) -> Result<Self, UnwindError> {
        Self::new(ModuleBytes::Copied(bytes), path)
    }

    fn new(data: ModuleBytes, path: &str) -> Result<Self, UnwindError> {
        let layout =
            ElfLayout::parse(data.bytes()).map_err(|reason| UnwindError::Binary { path: path.into(), reason })?;
        Ok(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            path: path.to_owned(),
            data,
            layout,
            file: None,
            debug_file: None,
            frames: OnceLock::new(),
            symbols: OnceLock::new(),
        })
    }

    /// Looks for the file of a debug package, below a process's root and on this system.
    pub(crate) fn find_debug_file(&mut self, root: Option<&Path>) {
        self.debug_file = find_debug_file(self, root).map(Box::new);
    }

    /// A number that identifies the module.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Path at which it was first seen, as the process sees it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last component of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Build id in hexadecimal digits; empty if there is none.
    #[must_use]
    pub fn build_id(&self) -> String {
        self.layout.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Length of the file in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.data.bytes().len() as u64
    }

    /// The program's entry point.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.layout.entry
    }

    /// A section by its name, if it is there and not compressed.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<Section<'_>> {
        let place = self.layout.place(name).filter(|place| !place.compressed)?;
        Some(Section { address: place.address, data: self.bytes_of(place) })
    }

    /// The section that contains an address.
    #[must_use]
    pub fn section_at(&self, address: u64) -> Option<(&str, Section<'_>)> {
        let place = self.place_at(address)?;
        Some((&place.name, Section { address: place.address, data: self.bytes_of(place) }))
    }

    /// Bytes of the file from an address to the end of its section (of code, of constants).
    #[must_use]
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let (_, section) = self.section_at(address)?;
        section.data.get(usize::try_from(address - section.address).ok()?..)
    }

    /// The address of a symbol in `.symtab`, `.dynsym` or `.gnu_debugdata`.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols().by_name(self, name).map(|range| range.start)
    }

    /// The range of a symbol; empty if its size is not known.
    #[must_use]
    pub fn symbol_range(&self, name: &str) -> Option<Range<u64>> {
        self.symbols().by_name(self, name)
    }

    /// The symbol that covers an address, as in the file (mangled), and its start.
    #[must_use]
    pub fn symbol_at(&self, address: u64) -> Option<(&str, u64)> {
        self.symbols().by_address(self, address)
    }

    /// The range of the unwind table entry (usually the function) that covers an address.
    #[must_use]
    pub fn frame_range(&self, address: u64) -> Option<FrameRange> {
        self.call_frames().range(self, address)
    }

    pub(crate) fn layout(&self) -> &ElfLayout {
        &self.layout
    }

    pub(crate) fn data(&self) -> &[u8] {
        self.data.bytes()
    }

    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// The file of the debug package that belongs to it.
    pub(crate) fn debug_file(&self) -> Option<&Module> {
        self.debug_file.as_deref()
    }

    pub(crate) fn bytes_of(&self, place: &SectionLocation) -> &[u8] {
        self.data().get(place.offset..place.offset + place.length).unwrap_or_default()
    }

    pub(crate) fn call_frames(&self) -> &CallFrames {
        self.frames.get_or_init(|| CallFrames::of(self))
    }

    pub(crate) fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| SymbolTable::of(self))
    }

    fn place_at(&self, address: u64) -> Option<&SectionLocation> {
        let covers = |place: &&SectionLocation| place.address != 0 && address.wrapping_sub(place.address) < place.size;
        self.layout.sections.iter().find(covers)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Module").field("path", &self.path).field("build_id", &self.build_id()).finish()
    }
}
