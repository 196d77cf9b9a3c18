//! Validates DWARF line tables before they are handed to `blazesym`.
//!
//! `blazesym` (0.2.7) relies on each row referring to an existing file of the table, and panics if a damaged row does
//! not. A module's line tables are therefore validated once, which takes some 10 ms per MB.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};

use crate::module::Module;

/// Maximum number of validated rows; a program with more has no lines.
const MAX_ROWS: u64 = 64 << 20;
/// Maximum size of an unpacked section, in bytes.
const MAX_UNPACKED: u64 = 512 << 20;
/// Header of a compressed section: type, reserved, size, alignment.
const COMPRESSED_HEADER: usize = 24;
/// `ELFCOMPRESS_ZLIB`.
const ZLIB: u8 = 1;

/// Whether every row of every line table of a module refers to a file of that table.
pub(crate) fn lines_are_sound(module: &Module) -> bool {
    let load = |id: SectionId| Ok::<_, gimli::Error>(section(module, id.name()).unwrap_or_default());
    let Ok(sections) = DwarfSections::load(load) else { return false };
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut units = dwarf.units();
    let mut count = 0;
    while let Ok(Some(header)) = units.next() {
        let Some(program) = dwarf.unit(header).ok().and_then(|unit| unit.line_program) else { continue };
        let mut rows = program.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            count += 1;
            let named = row.file_index() == 0 || header.file(row.file_index()).is_some();
            if !named || count > MAX_ROWS {
                return false;
            }
        }
    }
    true
}

fn section<'a>(module: &'a Module, name: &str) -> Option<Cow<'a, [u8]>> {
    let place = module.layout().place(name)?;
    let bytes = module.bytes_of(place);
    if !place.compressed {
        return Some(Cow::Borrowed(bytes));
    }
    let mut unpacked = Vec::new();
    let packed = bytes.get(COMPRESSED_HEADER..).filter(|_| bytes[0] == ZLIB)?;
    ZlibDecoder::new(packed).take(MAX_UNPACKED).read_to_end(&mut unpacked).ok()?;
    Some(Cow::Owned(unpacked))
}
