//! The structure of an ELF file: segments, sections, build id.
//!
//! Only 64-bit little-endian x86 is supported; an error names any other. Headers are read once when
//! a file is opened, with limits on everything that a damaged header could make large.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

/// Maximum number of sections of one file; further ones are ignored.
const MAX_SECTIONS: usize = 65_536;
/// Maximum length of a build id, in bytes (20 are usual).
const MAX_BUILD_ID: usize = 64;

type Header = FileHeader64<LittleEndian>;

/// A section: its address in the program, and its bytes in the file.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Address as in the file (add the bias for the address in the process).
    pub address: u64,
    /// Its bytes; empty if the file has none (`.bss`).
    pub data: &'a [u8],
}

/// The location of a section.
#[derive(Clone, Debug)]
pub(crate) struct SectionLocation {
    pub name: String,
    pub address: u64,
    pub size: u64,
    pub offset: usize,
    /// Length in the file, in bytes; 0 for `.bss` and for sections that a debug file omits.
    pub length: usize,
    pub compressed: bool,
}

/// A loaded part of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub offset: u64,
    pub address: u64,
    pub file_size: u64,
    pub executable: bool,
}

/// Sections and segments of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElfLayout {
    pub entry: u64,
    pub build_id: Vec<u8>,
    pub segments: Vec<Segment>,
    pub sections: Vec<SectionLocation>,
}

impl ElfLayout {
    /// Reads the headers.
    pub fn parse(data: &[u8]) -> Result<Self, String> {
        check_kind(data)?;
        let header = Header::parse(data).map_err(|error| error.to_string())?;
        let mut layout = Self { entry: header.e_entry.get(LittleEndian), ..Self::default() };
        for segment in header.program_headers(LittleEndian, data).map_err(|error| error.to_string())? {
            match segment.p_type(LittleEndian) {
                elf::PT_LOAD => layout.segments.push(Segment {
                    offset: segment.p_offset(LittleEndian),
                    address: segment.p_vaddr(LittleEndian),
                    file_size: segment.p_filesz(LittleEndian),
                    executable: segment.p_flags(LittleEndian).0 & elf::PF_X.0 != 0,
                }),
                elf::PT_NOTE if layout.build_id.is_empty() => {
                    layout.build_id = build_id(segment, data).unwrap_or_default();
                }
                _ => {}
            }
        }
        layout.sections = sections(header, data);
        Ok(layout)
    }

    /// The first section with this name.
    pub fn place(&self, name: &str) -> Option<&SectionLocation> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The address, as in the file, of a byte of the file.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        // A mapping starts at a page boundary, up to a page before its segment.
        const PAGE: u64 = 4096;
        let within = |segment: &&Segment| {
            let start = segment.offset - segment.offset % PAGE;
            (start..segment.offset.saturating_add(segment.file_size)).contains(&offset)
        };
        let candidates = || self.segments.iter().filter(within);
        let segment = candidates().find(|segment| segment.executable).or_else(|| candidates().next())?;
        Some(segment.address.wrapping_add(offset.wrapping_sub(segment.offset)))
    }
}

/// Describes the class and machine of an ELF file; `None` if it is supported.
pub(crate) fn foreign(data: &[u8]) -> Option<String> {
    check_kind(data).err()
}

fn check_kind(data: &[u8]) -> Result<(), String> {
    let (Some(b"\x7fELF"), Some(&class), Some(&order), Some(machine)) =
        (data.get(..4), data.get(4), data.get(5), data.get(18..20))
    else {
        return Err("not an ELF file".to_owned());
    };
    if order != 1 {
        return Err("a program of a big-endian machine".to_owned());
    }
    let machine = elf::Machine(u16::from_le_bytes([machine[0], machine[1]]));
    match (class, machine) {
        (2, elf::EM_X86_64) => Ok(()),
        (1, elf::EM_386) => Err("a 32-bit x86 program".to_owned()),
        (1, elf::EM_X86_64) => Err("an x32 program".to_owned()),
        (_, elf::EM_AARCH64) => Err("an AArch64 program".to_owned()),
        _ => Err(format!("a program of another machine (ELF class {class}, machine {})", machine.0)),
    }
}

fn build_id(segment: &elf::ProgramHeader64<LittleEndian>, data: &[u8]) -> Option<Vec<u8>> {
    let mut notes = segment.notes(LittleEndian, data).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(LittleEndian) == elf::NT_GNU_BUILD_ID {
            return (note.desc().len() <= MAX_BUILD_ID).then(|| note.desc().to_vec());
        }
    }
    None
}

fn sections(header: &Header, data: &[u8]) -> Vec<SectionLocation> {
    let Ok(table) = header.sections(LittleEndian, data) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for section in table.iter().take(MAX_SECTIONS) {
        let Ok(name) = table.section_name(LittleEndian, section) else { continue };
        let (offset, length) = match section.file_range(LittleEndian) {
            Some((offset, length)) if offset.checked_add(length).is_some_and(|end| end <= data.len() as u64) => {
                (offset as usize, length as usize)
            }
            _ => (0, 0),
        };
        let flags = section.sh_flags(LittleEndian);
        places.push(SectionLocation {
            name: String::from_utf8_lossy(name).into_owned(),
            address: section.sh_addr(LittleEndian),
            size: section.sh_size(LittleEndian),
            offset,
            length,
            compressed: flags.0 & elf::SHF_COMPRESSED.0 != 0,
        });
    }
    places
}
