//! Files of debug packages: `/usr/lib/debug/.build-id/xx/yyyy.debug`, `.gnu_debuglink`.
//!
//! They are searched where the process sees them first (in its container), then on this system.
//! Nothing is downloaded.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::module::Module;

/// The directory used by packages.
const DIRECTORY: &str = "usr/lib/debug";
/// Maximum length of a name in `.gnu_debuglink`, in bytes.
const MAX_LINK: usize = 255;
/// Maximum size of a file whose checksum is computed, in bytes.
const MAX_SUMMED: u64 = 1 << 30;

/// Opens the debug file that belongs to a module, if there is one (identified by its build id, or
/// by its checksum for a link without one).
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

/// The checksum of `.gnu_debuglink`: a standard CRC-32.
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

/// The name in `.gnu_debuglink`; a plain file name, never a path.
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
