//! Making a backup of a state that is in use.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{BackupError, Entry, FORMAT, MANIFEST, Manifest, STORE, TOKENS, TemporaryDir};
use crate::objects::{self, Objects, hash_of};
use crate::store::{Copying, read_copy};

/// A state at one moment.
pub(crate) struct Source {
    pub state: PathBuf,
    pub store: Copying,
    pub objects: Arc<Objects>,
    /// Keeps contents from being deleted until the end.
    pub _held: Arc<()>,
    pub time_ms: u64,
}

/// Writes a backup.
pub(crate) fn write(source: &Source, out: impl Write) -> Result<Manifest, BackupError> {
    let copied = TemporaryDir::new(&source.state)?;
    let store = copied.path().join(STORE);
    source.store.write(&store)?;
    let revision = read_copy(&store)?.revision;
    let mut files = vec![entry(STORE, &store)?];
    let tokens = source.state.join(TOKENS);
    if tokens.exists() {
        let copy = copied.path().join(TOKENS);
        fs::copy(&tokens, &copy).map_err(BackupError::io(format!("copy {}", tokens.display())))?;
        files.push(entry(TOKENS, &copy)?);
    }
    for hash in source.objects.all().map_err(BackupError::io("list the contents of files"))? {
        let found = entry(&format!("{}/{hash}", objects::NAME), &source.objects.dir().join(hash.to_string()))?;
        // A damaged one is replaced or reported when control starts; a backup of it would be refused.
        if found.sha256 == hash {
            files.push(found);
        }
    }
    let weir = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { format: FORMAT, weir, revision, time_ms: source.time_ms, files };
    let mut archive = tar::Builder::new(out);
    let failed = |source| BackupError::Io { what: "write the backup".to_owned(), source };
    let text = serde_json::to_vec_pretty(&manifest).expect("texts and numbers can be written as JSON");
    append(&mut archive, MANIFEST, text.len() as u64, 0o600, source.time_ms, text.as_slice()).map_err(failed)?;
    for entry in &manifest.files {
        let path = match entry.object() {
            Some(hash) => source.objects.dir().join(hash.to_string()),
            None => copied.path().join(&entry.name),
        };
        let file = File::open(&path).map_err(BackupError::io(format!("open {}", path.display())))?;
        append(&mut archive, &entry.name, entry.size, entry.mode, source.time_ms, file).map_err(failed)?;
    }
    archive.into_inner().and_then(|mut out| out.flush()).map_err(failed)?;
    Ok(manifest)
}

fn entry(name: &str, path: &Path) -> Result<Entry, BackupError> {
    let look = || Ok((fs::metadata(path)?, hash_of(path)?));
    let (about, sha256) = look().map_err(BackupError::io(format!("read {}", path.display())))?;
    Ok(Entry { name: name.to_owned(), size: about.len(), sha256, mode: about.permissions().mode() & 0o777 })
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    size: u64,
    mode: u32,
    time_ms: u64,
    content: impl io::Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(time_ms / 1_000);
    archive.append_data(&mut header, name, content.take(size))
}
