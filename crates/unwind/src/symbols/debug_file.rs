//! Files of debug packages: `/usr/lib/debug/.build-id/xx/yyyy.debug`, `.gnu_debuglink`.
//!
//! Looked for where the process sees it first (its container), then on this system. Nothing is fetched.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::module::Module;

/// Where packages put them.
const DIRECTORY: &str = "usr/lib/debug";
/// Longest name in `.gnu_debuglink` that is followed, in bytes.
const MAX_LINK: usize = 255;
/// Longest file whose checksum is taken, in bytes.
const MAX_SUMMED: u64 = 1 << 30;

/// Opens the debug file of a module, if there is one that belongs to it (by its build id, or for a
/// link without one, by its checksum).
pub(crate) fn find(module: &Module, root: Option<&Path>) -> Option<Module> {
    if module.layout().place(".debug_info").is_some() {
        return None;
    }
    let places = [root, Some(Path::new("/"))];
    places.into_iter().flatten().flat_map(|root| candidates(module, root)).find_map(|path| {
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let debug = Module::of_file(File::open(&path).ok()?, &path.to_string_lossy()).ok()?;
        belongs(module, &debug).then_some(debug)
    })
}

fn belongs(module: &Module, debug: &Module) -> bool {
    if !module.build_id().is_empty() {
        return debug.build_id() == module.build_id();
    }
    let sum = module.section(".gnu_debuglink").and_then(|section| section.data.last_chunk::<4>().copied());
    debug.size() <= MAX_SUMMED && sum.is_some_and(|sum| u32::from_le_bytes(sum) == checksum(debug.data()))
}

/// The checksum of `.gnu_debuglink`: the usual CRC-32.
fn checksum(data: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(data);
    sum.sum()
}

fn candidates(module: &Module, root: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let debug = root.join(DIRECTORY);
    let id = module.build_id();
    if id.len() > 2 {
        paths.push(debug.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..])));
    }
    if let (Some(link), Some(directory)) = (link(module), Path::new(module.path()).parent()) {
        let directory = directory.strip_prefix("/").unwrap_or(directory);
        paths.push(root.join(directory).join(&link));
        paths.push(root.join(directory).join(".debug").join(&link));
        paths.push(debug.join(directory).join(&link));
    }
    paths
}

/// The name in `.gnu_debuglink`; a plain name, never a path.
fn link(module: &Module) -> Option<String> {
    let data = module.section(".gnu_debuglink")?.data;
    let name = data.split(|&byte| byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    let plain = !name.is_empty() && name.len() <= MAX_LINK && !name.contains('/') && name != "." && name != "..";
    plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_looked_for_by_build_id() {
        let module = Module::open(Path::new("/bin/sh")).unwrap();
        let id = module.build_id();
        let expected = format!("/proc/7/root/usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]);
        assert_eq!(candidates(&module, Path::new("/proc/7/root"))[0], Path::new(&expected));
    }

    #[test]
    fn checksums_are_those_of_objcopy() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
