//! The temporary directory of a run: generated data that all variants share, and a directory
//! of its own for each of them. It is removed at the end unless the caller keeps it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::addresses;
use crate::error::LabError;
use crate::placement::Placement;
use crate::policy;

/// Entries of the RS policy's address list.
pub const LIST_LENGTH: usize = 1_000;

/// Files of the Lua peers, as they lie in `bench/peers/lua`.
const LUA_FILES: &[(&str, &str)] = &[
    ("before/access.lua", include_str!("../../../bench/peers/lua/before/access.lua")),
    ("before/log.lua", include_str!("../../../bench/peers/lua/before/log.lua")),
    ("after/access.lua", include_str!("../../../bench/peers/lua/after/access.lua")),
    ("after/log.lua", include_str!("../../../bench/peers/lua/after/log.lua")),
    ("signature/access.lua", include_str!("../../../bench/peers/lua/signature/access.lua")),
];

/// What every variant of a run can rely on.
#[derive(Debug)]
pub struct Site {
    directory: tempfile::TempDir,
    /// Which core runs what.
    pub placement: Placement,
    /// Port of the origin.
    pub origin_port: u16,
    /// The module under test, if it has been built.
    pub module: Option<PathBuf>,
    /// Where nginx keeps its dynamic modules.
    pub module_directory: PathBuf,
}

impl Site {
    /// Makes the directory and the shared data.
    pub fn create(placement: Placement, module: Option<PathBuf>, module_directory: PathBuf) -> Result<Self, LabError> {
        let base = std::env::temp_dir();
        let directory = tempfile::Builder::new().prefix("weir-lab-").tempdir().map_err(LabError::file(base))?;
        let site = Self { directory, placement, origin_port: crate::port::free()?, module, module_directory };
        for (name, text) in crate::wrk::SCRIPTS {
            write(&site.path(name), text)?;
        }
        for (name, text) in LUA_FILES {
            write(&site.path("lua").join(name), text)?;
        }
        let listed = addresses::list(LIST_LENGTH);
        write(&site.path("lua/rules.lua"), &policy::lua_rules())?;
        write(&site.path("lua/blocked.lua"), &policy::lua_addresses(&listed))?;
        site.write_policy("rs", &policy::rs(), &listed)?;
        crate::geo::write_country_database(&site.country_database())?;
        Ok(site)
    }

    /// A path in the run's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The generated country database.
    #[must_use]
    pub fn country_database(&self) -> PathBuf {
        self.path("policy/rs").join(policy::COUNTRY_FILE)
    }

    /// Writes a policy and its list into a directory of their own; returns the policy's path.
    pub fn write_policy(&self, name: &str, text: &str, listed: &[Ipv4Addr]) -> Result<PathBuf, LabError> {
        let directory = self.path("policy").join(name);
        let list: String = listed.iter().map(|address| format!("{address}\n")).collect();
        write(&directory.join(policy::ADDRESS_FILE), &list)?;
        write(&directory.join("policy.yaml"), text)?;
        Ok(directory.join("policy.yaml"))
    }

    /// Path of a policy written before.
    #[must_use]
    pub fn policy(&self, name: &str) -> PathBuf {
        self.path("policy").join(name).join("policy.yaml")
    }

    /// Makes the directory of a variant.
    pub fn directory_of(&self, variant: &str) -> Result<PathBuf, LabError> {
        let path = self.path(variant);
        fs::create_dir_all(&path).map_err(LabError::file(&path))?;
        Ok(path)
    }

    /// Leaves the directory where it is when the run ends, and says where.
    pub fn keep(&mut self) -> PathBuf {
        self.directory.disable_cleanup(true);
        self.directory.path().to_owned()
    }
}

/// Writes a file and the directories above it.
pub fn write(path: &Path, text: &str) -> Result<(), LabError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(LabError::file(parent))?;
    }
    fs::write(path, text).map_err(LabError::file(path))
}

/// Writes results as JSON.
pub fn write_json(path: &Path, results: &impl Serialize) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(results).expect("results hold strings, lists and finite numbers only");
    write(path, &(text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_policy::Snapshot;

    #[test]
    fn weir_accepts_every_generated_policy_and_the_data_beside_it() {
        let site = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let others = [("rules", policy::many_rules(1_000), 1_000), ("list", policy::list_only(), 1)];
        for (name, text, _) in &others {
            site.write_policy(name, text, &addresses::list(10)).unwrap();
        }
        let all = others.iter().map(|(name, _, rules)| (*name, *rules)).chain([("rs", 42)]);
        for (name, rules) in all {
            let snapshot = Snapshot::load(&site.policy(name)).unwrap_or_else(|errors| panic!("{name}: {errors}"));
            assert_eq!(snapshot.rules().len(), rules, "{name}");
            assert!(snapshot.plan(&["rs"]).is_ok(), "{name}");
        }
    }

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
