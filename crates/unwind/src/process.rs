//! A process: its mappings and the binaries behind them.
//!
//! Maps are read when the process is opened, and again when an address occurs that they do not
//! contain (a library loaded or code generated since), but at most once every [`REFRESH_INTERVAL`]:
//! invalid addresses would otherwise cost a read for each sample.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::elf;
use crate::error::UnwindError;
use crate::maps::{self, Mapping};
use crate::memory::Memory;
use crate::module::Module;
use crate::modules::Modules;

/// Minimum time between two reads of a process's maps.
const REFRESH_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum size of `/proc/PID/maps`, in bytes: 65,536 lines with paths of 192 bytes.
const MAX_MAPS_BYTES: u64 = 16 << 20;

/// A binary loaded in a process.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    /// The binary.
    pub module: Arc<Module>,
    /// Offset to add (wrapping) to an address of the file for the address in the process.
    pub bias: u64,
}

impl LoadedModule {
    /// The file's address for one of the process.
    #[must_use]
    pub fn to_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }

    /// The process's address for one of the file.
    #[must_use]
    pub fn to_process(&self, address: u64) -> u64 {
        address.wrapping_add(self.bias)
    }
}

/// The image of one process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    mappings: Vec<Mapping>,
    /// Parallel to the mappings; only those with code have one.
    loaded: Vec<Option<LoadedModule>>,
    modules: Modules,
    refreshed: Instant,
}

impl Process {
    /// Opens a process.
    ///
    /// # Errors
    /// If there is no such process, the kernel denies access, or it does not run 64-bit x86 code.
    pub fn open(pid: u32) -> Result<Self, UnwindError> {
        Self::open_with(pid, &Modules::new())
    }

    /// Opens a process, sharing open binaries with others.
    ///
    /// # Errors
    /// As [`Process::open`].
    pub fn open_with(pid: u32, modules: &Modules) -> Result<Self, UnwindError> {
        check_architecture(pid)?;
        let mut process =
            Self { pid, mappings: Vec::new(), loaded: Vec::new(), modules: modules.clone(), refreshed: Instant::now() };
        process.read_maps().map_err(|error| UnwindError::of_process(pid, "maps", error))?;
        Ok(process)
    }

    /// Its id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::of(self.pid)
    }

    /// Reads the maps again, unless that was done a moment ago; returns whether they have changed.
    ///
    /// # Errors
    /// If they cannot be read, for example because the process has ended. The old maps are kept.
    pub fn refresh(&mut self) -> io::Result<bool> {
        if self.refreshed.elapsed() < REFRESH_INTERVAL {
            return Ok(false);
        }
        self.read_maps()
    }

    /// All mappings, by address.
    #[must_use]
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// The mapping that contains an address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        self.index(address).map(|index| &self.mappings[index])
    }

    /// The binary that contains an address, whether in code or data.
    #[must_use]
    pub fn module(&self, address: u64) -> Option<LoadedModule> {
        self.loaded(address).cloned()
    }

    /// All binaries whose code is mapped, each once, by address.
    pub fn modules(&self) -> impl Iterator<Item = &LoadedModule> {
        let mut last = None;
        self.loaded.iter().flatten().filter(move |loaded| {
            let this = Some((loaded.module.id(), loaded.bias));
            std::mem::replace(&mut last, this) != this
        })
    }

    /// Whether an address is executable.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|mapping| mapping.executable)
    }

    pub(crate) fn loaded(&self, address: u64) -> Option<&LoadedModule> {
        let index = self.index(address)?;
        self.loaded[index].as_ref().or_else(|| {
            let mapping = &self.mappings[index];
            let same = |other: &usize| self.loaded[*other].is_some() && self.mappings[*other].same_file(mapping);
            let code = mapping.has_file().then(|| (0..self.mappings.len()).find(same)).flatten()?;
            self.loaded[code].as_ref()
        })
    }

    /// The mapping of an address and the binary whose code it contains.
    pub(crate) fn code(&self, address: u64) -> Option<(&Mapping, Option<&LoadedModule>)> {
        let index = self.index(address)?;
        Some((&self.mappings[index], self.loaded[index].as_ref()))
    }

    fn index(&self, address: u64) -> Option<usize> {
        let index = self.mappings.partition_point(|mapping| mapping.end <= address);
        self.mappings.get(index).filter(|mapping| mapping.start <= address).map(|_| index)
    }

    fn read_maps(&mut self) -> io::Result<bool> {
        self.refreshed = Instant::now();
        let mut text = Vec::new();
        File::open(format!("/proc/{}/maps", self.pid))?.take(MAX_MAPS_BYTES).read_to_end(&mut text)?;
        let mappings = maps::parse(&text);
        if mappings == self.mappings {
            return Ok(false);
        }
        if mappings.is_empty() && !self.mappings.is_empty() {
            // The process is ending: the old maps help with its last samples.
            return Ok(false);
        }
        self.loaded = mappings.iter().map(|mapping| self.load(mapping)).collect();
        self.mappings = mappings;
        Ok(true)
    }

    fn load(&self, mapping: &Mapping) -> Option<LoadedModule> {
        if !mapping.executable {
            return None;
        }
        let known = self.mappings.binary_search_by_key(&mapping.start, |known| known.start);
        if let Ok(index) = known
            && self.mappings[index] == *mapping
        {
            return self.loaded[index].clone();
        }
        let module = self.modules.of_mapping(self.pid, mapping)?;
        let bias = mapping.start.wrapping_sub(module.layout().address_of(mapping.offset)?);
        Some(LoadedModule { module, bias })
    }
}

fn check_architecture(pid: u32) -> Result<(), UnwindError> {
    let failed = |error| UnwindError::of_process(pid, "exe", error);
    let mut head = [0; 64];
    let mut program = match File::open(format!("/proc/{pid}/exe")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && Path::new(&format!("/proc/{pid}")).exists() => {
            let found = "no program (it is a kernel thread, or is ending)".to_owned();
            return Err(UnwindError::Foreign { pid, found });
        }
        opened => opened.map_err(failed)?,
    };
    let read = program.read(&mut head).map_err(failed)?;
    match elf::foreign(&head[..read]) {
        Some(found) => Err(UnwindError::Foreign { pid, found }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
