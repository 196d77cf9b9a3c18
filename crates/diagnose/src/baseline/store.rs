//! The directory of baselines, with one gzip'd file for each.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::facts::Facts;
use crate::saved::{self, SavedError};

/// File name suffix.
const ENDING: &str = ".weir-facts.json.gz";
/// Maximum length of a name.
const MAX_NAME: usize = 64;
/// Maximum size of a baseline, unpacked.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of listed baselines.
const MAX_LISTED: usize = 10_000;

/// An error concerning a baseline.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is invalid.
    #[error(
        "`{0}` is not a valid name: use at most {MAX_NAME} letters, digits, `.`, `_` and `-`, beginning with a letter or digit and not only digits"
    )]
    Name(String),
    /// It does not exist.
    #[error("there is no baseline `{name}` in {}", dir.display())]
    Missing {
        /// Its name.
        name: String,
        /// The searched directory.
        dir: PathBuf,
    },
    /// It already exists.
    #[error("baseline `{0}` already exists")]
    Exists(String),
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// The file is damaged.
    #[error("{}: {source}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The error.
        source: SavedError,
    },
}

/// An entry in the list of baselines.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BaselineEntry {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Time of writing, in milliseconds since 1970; 0 if unknown.
    pub written_ms: u64,
}

/// Baselines in a directory.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// A store in a directory, which is created on the first save.
    #[must_use]
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Saves facts atomically.
    ///
    /// # Errors
    /// If the name is invalid, the baseline exists and must not be replaced, or it cannot be written.
    pub fn save(&self, name: &str, facts: &Facts, replace: bool) -> Result<PathBuf, StoreError> {
        let path = self.path(name)?;
        if !replace && path.exists() {
            return Err(StoreError::Exists(name.to_owned()));
        }
        let file = |source| StoreError::File { path: path.clone(), source };
        fs::create_dir_all(&self.dir).map_err(file)?;
        let beside = self.dir.join(format!(".{name}.{}", std::process::id()));
        let written = write(&beside, facts).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.map_err(file)?;
        Ok(path)
    }

    /// Loads a baseline.
    ///
    /// # Errors
    /// If it does not exist, or cannot be read.
    pub fn load(&self, name: &str) -> Result<Facts, StoreError> {
        let path = self.path(name)?;
        let file = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => StoreError::Missing { name: name.to_owned(), dir: self.dir.clone() },
            _ => StoreError::File { path: path.clone(), source },
        };
        let packed = File::open(&path).map_err(file)?;
        let mut bytes = Vec::new();
        GzDecoder::new(packed).take(MAX_BYTES).read_to_end(&mut bytes).map_err(file)?;
        saved::read(&bytes).map_err(|source| StoreError::Broken { path, source })
    }

    /// Whether a baseline with this name exists.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.path(name).is_ok_and(|path| path.is_file())
    }

    /// Removes a baseline.
    ///
    /// # Errors
    /// If it does not exist, or cannot be removed.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name)?;
        fs::remove_file(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StoreError::Missing { name: name.to_owned(), dir: self.dir.clone() },
            _ => StoreError::File { path, source },
        })
    }

    /// All baselines, by name; empty if the directory does not exist.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<BaselineEntry>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::File { path: self.dir.clone(), source }),
        };
        let listed = entries.take(MAX_LISTED).filter_map(|entry| listed(&entry.ok()?.path()));
        let mut listed: Vec<BaselineEntry> = listed.collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(listed)
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
        let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
        // A number would be mistaken for a process.
        let number = name.chars().all(|character| character.is_ascii_digit());
        if !begins || number || name.len() > MAX_NAME || !name.chars().all(fits) {
            return Err(StoreError::Name(name.to_owned()));
        }
        Ok(self.dir.join(format!("{name}{ENDING}")))
    }
}

fn listed(path: &Path) -> Option<BaselineEntry> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let data = fs::metadata(path).ok()?;
    let written = data.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(BaselineEntry {
        name: name.to_owned(),
        path: path.to_owned(),
        bytes: data.len(),
        written_ms: u64::try_from(written.as_millis()).unwrap_or(0),
    })
}

fn write(path: &Path, facts: &Facts) -> io::Result<()> {
    let mut packed = GzEncoder::new(BufWriter::new(File::create(path)?), Compression::default());
    saved::save(facts, &mut packed)?;
    packed.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_listed_loaded_and_deleted() {
        let dir = tempfile::tempdir().expect("creates");
        let store = Store::at(dir.path().join("new"));
        assert_eq!(store.list().expect("empty"), []);
        let facts = Facts { seconds: 2.0, remarks: vec!["x".into()], ..Facts::default() };
        store.save("good-1.0", &facts, false).expect("saves");
        assert!(matches!(store.save("good-1.0", &facts, false), Err(StoreError::Exists(_))));
        store.save("good-1.0", &facts, true).expect("replaces");
        assert_eq!(store.load("good-1.0").expect("loads"), facts);
        assert_eq!(store.list().expect("lists").iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["good-1.0"]);
        assert_eq!(fs::read_dir(store.dir()).expect("reads").count(), 1);
        store.delete("good-1.0").expect("deletes");
        assert!(matches!(store.load("good-1.0"), Err(StoreError::Missing { .. })));
        assert!(matches!(store.delete("good-1.0"), Err(StoreError::Missing { .. })));
    }

    #[test]
    fn names_stay_in_the_directory() {
        let store = Store::at("/nowhere");
        for name in ["", "..", "a/b", ".a", "-a", "4711", "ä", "a b", &"x".repeat(65)] {
            assert!(matches!(store.load(name), Err(StoreError::Name(_))), "{name}");
        }
    }

    #[test]
    fn broken_files_are_said_to_be_broken() {
        let dir = tempfile::tempdir().expect("creates");
        let store = Store::at(dir.path());
        fs::write(dir.path().join(format!("a{ENDING}")), b"not gzip").expect("writes");
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"{\"weir_facts\":1,").expect("writes");
        fs::write(dir.path().join(format!("b{ENDING}")), packed.finish().expect("packs")).expect("writes");
        for name in ["a", "b"] {
            let error = store.load(name).expect_err("is broken").to_string();
            assert!(error.contains(ENDING), "{error}");
        }
    }
}
