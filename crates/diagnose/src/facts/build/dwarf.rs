//! Compiler versions and flags: `DW_AT_producer` of every compilation unit, and nothing else from
//! the debug information.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use gimli::{EndianSlice, LittleEndian, SectionId};
use object::{CompressionFormat, Object, ObjectSection, ReadRef};

use super::Producer;

/// Maximum size of one section of debug information, unpacked.
const MAX_SECTION_BYTES: u64 = 256 << 20;
/// Maximum number of units.
const MAX_UNITS: usize = 20_000;
/// Maximum number of distinct producers.
const MAX_PRODUCERS: usize = 16;
/// Maximum length of a producer.
const MAX_PRODUCER_BYTES: usize = 2000;

/// Sections needed to read a string of a unit; without addresses and lines `gimli` cannot open a unit.
const NEEDED: [SectionId; 7] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugAddr,
    SectionId::DebugLine,
];

/// Producers of all units, most units first; empty if there is no debug information.
pub(super) fn producers<'d, R: ReadRef<'d>>(file: &object::File<'d, R>) -> Vec<Producer> {
    let load = |id: SectionId| -> Result<Cow<'d, [u8]>, gimli::Error> {
        Ok(if NEEDED.contains(&id) { section(file, id.name()).unwrap_or_default() } else { Cow::default() })
    };
    let Ok(sections) = gimli::DwarfSections::load(load) else { return Vec::new() };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut headers = dwarf.units();
    for _ in 0..MAX_UNITS {
        let Ok(Some(header)) = headers.next() else { break };
        if let Some(text) = producer(&dwarf, header) {
            *counts.entry(text).or_default() += 1;
        }
    }
    let mut producers: Vec<Producer> = counts.into_iter().map(|(text, units)| Producer { text, units }).collect();
    producers.sort_by_key(|producer| std::cmp::Reverse(producer.units));
    producers.truncate(MAX_PRODUCERS);
    producers
}

fn producer(
    dwarf: &gimli::Dwarf<EndianSlice<'_, LittleEndian>>,
    header: gimli::UnitHeader<EndianSlice<'_, LittleEndian>>,
) -> Option<String> {
    let unit = dwarf.unit(header).ok()?;
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok()??;
    let value = root.attr_value(gimli::DW_AT_producer)?;
    let text = dwarf.attr_string(&unit, value).ok()?;
    let text = text.slice();
    Some(String::from_utf8_lossy(&text[..text.len().min(MAX_PRODUCER_BYTES)]).into_owned())
}

/// A section, unpacked if it is compressed with zlib.
fn section<'d, R: ReadRef<'d>>(file: &object::File<'d, R>, name: &str) -> Option<Cow<'d, [u8]>> {
    let packed = file.section_by_name(name)?.compressed_data().ok()?;
    if packed.uncompressed_size > MAX_SECTION_BYTES {
        return None;
    }
    match packed.format {
        CompressionFormat::None => Some(Cow::Borrowed(packed.data)),
        CompressionFormat::Zlib => {
            let mut bytes = Vec::new();
            flate2::read::ZlibDecoder::new(packed.data).take(MAX_SECTION_BYTES).read_to_end(&mut bytes).ok()?;
            Some(Cow::Owned(bytes))
        }
        _ => None,
    }
}
