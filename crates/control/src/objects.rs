//! Contents of the files that documents name, as captured when a revision was accepted.
//!
//! A file is read once, by control, into `state/objects/SHA256`, which is on disk before the revision that needs it is
//! stored. For workers it is published as `objects/SHA256` in the runtime directory, by a link, or by a copy on another
//! file system. Workers may search that directory, not list it, and open it through a descriptor that nginx's master has
//! opened, so neither a changed file nor a deleted one, nor permissions of their user, can make a worker see anything
//! else than what was accepted.
//!
//! A file that has not changed since it was read (device, inode, size, both times) is not read again.
//!
//! Private keys are objects as well, which only control reads (mode 0600): they are never published, and no other kind of
//! file may have one in it, so that a key does not come out as the lines of a list.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use weir_gateway::resource::{CapturedFile, Sha256Hash};
use weir_policy::confined;
use weir_policy::files::{MAX_LISTING_BYTES, is_url};
use weir_policy::table::form::MAX_PEM_BYTES;

mod pem;
mod url;

use crate::fetch;

use pem::Pem;

/// The name of both directories.
pub const NAME: &str = "objects";
/// Revisions that changed files and can be rolled back.
pub const KEPT_FILE_REVISIONS: i64 = 20;
/// Bytes of replaced contents that are kept at most; the newest ones are.
pub const KEPT_FILE_BYTES: u64 = 1 << 30;
/// How often a file is read that changes while it is read.
const ATTEMPTS: u32 = 3;
/// The time between two of these attempts.
const BETWEEN: Duration = Duration::from_millis(20);
/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;
/// Entries of a folder that are listed at most.
const MAX_ENTRIES: usize = 10_000;
/// A file that changed more recently than this before it was read may change again without another time: coarse clocks
/// of file systems tick every two seconds.
const SETTLED: Duration = Duration::from_secs(2);

/// Directories of certificates, below which the files of certificates may be, and no others.
const CERTIFICATES: [&str; 2] = ["/etc/letsencrypt", "/etc/ssl"];

/// What a file is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Lists, rules, geographic data: for workers.
    Data,
    /// A certificate and its intermediates.
    Chain,
    /// A private key.
    Key,
    /// A secret of a consumer.
    Secret,
}

impl Purpose {
    const fn mode(self) -> u32 {
        match self {
            Self::Data | Self::Chain => 0o444,
            Self::Key | Self::Secret => 0o600,
        }
    }
}

/// The objects of a gateway.
#[derive(Debug)]
pub struct Objects {
    kept: PathBuf,
    public: PathBuf,
    /// Directories below which files may be, and those below which files of certificates may be.
    allowed: Option<[Vec<PathBuf>; 2]>,
    seen: Mutex<HashMap<(PathBuf, Purpose), (Stamp, CapturedFile)>>,
    next: AtomicU64,
    held: Arc<()>,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file, or of a folder.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|about| Self::from(&about))
    }
}

impl From<&Metadata> for Stamp {
    fn from(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Objects {
    /// The objects below a state directory, published below a runtime directory; both are made if need be. Files may be
    /// captured below the directories of `allowed`, or anywhere if there are none.
    ///
    /// # Errors
    /// If a directory cannot be made.
    pub fn open(state: &Path, runtime: &Path, allowed: &[PathBuf]) -> io::Result<Self> {
        let (kept, public) = (state.join(NAME), runtime.join(NAME));
        DirBuilder::new().recursive(true).mode(0o700).create(&kept)?;
        make_public(&public)?;
        let (kept, public) = (kept.canonicalize()?, public.canonicalize()?);
        for dir in [&kept, &public] {
            for entry in fs::read_dir(dir)?.flatten() {
                // What a killed process has left unfinished.
                if entry.file_name().as_encoded_bytes().starts_with(b".") {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
        let canonical = |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let of_certificates: Vec<PathBuf> = allowed.iter().cloned().chain(CERTIFICATES.map(PathBuf::from)).collect();
        let allowed = (!allowed.is_empty()).then(|| [canonical(allowed), canonical(&of_certificates)]);
        Ok(Self { kept, public, allowed, seen: Mutex::default(), next: AtomicU64::new(0), held: Arc::default() })
    }

    /// The directory of the objects that are kept.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.kept
    }

    /// Captures a file, a folder if the path ends in `/`, or what is at a URL.
    ///
    /// # Errors
    /// If it cannot be read, is not a regular file, is too large, lies outside of the allowed directories, has a private
    /// key in it, or changes again and again while it is read; or if the object cannot be stored.
    pub fn capture(&self, path: &Path, max_bytes: u64) -> io::Result<CapturedFile> {
        self.capture_for(Purpose::Data, path, max_bytes)
    }

    /// Captures a file of a certificate.
    ///
    /// # Errors
    /// As [`Objects::capture`]; also if it is not PEM.
    pub fn capture_pem(&self, purpose: Purpose, path: &Path) -> io::Result<CapturedFile> {
        self.capture_for(purpose, path, MAX_PEM_BYTES as u64)
    }

    fn capture_for(&self, purpose: Purpose, path: &Path, max_bytes: u64) -> io::Result<CapturedFile> {
        let name = path.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8"))?;
        if purpose == Purpose::Data && is_url(path) {
            let captured = self.store(purpose, name, &mut fetch::get(name)?.as_slice(), fetch::MAX_FETCHED_BYTES)?;
            self.remember(&captured);
            return Ok(captured);
        }
        if !path.is_absolute() {
            return Err(io::Error::other("its path is not absolute"));
        }
        if name.ends_with('/') && purpose == Purpose::Data {
            let listing = self.listing(path)?;
            return self.store(purpose, name, &mut listing.as_slice(), MAX_LISTING_BYTES);
        }
        let mut changing = io::Error::other("it changes while it is read");
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(BETWEEN);
            }
            let mut file = confined::open_within(path, self.allowed(purpose))?;
            let about = confined::regular(&file)?;
            if about.len() > max_bytes {
                return Err(confined::too_large(max_bytes));
            }
            let before = Stamp::from(&about);
            if let Some(known) = self.known(purpose, path, before) {
                return Ok(known);
            }
            // The time of a file ticks every few milliseconds: a writer that is at it may not show by it.
            if about.modified().is_ok_and(|modified| modified.elapsed().is_ok_and(|since| since < BETWEEN)) {
                std::thread::sleep(BETWEEN);
                if Stamp::from(&file.metadata()?) != before {
                    continue;
                }
            }
            match self.store(purpose, name, &mut file, max_bytes) {
                Ok(captured) if Stamp::from(&file.metadata()?) == before && captured.size == before.size => {
                    if about.modified().is_ok_and(is_settled) {
                        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                        seen.insert((path.to_owned(), purpose), (before, captured.clone()));
                    }
                    return Ok(captured);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => changing = error,
                Err(error) => return Err(error),
            }
        }
        Err(changing)
    }

    fn allowed(&self, purpose: Purpose) -> Option<&[PathBuf]> {
        self.allowed.as_ref().map(|allowed| allowed[usize::from(purpose != Purpose::Data)].as_slice())
    }

    /// What was captured of a file that has not changed since.
    fn known(&self, purpose: Purpose, path: &Path, stamp: Stamp) -> Option<CapturedFile> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, file) = seen.get(&(path.to_owned(), purpose))?;
        (*known == stamp && self.has(file)).then(|| file.clone())
    }

    /// Whether the content of a file is kept.
    #[must_use]
    pub fn has(&self, file: &CapturedFile) -> bool {
        fs::metadata(self.kept.join(file.sha256.to_string())).is_ok_and(|about| about.len() == file.size)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// If it is not kept, or damaged.
    pub fn read(&self, file: &CapturedFile) -> io::Result<Vec<u8>> {
        let content = fs::read(self.kept.join(file.sha256.to_string()))?;
        if Sha256Hash::of(&content) != file.sha256 {
            return Err(io::Error::other(format!("the content {} of {} is damaged", file.sha256, file.path)));
        }
        Ok(content)
    }

    /// A content of a certificate, or a private key, as text.
    #[must_use]
    pub fn text(&self, hash: Sha256Hash) -> Option<String> {
        let content = fs::read(self.kept.join(hash.to_string())).ok()?;
        (Sha256Hash::of(&content) == hash).then(|| String::from_utf8(content).ok())?
    }

    /// A private key that is kept.
    #[must_use]
    pub fn private_key(&self, hash: Sha256Hash) -> Option<String> {
        let about = fs::metadata(self.kept.join(hash.to_string())).ok()?;
        (about.mode() & 0o777 == Purpose::Key.mode()).then(|| self.text(hash))?
    }

    /// Entries of a folder, a line for each.
    fn listing(&self, folder: &Path) -> io::Result<Vec<u8>> {
        confined::open_within(folder, self.allowed(Purpose::Data))?;
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)?.take(MAX_ENTRIES) {
            let entry = entry?;
            let Ok(mut name) = entry.file_name().into_string() else { continue };
            match fs::metadata(entry.path()) {
                Ok(about) if about.is_dir() => name.push('/'),
                Ok(about) if about.is_file() => {}
                _ => continue,
            }
            if !name.contains('\n') {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names.iter().flat_map(|name| name.bytes().chain([b'\n'])).collect())
    }

    /// Stores a content under its hash. When this returns, it is on disk.
    fn store(
        &self,
        purpose: Purpose,
        path: &str,
        content: &mut dyn io::Read,
        max_bytes: u64,
    ) -> io::Result<CapturedFile> {
        let new = self.temporary(&self.kept);
        let stored = self.store_as(&new, (purpose, path), content, max_bytes);
        if stored.is_err() {
            let _ = fs::remove_file(&new);
        }
        stored
    }

    fn store_as(
        &self,
        new: &Path,
        (purpose, path): (Purpose, &str),
        content: &mut dyn io::Read,
        max: u64,
    ) -> io::Result<CapturedFile> {
        let mut file = File::options().write(true).create_new(true).mode(purpose.mode()).open(new)?;
        let (mut hash, mut size, mut chunk) = (Sha256::new(), 0u64, vec![0; CHUNK.min(max as usize + 1)]);
        let mut pem = Pem::new(purpose);
        loop {
            match content.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => {
                    size += length as u64;
                    if size > max {
                        let message = format!("it is larger than {max} bytes");
                        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
                    }
                    pem.read(&chunk[..length])?;
                    hash.update(&chunk[..length]);
                    file.write_all(&chunk[..length])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        pem.end()?;
        let captured = CapturedFile { path: path.to_owned(), sha256: Sha256Hash(hash.finalize().into()), size };
        if self.has(&captured) {
            fs::remove_file(new)?;
            return Ok(captured);
        }
        file.set_permissions(PermissionsExt::from_mode(purpose.mode()))?;
        file.sync_all()?;
        fs::rename(new, self.kept.join(captured.sha256.to_string()))?;
        File::open(&self.kept)?.sync_all()?;
        Ok(captured)
    }

    /// Publishes contents for workers.
    ///
    /// # Errors
    /// If one of them is not kept or cannot be published.
    pub fn publish<'f>(&self, files: impl IntoIterator<Item = &'f CapturedFile>) -> io::Result<()> {
        make_public(&self.public)?;
        for file in files {
            let name = file.sha256.to_string();
            let (from, to) = (self.kept.join(&name), self.public.join(&name));
            if fs::metadata(&to).is_ok_and(|about| about.len() == file.size) {
                continue;
            }
            let new = self.temporary(&self.public);
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.path));
            if fs::hard_link(&from, &new).is_err() {
                let _ = fs::remove_file(&new);
                fs::copy(&from, &new)
                    .and_then(|_| fs::set_permissions(&new, PermissionsExt::from_mode(0o444)))
                    .map_err(|error| {
                        let _ = fs::remove_file(&new);
                        named(error)
                    })?;
            }
            fs::rename(&new, &to).map_err(named)?;
            // Of two names of one file, rename(2) keeps both.
            let _ = fs::remove_file(&new);
        }
        Ok(())
    }

    /// Compares contents with their hashes. A damaged or missing one is taken again from its source, if that still has
    /// the content; otherwise it is removed and named.
    pub fn verify<'f>(&self, files: impl IntoIterator<Item = &'f CapturedFile>) -> Vec<String> {
        self.verify_for(files.into_iter().map(|file| (Purpose::Data, file)))
    }

    /// As [`Objects::verify`], of files with what they were read for.
    pub fn verify_for<'f>(&self, files: impl IntoIterator<Item = (Purpose, &'f CapturedFile)>) -> Vec<String> {
        let mut lost = Vec::new();
        for (purpose, file) in files {
            let name = file.sha256.to_string();
            let whole = |dir: &Path| hash_of(&dir.join(&name)).is_ok_and(|hash| hash == file.sha256);
            if whole(&self.kept) {
                if self.public.join(&name).exists() && !whole(&self.public) {
                    let _ = fs::remove_file(self.public.join(&name));
                }
                continue;
            }
            let _ = fs::remove_file(self.kept.join(&name));
            let max_bytes = if purpose == Purpose::Data { file.size } else { MAX_PEM_BYTES as u64 };
            let again = self.capture_for(purpose, Path::new(&file.path), max_bytes);
            let recovered = again.is_ok_and(|again| again.sha256 == file.sha256);
            if !recovered && whole(&self.public) {
                let from = File::open(self.public.join(&name));
                let stored = from.and_then(|mut from| self.store(purpose, &file.path, &mut from, max_bytes));
                if stored.is_ok() {
                    continue;
                }
            }
            let _ = fs::remove_file(self.public.join(&name));
            if !recovered {
                lost.push(format!(
                    "the content of {} ({name}) is missing or damaged, and the file is another",
                    file.path
                ));
            }
        }
        lost
    }

    /// Keeps all objects until what is returned is dropped.
    #[must_use]
    pub fn hold(&self) -> Arc<()> {
        Arc::clone(&self.held)
    }

    /// All objects that are kept.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn all(&self) -> io::Result<Vec<Sha256Hash>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.kept)? {
            all.extend(entry?.file_name().to_str().and_then(|name| name.parse::<Sha256Hash>().ok()));
        }
        all.sort_unstable();
        Ok(all)
    }

    /// Moves a file with this content here, from the same file system, if it is not here yet. It is on disk already.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn adopt(&self, file: &Path, hash: Sha256Hash) -> io::Result<()> {
        let kept = self.kept.join(hash.to_string());
        if hash_of(&kept).is_ok_and(|known| known == hash) {
            return Ok(());
        }
        fs::rename(file, kept)?;
        File::open(&self.kept)?.sync_all()
    }

    /// Deletes all objects but these. False if some are held.
    #[must_use]
    pub fn keep_only(&self, kept: &HashSet<Sha256Hash>, published: &HashSet<Sha256Hash>) -> bool {
        if Arc::strong_count(&self.held) > 1 {
            return false;
        }
        for (dir, wanted) in [(&self.kept, kept), (&self.public, published)] {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let hash = name.to_str().and_then(|name| name.parse::<Sha256Hash>().ok());
                if hash.is_some_and(|hash| !wanted.contains(&hash)) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
        true
    }

    fn temporary(&self, dir: &Path) -> PathBuf {
        dir.join(format!(".new-{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Makes the directory from which workers read: they may search it, not list it.
fn make_public(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o711).create(dir)?;
    fs::set_permissions(dir, PermissionsExt::from_mode(0o711))
}

/// Whether a file last changed so long ago that another change would have another time.
fn is_settled(modified: SystemTime) -> bool {
    modified.elapsed().is_ok_and(|since| since > SETTLED)
}

/// The hash of a file.
pub(crate) fn hash_of(path: &Path) -> io::Result<Sha256Hash> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(Sha256Hash(hash.finalize().into()))
}

#[cfg(test)]
mod tests;
