//! Reads the binaries of a process, or a single one.

use std::fs::File;
use std::io;
use std::path::Path;

use object::{BinaryFormat, Object, ObjectSection, ReadCache, ReadRef};

use super::code::CodeStatistics;
use super::functions::Functions;
use super::{BinaryKind, BuildFacts, classify, dwarf};
use crate::facts::root::Root;

/// Maximum number of compilers from `.comment`.
const MAX_COMPILERS: usize = 16;
/// Maximum size of `.comment`.
const MAX_COMMENT_BYTES: u64 = 64 << 10;

/// Reads one binary.
///
/// # Errors
/// If it cannot be read, or is not an ELF file.
pub fn build_facts(path: &Path, kind: BinaryKind) -> io::Result<BuildFacts> {
    build_facts_of(File::open(path)?, &path.to_string_lossy(), kind, None)
}

/// Reads an open binary; its debug information may be in a separate file below `root`.
///
/// # Errors
/// If it cannot be read, or is not an ELF file.
pub fn build_facts_of(file: File, path: &str, kind: BinaryKind, root: Option<&Root>) -> io::Result<BuildFacts> {
    let bytes = file.metadata()?.len();
    let cache = ReadCache::new(file);
    let file = object::File::parse(&cache).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
    if file.format() != BinaryFormat::Elf {
        return Err(io::Error::other(format!("{path}: not an ELF file")));
    }
    let build_id = file.build_id().ok().flatten().map(hexadecimal).unwrap_or_default();
    let mut facts = BuildFacts {
        path: path.to_owned(),
        kind,
        bytes,
        stripped: file.symbols().next().is_none(),
        compilers: comment(&file),
        producers: dwarf::producers(&file),
        build_id,
        ..BuildFacts::default()
    };
    if facts.producers.is_empty() {
        facts.producers = root.and_then(|root| separate(&facts.build_id, root)).unwrap_or_default();
    }
    if file.architecture() == object::Architecture::X86_64 {
        facts.code = CodeStatistics::of(&Functions::of(&file));
        if facts.code.is_none() {
            facts.remark = "there is no table of its functions (.eh_frame), so its code cannot be analysed".into();
        }
    } else {
        facts.remark = format!("code for {:?} cannot be analysed", file.architecture());
    }
    facts.optimisation = classify(&facts);
    Ok(facts)
}

/// Producers in a separate file of debug information installed by a distribution (`/usr/lib/debug`).
fn separate(build_id: &str, root: &Root) -> Option<Vec<super::Producer>> {
    let (first, rest) = build_id.split_at_checked(2)?;
    let file = root.open(Path::new(&format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))).ok()?;
    let cache = ReadCache::new(file);
    Some(dwarf::producers(&object::File::parse(&cache).ok()?))
}

fn comment<'d, R: ReadRef<'d>>(file: &object::File<'d, R>) -> Vec<String> {
    let section = file.section_by_name(".comment").filter(|section| section.size() <= MAX_COMMENT_BYTES);
    let data = section.and_then(|section| section.data().ok()).unwrap_or(&[]);
    let mut compilers: Vec<String> = Vec::new();
    for text in data.split(|&byte| byte == 0).filter(|text| !text.is_empty()) {
        let text = String::from_utf8_lossy(text).trim().to_owned();
        if compilers.len() < MAX_COMPILERS && !compilers.contains(&text) {
            compilers.push(text);
        }
    }
    compilers
}

pub(in crate::facts) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
