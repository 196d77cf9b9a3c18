//! One process: what is mapped where, and the binaries behind.
//!
//! Maps are read when the process is opened, and again when an address turns up that they do not
//! have (a library loaded since, code generated since), but not more often than every
//! [`REFRESH_INTERVAL`]: addresses that are nowhere would otherwise cost a read for each sample.

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

/// Shortest time between two reads of a process's maps.
const REFRESH_INTERVAL: Duration = Duration::from_millis(100);
/// Longest text of `/proc/PID/maps` that is read, in bytes: 65,536 lines with paths of 192 bytes.
const MAX_MAPS_BYTES: u64 = 16 << 20;

/// A binary at its place in a process.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The binary.
    pub module: Arc<Module>,
    /// What to add (wrapping) to an address of the file for that in the process.
    pub bias: u64,
}

impl Loaded {
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
    /// Beside each mapping; only those with code have one.
    loaded: Vec<Option<Loaded>>,
    modules: Modules,
    refreshed: Instant,
}

impl Process {
    /// Looks at a process.
    ///
    /// # Errors
    /// If there is no such process, the kernel refuses, or it runs no 64-bit x86 code.
    pub fn open(pid: u32) -> Result<Self, UnwindError> {
        Self::open_with(pid, &Modules::new())
    }

    /// Looks at a process, sharing open binaries with others.
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

    /// Reads the maps again, unless that was done a moment ago; says whether they have changed.
    ///
    /// # Errors
    /// If they cannot be read, because the process has ended for example. What was known stays.
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

    /// The mapping that an address is in.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        self.index(address).map(|index| &self.mappings[index])
    }

    /// The binary that an address is in, be it code or data.
    #[must_use]
    pub fn module(&self, address: u64) -> Option<Loaded> {
        self.loaded(address).cloned()
    }

    /// All binaries whose code is mapped, each once, by address.
    pub fn modules(&self) -> impl Iterator<Item = &Loaded> {
        let mut last = None;
        self.loaded.iter().flatten().filter(move |loaded| {
            let this = Some((loaded.module.id(), loaded.bias));
            std::mem::replace(&mut last, this) != this
        })
    }

    /// Whether code may run at an address.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|mapping| mapping.executable)
    }

    pub(crate) fn loaded(&self, address: u64) -> Option<&Loaded> {
        let index = self.index(address)?;
        self.loaded[index].as_ref().or_else(|| {
            let mapping = &self.mappings[index];
            let same = |other: &usize| self.loaded[*other].is_some() && self.mappings[*other].same_file(mapping);
            let code = mapping.has_file().then(|| (0..self.mappings.len()).find(same)).flatten()?;
            self.loaded[code].as_ref()
        })
    }

    /// The mapping of an address and the binary whose code is there.
    pub(crate) fn code(&self, address: u64) -> Option<(&Mapping, Option<&Loaded>)> {
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
            // It is ending: what was known helps with its last samples.
            return Ok(false);
        }
        self.loaded = mappings.iter().map(|mapping| self.load(mapping)).collect();
        self.mappings = mappings;
        Ok(true)
    }

    fn load(&self, mapping: &Mapping) -> Option<Loaded> {
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
        Some(Loaded { module, bias })
    }
}

fn check_architecture(pid: u32) -> Result<(), UnwindError> {
    let failed = |error| UnwindError::of_process(pid, "exe", error);
    let mut head = [0; 64];
    let mut program = match File::open(format!("/proc/{pid}/exe")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && Path::new(&format!("/proc/{pid}")).exists() => {
            let found = "no program of its own (it is a thread of the kernel, or is ending)".to_owned();
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
