//! Files for a gateway, as `weir apply` and `weir check` take them: found, read and put together.

use std::path::{Path, PathBuf};

use weir_policy::PolicyError;
use weir_resource::{State, parse_state};

use crate::{Failure, body};

/// Extensions of the files that are read of a directory.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];

/// The documents of all files, or what is wrong in them. The same resource in two of them is an error.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Result<State, Vec<PolicyError>>, Failure> {
    let mut all = State::default();
    let mut errors = Vec::new();
    for path in files(paths)? {
        let text = if path == Path::new("-") { body::standard_input()? } else { body::file(&path)? };
        if let Err(faults) = parse_state(&text, &path).and_then(|state| all.merge(state)) {
            errors.extend(faults.errors().iter().cloned());
        }
    }
    Ok(if errors.is_empty() { Ok(all) } else { Err(errors) })
}

/// Directories stand for their files, by name.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        let known = |path: &PathBuf| path.extension().is_some_and(|one| EXTENSIONS.iter().any(|known| one == *known));
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(known).collect();
        if found.is_empty() {
            return Err(Failure::new(format!("{}: no file ends in {}", path.display(), EXTENSIONS.join(", "))));
        }
        found.sort();
        all.append(&mut found);
    }
    Ok(all)
}
