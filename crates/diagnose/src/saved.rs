//! Facts in a file, so that a diagnosis can be repeated: by newer rules, on another machine, in a test.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use weir_profile::format::{self, FormatError};

use crate::facts::Facts;

/// The first bytes of a file of facts, with which no profile begins.
const MARK: &[u8] = br#"{"weir_facts":"#;
/// Version of the file format. New fields do not need a new version: they are read as missing.
const VERSION: u32 = 1;

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// A damaged file of facts.
    #[error("the saved facts are damaged: {0}")]
    Broken(#[from] serde_json::Error),
    /// The file is from a newer version of Weir.
    #[error("these facts are from a newer version of Weir ({found}; this one reads up to {VERSION})")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Neither a file of facts nor a profile.
    #[error(transparent)]
    Profile(#[from] FormatError),
}

#[derive(Serialize)]
struct Saving<'f> {
    weir_facts: u32,
    facts: &'f Facts,
}

#[derive(Deserialize)]
struct Saved {
    weir_facts: u32,
    facts: Facts,
}

/// Writes facts as JSON.
///
/// # Errors
/// If they cannot be written.
pub fn save(facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Saving { weir_facts: VERSION, facts })?;
    out.write_all(b"\n")
}

/// Reads a file: saved facts, or a profile in any supported format, which then provides the only facts.
///
/// # Errors
/// If it is neither.
pub fn read(bytes: &[u8]) -> Result<Facts, SavedError> {
    if !bytes.starts_with(MARK) {
        return Ok(Facts::of_profile(format::read(bytes)?));
    }
    let saved: Saved = serde_json::from_slice(bytes)?;
    if saved.weir_facts > VERSION {
        return Err(SavedError::Newer { found: saved.weir_facts });
    }
    Ok(saved.facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again() {
        let facts = Facts { seconds: 2.5, requests: Some(7), remarks: vec!["no privilege".into()], ..Facts::default() };
        let mut bytes = Vec::new();
        save(&facts, &mut bytes).expect("writes to memory");
        assert_eq!(read(&bytes).expect("reads"), facts);
    }

    #[test]
    fn a_profile_alone_is_a_file_too() {
        let facts = read(b"nginx;main;work 7\n").expect("folded");
        assert_eq!(facts.profile.expect("a profile").total(), 7);
    }

    #[test]
    fn what_is_neither_is_refused_with_a_reason() {
        let cases: [(&[u8], &str); 3] = [
            (br#"{"weir_facts":1,"facts":{"seconds":"#, "damaged"),
            (br#"{"weir_facts":99,"facts":{}}"#, "newer version"),
            (b"\x00\x01\x02", ""),
        ];
        for (bytes, want) in cases {
            let error = read(bytes).expect_err("is refused").to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
