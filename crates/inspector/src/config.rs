//! The configuration: a YAML document that is checked like Weir's other documents, so that every error has its place.
//!
//! One table of keys is the source of the checks, their messages and the hints. Expressions are parsed here; policies that
//! detectors name are loaded by the detectors themselves, because they are read again when they change.

mod build;
mod detector;
mod model;
mod table;

use std::path::Path;

use weir_policy::PolicyErrors;

pub use model::{
    Address, Config, Counter, CountersConfig, DetectorConfig, ExtAuthzConfig, Limit, MAX_COUNTERS, MAX_DETECTORS,
    MAX_TENANTS, PolicyConfig, RedisConfig, RiskConfig, Secret, StoreConfig, TlsFiles,
};

/// The reference page of the configuration, in Markdown; `weir docs` writes it.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Inspector service reference\n\n<!-- Made by `weir docs` from the table in crates/inspector; do not edit. -->\n\n\
         The configuration of `weir inspector`; see the [guide](../inspector-service.md). Times are written as `250ms`, \
         `5s`, `1m`, `1h`, `1d`.\n",
    );
    table::ALL.into_iter().for_each(|resource| weir_policy::reference::section(&mut page, "##", resource));
    page
}

impl Config {
    /// Reads the configuration.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, PolicyErrors> {
        Self::parse(&weir_policy::read_text(path)?, path)
    }

    /// As [`Self::load`], and reads all that the configuration names: policies, secrets, certificates.
    ///
    /// # Errors
    /// Everything that is wrong with it, or with what it names.
    pub fn examine(path: &Path) -> Result<Self, PolicyErrors> {
        build::parse(&weir_policy::read_text(path)?, path, true)
    }

    /// As [`Self::load`], from a text; `path` is for messages, and relative names of files begin in its folder.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PolicyErrors> {
        build::parse(text, path, false)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
