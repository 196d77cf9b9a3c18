//! The temporary directory of a run: scripts and policies that all variants share, and a directory
//! of its own for each of them. It is removed at the end unless the caller keeps it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::MeasureError;
use crate::host::Host;
use crate::placement::Placement;
use crate::{module, nginx};

/// The end of the name of a row that runs the reference build.
pub const REFERENCE: &str = "-reference";

/// Name of a policy's address list, in the policy's directory.
const ADDRESS_FILE: &str = "blocked.txt";

/// The temporary directory of a run, and what all its variants share.
#[derive(Debug)]
pub struct Site {
    directory: tempfile::TempDir,
    /// Cores and priority of the processes.
    pub placement: Placement,
    /// Port of the origin.
    pub origin_port: u16,
    /// The module under test, if it has been built.
    pub module: Option<PathBuf>,
    /// Another build of it, which rows whose name ends in [`REFERENCE`] run.
    pub reference: Option<PathBuf>,
    /// Idle connections to the origin that a worker keeps: as many as there are requests at a time.
    pub upstream_keepalive: u32,
    /// Where nginx keeps its dynamic modules.
    pub module_directory: PathBuf,
    /// Version of nginx.
    pub nginx_version: String,
}

impl Site {
    /// The site of a run that measures the given module, or the newest build. From now on signals that
    /// would end this process end the run with an error.
    pub fn prepare(placement: Placement, module: Option<&Path>) -> Result<Self, MeasureError> {
        crate::interrupt::catch();
        let (nginx_version, modules) = nginx::describe()?;
        Ok(Self { nginx_version, ..Self::create(placement, module::find(module)?, modules)? })
    }

    /// Makes the directory and writes the scripts of the load.
    pub fn create(
        placement: Placement,
        module: Option<PathBuf>,
        module_directory: PathBuf,
    ) -> Result<Self, MeasureError> {
        let base = std::env::temp_dir();
        let directory = tempfile::Builder::new().prefix("weir-measure-").tempdir().map_err(MeasureError::file(base))?;
        let site = Self {
            directory,
            placement,
            origin_port: crate::port::free()?,
            module,
            reference: None,
            upstream_keepalive: nginx::UPSTREAM_KEEPALIVE,
            module_directory,
            nginx_version: String::new(),
        };
        for (name, text) in crate::wrk::SCRIPTS {
            write(&site.path(name), text)?;
        }
        Ok(site)
    }

    /// The build of Weir's module that a row runs.
    pub fn module_of(&self, row: &str) -> Result<PathBuf, MeasureError> {
        match &self.reference {
            Some(reference) if row.ends_with(REFERENCE) => Ok(reference.clone()),
            _ => self.weir_module(),
        }
    }

    /// Weir's module; an error that says how to build it if there is none.
    pub fn weir_module(&self) -> Result<PathBuf, MeasureError> {
        self.module.clone().ok_or_else(|| MeasureError::Missing(module::NO_MODULE.into()))
    }

    /// Paths of nginx's own modules; an error that says how to install them if one is absent.
    pub fn nginx_modules(&self, names: &[&str]) -> Result<Vec<PathBuf>, MeasureError> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.module_directory.join(name)).collect();
        match paths.iter().find(|path| !path.exists()) {
            None => Ok(paths),
            Some(absent) => {
                let absent = absent.display();
                Err(MeasureError::Missing(format!("{absent} is not there; `scripts/setup.sh bench` installs it")))
            }
        }
    }

    /// A path in the run's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a policy and its list into a directory of their own; returns the policy's path.
    pub fn write_policy(&self, name: &str, text: &str, listed: &[Ipv4Addr]) -> Result<PathBuf, MeasureError> {
        let directory = self.path("policy").join(name);
        let list: String = listed.iter().map(|address| format!("{address}\n")).collect();
        write(&directory.join(ADDRESS_FILE), &list)?;
        write(&directory.join("policy.yaml"), text)?;
        Ok(directory.join("policy.yaml"))
    }

    /// Path of a policy written before.
    #[must_use]
    pub fn policy(&self, name: &str) -> PathBuf {
        self.path("policy").join(name).join("policy.yaml")
    }

    /// Makes the directory of a variant.
    pub fn directory_of(&self, variant: &str) -> Result<PathBuf, MeasureError> {
        let path = self.path(variant);
        fs::create_dir_all(&path).map_err(MeasureError::file(&path))?;
        Ok(path)
    }

    /// The machine, for the results of a run by this schedule.
    #[must_use]
    pub fn host(&self, schedule: String) -> Host {
        Host::here(&self.nginx_version, self.placement.tested.is_some(), schedule)
    }

    /// Leaves the directory where it is when the run ends, and says where.
    pub fn keep(&mut self) -> PathBuf {
        self.directory.disable_cleanup(true);
        self.directory.path().to_owned()
    }
}

/// Writes a file and the directories above it.
pub fn write(path: &Path, text: &str) -> Result<(), MeasureError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(MeasureError::file(parent))?;
    }
    fs::write(path, text).map_err(MeasureError::file(path))
}

/// Writes results as JSON.
pub fn write_json(path: &Path, results: &impl Serialize) -> Result<(), MeasureError> {
    let text = serde_json::to_string_pretty(results).expect("results hold strings, lists and finite numbers only");
    write(path, &(text + "\n"))
}

/// Writes results to a file, if there is to be one, and says where.
pub fn write_results(output: Option<&Path>, results: &impl Serialize) -> Result<(), MeasureError> {
    if let Some(path) = output {
        write_json(path, results)?;
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_removed_unless_it_is_kept() {
        let gone = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let path = gone.path("");
        drop(gone);
        assert!(!path.exists());
        let mut kept = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let path = kept.keep();
        drop(kept);
        assert!(path.join("load-rs.lua").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
