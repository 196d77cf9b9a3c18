//! A cache of open binaries, shared by all processes that map them.
//!
//! Binaries are identified by device and inode as given by `/proc/PID/maps`, without opening the
//! file: as long as it is mapped here, its inode is not reused. The same file on another device (a
//! layer of a container) is recognised by build id and length.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::UnwindError;
use crate::maps::Mapping;
use crate::memory::Memory;
use crate::module::Module;

/// Maximum number of open binaries; code of further ones is unknown.
const MAX_MODULES: usize = 4096;
/// Maximum size of a vdso, in bytes (two to four pages are usual).
const MAX_VDSO: u64 = 1 << 20;

/// Device and inode.
type FileKey = ((u32, u32), u64);

#[derive(Debug, Default)]
struct ModuleCache {
    by_file: HashMap<FileKey, Option<Arc<Module>>>,
    by_build_id: HashMap<(String, u64), Arc<Module>>,
}

/// A cache of open binaries; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    state: Arc<Mutex<ModuleCache>>,
}

impl Modules {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The binary of a mapping; `None` if it has none or it cannot be opened (tried once).
    pub(crate) fn of_mapping(&self, pid: u32, mapping: &Mapping) -> Option<Arc<Module>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if mapping.is_vdso() {
            return state.vdso(pid, mapping);
        }
        let key = (mapping.device, mapping.inode);
        if !mapping.has_file() {
            return None;
        }
        if let Some(known) = state.by_file.get(&key) {
            return known.clone();
        }
        if state.by_file.len() >= MAX_MODULES {
            return None;
        }
        let module =
            open_file(pid, mapping).and_then(|file| Module::of_file(file, &mapping.path)).ok().map(|mut module| {
                module.find_debug_file(Some(Path::new(&format!("/proc/{pid}/root"))));
                state.share(module)
            });
        state.by_file.insert(key, module.clone());
        module
    }
}

impl ModuleCache {
    fn vdso(&mut self, pid: u32, mapping: &Mapping) -> Option<Arc<Module>> {
        let length = (mapping.end - mapping.start).min(MAX_VDSO) as usize;
        let mut bytes = vec![0; length];
        Memory::of(pid).read_exact(mapping.start, &mut bytes).ok()?;
        let module = Module::of_bytes(bytes, &mapping.path).ok()?;
        Some(self.share(module))
    }

    /// An equal binary that is already open, otherwise this one.
    fn share(&mut self, module: Module) -> Arc<Module> {
        let build_id = module.build_id();
        if build_id.is_empty() {
            return Arc::new(module);
        }
        let size = module.size();
        Arc::clone(self.by_build_id.entry((build_id, size)).or_insert_with(|| Arc::new(module)))
    }
}

/// The mapped file itself if the kernel provides it (even if deleted), otherwise the file now at
/// its path, provided that it is still the same file.
fn open_file(pid: u32, mapping: &Mapping) -> Result<File, UnwindError> {
    let Mapping { start, end, path, .. } = mapping;
    if let Ok(file) = File::open(format!("/proc/{pid}/map_files/{start:x}-{end:x}")) {
        return Ok(file);
    }
    let mut error = None;
    for candidate in [format!("/proc/{pid}/root{path}"), path.clone()] {
        match open_same(&candidate, mapping.inode) {
            Ok(file) => return Ok(file),
            Err(reason) => error = error.or(Some(reason)),
        }
    }
    Err(UnwindError::Open { path: path.into(), error: error.expect("two paths were tried") })
}

fn open_same(path: &str, inode: u64) -> std::io::Result<File> {
    // Checked before opening: opening a device or a pipe may block or have side effects.
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("not a file"));
    }
    let file = File::open(path)?;
    if file.metadata()?.ino() != inode {
        return Err(std::io::Error::other("the file was replaced after the process mapped it"));
    }
    Ok(file)
}
