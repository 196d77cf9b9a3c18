//! Reading a backup: as a whole and checked, or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use weir_gateway::resource::Sha256Hash;

use super::{BackupError, Entry, MANIFEST, MAX_MANIFEST_BYTES, Manifest, STORE, TemporaryDir};
use crate::objects;
use crate::store;

/// Checks a backup, without writing anything.
///
/// # Errors
/// If it cannot be read, or is not complete.
pub fn verify(backup: impl Read) -> Result<Manifest, BackupError> {
    each(backup, |_, content| io::copy(content, &mut io::sink()))
}

/// Writes the files of a backup into a directory; they are on disk when this returns.
///
/// # Errors
/// If it cannot be read or written, or is not complete. The directory may then contain some of the files.
pub fn unpack(backup: impl Read, into: &Path) -> Result<Manifest, BackupError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(into.join(objects::NAME))
        .map_err(BackupError::io(format!("make {}", into.display())))?;
    each(backup, |entry, content| {
        // Those of private keys are for nobody else.
        let mode = if entry.object().is_some() && entry.mode & 0o077 != 0 { 0o444 } else { 0o600 };
        let mut file = File::options().write(true).create_new(true).mode(mode).open(into.join(&entry.name))?;
        let length = io::copy(content, &mut file)?;
        file.flush()?;
        file.sync_all()?;
        Ok(length)
    })
}

/// Makes a state directory from a backup, with its history. There must be no state in it.
///
/// # Errors
/// If it has a state already, or belongs to a running control; or as [`unpack`].
pub fn install(backup: impl Read, state: &Path) -> Result<Manifest, BackupError> {
    let _locked = store::claim(state)?;
    let unpacked = TemporaryDir::new(state)?;
    let manifest = unpack(backup, unpacked.path())?;
    let _: store::Loaded = store::read_copy(&unpacked.path().join(STORE))?;
    let failed = || BackupError::io(format!("move the files of the backup to {}", state.display()));
    // The store last: without it, the directory still counts as empty.
    for entry in manifest
        .files
        .iter()
        .filter(|entry| entry.name != STORE)
        .chain(manifest.files.iter().filter(|entry| entry.name == STORE))
    {
        let to = state.join(&entry.name);
        let moved = to
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::rename(unpacked.path().join(&entry.name), &to));
        moved.map_err(failed())?;
    }
    let synced = [state.join(objects::NAME), state.to_owned()].iter().try_for_each(|dir| match File::open(dir) {
        Ok(dir) => dir.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    });
    synced.map_err(failed())?;
    Ok(manifest)
}

/// Calls `take` for each file of a backup. What is not in its manifest, or differs from it, is an error.
fn each(
    backup: impl Read,
    mut take: impl FnMut(&Entry, &mut dyn Read) -> io::Result<u64>,
) -> Result<Manifest, BackupError> {
    let mut archive = tar::Archive::new(backup);
    let invalid = |error: io::Error| match error.raw_os_error() {
        Some(_) => BackupError::Io { what: "read the backup".to_owned(), source: error },
        None => BackupError::Invalid(error.to_string()),
    };
    let mut entries = archive.entries().map_err(invalid)?;
    let first = entries.next().transpose().map_err(invalid)?;
    let missing = || BackupError::Invalid(format!("it does not begin with {MANIFEST}"));
    let first = first.filter(|entry| entry.path_bytes() == MANIFEST.as_bytes()).ok_or_else(missing)?;
    let mut text = Vec::new();
    first.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).map_err(invalid)?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| BackupError::Invalid(format!("{MANIFEST}: {error}")))?;
    manifest.check()?;
    for expected in &manifest.files {
        let wrong = |what: &str| BackupError::Invalid(format!("{} {what}", expected.name));
        let entry = entries.next().transpose().map_err(invalid)?.ok_or_else(|| wrong("is missing"))?;
        if entry.path_bytes() != expected.name.as_bytes() || !entry.header().entry_type().is_file() {
            return Err(wrong("is missing, or in another place"));
        }
        let mut hashed = Hashed { inner: entry, hash: Sha256::new(), size: 0 };
        take(expected, &mut hashed).map_err(|source| match source.raw_os_error() {
            Some(_) => BackupError::Io { what: format!("unpack {}", expected.name), source },
            None => BackupError::Invalid(format!("{}: {source}", expected.name)),
        })?;
        if hashed.size != expected.size || Sha256Hash(hashed.hash.finalize().into()) != expected.sha256 {
            return Err(wrong("is damaged or cut off"));
        }
    }
    match entries.next() {
        None => Ok(manifest),
        Some(_) => Err(BackupError::Invalid(format!("it has more files than {MANIFEST} names"))),
    }
}

struct Hashed<R> {
    inner: R,
    hash: Sha256,
    size: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hash.update(&buffer[..length]);
        self.size += length as u64;
        Ok(length)
    }
}
