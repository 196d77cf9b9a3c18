//! Where the files come from that policies name: the file system, or what was captured of it for a revision.
//!
//! A policy file and what a person runs read the file system. The documents of a gateway do not: a revision means the
//! contents that its files had when it was accepted, in each worker and after each restart. Documents of the kind
//! `files` say what they were ([`CapturedFile`]); the contents are objects in a directory that workers may search but
//! not list, opened through a descriptor of the process that started them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use weir_gateway::Documents;
use weir_gateway::resource::{CapturedFile, ResourceKind, Sha256Hash};
use weir_rules::confined;
pub use weir_rules::seclang::Disk;
use weir_rules::seclang::{Files, plain};

/// Files and folders that policies read.
pub trait FileSource: Files {
    /// The whole content of a regular file of at most so many bytes.
    ///
    /// # Errors
    /// If it is no such file, or cannot be read.
    fn content(&self, path: &Path, max_bytes: u64) -> io::Result<Content>;

    /// The hash of a file's content, if it is known without reading the file.
    fn known_hash(&self, path: &Path, max_bytes: u64) -> Option<Sha256Hash>;

    /// Whether it is there and a regular file.
    fn is_file(&self, path: &Path) -> bool;

    /// Notes which files a document depends on, by the position of the document.
    fn note(&self, document: usize, paths: &Arc<[PathBuf]>) {
        let _ = (document, paths);
    }
}

/// Whether a name is a URL, whose content only control gets.
#[must_use]
pub fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.starts_with("https://") || name.starts_with("http://"))
}

/// The content of a file: read, or mapped and shared with other processes.
#[derive(Debug)]
pub enum Content {
    /// In memory of this process.
    Read(Vec<u8>),
    /// A mapped object. Objects never change: they are made under another name, and their directory belongs to control.
    Mapped(Mmap),
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl FileSource for Disk {
    fn content(&self, path: &Path, max_bytes: u64) -> io::Result<Content> {
        if is_url(path) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "only `weir control` downloads"));
        }
        let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX - 1);
        self.read(path, limit).map(Content::Read)
    }

    fn known_hash(&self, _path: &Path, _max_bytes: u64) -> Option<Sha256Hash> {
        None
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }
}

/// Captures a file or folder that was not captured yet, or says why not.
pub type Capture<'c> = dyn Fn(&Path, u64) -> io::Result<CapturedFile> + 'c;

/// What was captured.
pub struct Captured<'c> {
    files: RefCell<HashMap<PathBuf, Result<CapturedFile, String>>>,
    objects: Option<BorrowedFd<'c>>,
    capture: Option<&'c Capture<'c>>,
    uses: RefCell<Vec<(usize, Arc<[PathBuf]>)>>,
}

impl std::fmt::Debug for Captured<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Captured").field("files", &self.files.borrow().len()).finish_non_exhaustive()
    }
}

impl<'c> Captured<'c> {
    /// The files of a gateway's documents, with the directory of their contents. What is not among them is not there,
    /// unless `capture` gets it.
    #[must_use]
    pub fn new(documents: &Documents, objects: Option<BorrowedFd<'c>>, capture: Option<&'c Capture<'c>>) -> Self {
        let files = documents.iter().filter(|(kind, _)| *kind == ResourceKind::Files);
        let parsed = files.filter_map(|(_, document)| serde_json::from_str::<CapturedFile>(&document.json).ok());
        let files = parsed.map(|file| (PathBuf::from(&file.path), Ok(file))).collect();
        Self { files: RefCell::new(files), objects, capture, uses: RefCell::default() }
    }

    /// What each document depends on: its position among the documents, and paths.
    #[must_use]
    pub fn into_uses(self) -> Vec<(usize, Arc<[PathBuf]>)> {
        self.uses.into_inner()
    }

    fn file(&self, path: &Path, max_bytes: u64) -> io::Result<CapturedFile> {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone().map_err(io::Error::other);
        }
        let Some(capture) = self.capture else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it was not captured"));
        };
        let found = capture(path, max_bytes);
        let kept = found.as_ref().map(Clone::clone).map_err(ToString::to_string);
        self.files.borrow_mut().insert(path.to_owned(), kept);
        found
    }

    fn open(&self, path: &Path, max_bytes: u64) -> io::Result<Content> {
        let file = self.file(path, max_bytes)?;
        if file.size > max_bytes {
            return Err(confined::too_large(max_bytes));
        }
        let Some(objects) = self.objects else { return Err(io::Error::other("there is no directory of contents")) };
        let name = file.sha256.to_string();
        let lost =
            |error: io::Error| io::Error::new(error.kind(), format!("its content {name} cannot be read: {error}"));
        let object = open_at(objects, &name).map_err(lost)?;
        if object.metadata().map_err(lost)?.len() != file.size {
            return Err(io::Error::other(format!("its content {name} is damaged")));
        }
        if file.size == 0 {
            return Ok(Content::Read(Vec::new()));
        }
        // SAFETY: objects are complete before they get their name, and are never written or cut afterwards.
        let map = unsafe { Mmap::map(&object) }.map_err(lost)?;
        if Sha256Hash::of(&map) != file.sha256 {
            return Err(io::Error::other(format!("its content {name} is damaged")));
        }
        Ok(Content::Mapped(map))
    }
}

/// A file has one name, without `.` and `..`. That `..` leads elsewhere behind a symbolic link does not matter: captured
/// and read are what the path without it names.
impl Files for Captured<'_> {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        self.open(&plain(path), limit as u64).map(|content| content.to_vec())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let text = self.open(&listing(directory), MAX_LISTING_BYTES)?;
        let text = String::from_utf8_lossy(&text);
        Ok(text.lines().map(|name| name.strip_suffix('/').unwrap_or(name).to_owned()).collect())
    }

    fn identity(&self, path: &Path) -> PathBuf {
        plain(path)
    }
}

impl FileSource for Captured<'_> {
    fn content(&self, path: &Path, max_bytes: u64) -> io::Result<Content> {
        self.open(&captured_as(path), max_bytes)
    }

    fn known_hash(&self, path: &Path, max_bytes: u64) -> Option<Sha256Hash> {
        self.file(&captured_as(path), max_bytes).ok().map(|file| file.sha256)
    }

    fn is_file(&self, path: &Path) -> bool {
        let path = plain(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let listed = self.open(&listing(folder), MAX_LISTING_BYTES);
        listed.is_ok_and(|text| text.split(|byte| *byte == b'\n').any(|line| line == name.as_encoded_bytes()))
    }

    fn note(&self, document: usize, paths: &Arc<[PathBuf]>) {
        // As they were captured: hardly ever another name.
        let captured = |path: &PathBuf| match path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            true => listing(path),
            false => captured_as(path),
        };
        let is_captured = paths.iter().all(|path| captured(path).as_os_str() == path.as_os_str());
        let paths = if is_captured { Arc::clone(paths) } else { paths.iter().map(captured).collect() };
        self.uses.borrow_mut().push((document, paths));
    }
}

/// The name under which a file, or what is at a URL, is captured.
fn captured_as(path: &Path) -> PathBuf {
    if is_url(path) { path.to_owned() } else { plain(path) }
}

/// Longest listing of a folder: 10,000 names of 255 bytes.
pub const MAX_LISTING_BYTES: u64 = 10_000 * 256;

/// The name under which a folder's listing is captured.
#[must_use]
pub fn listing(folder: &Path) -> PathBuf {
    let mut path = plain(folder).into_os_string();
    if !path.as_encoded_bytes().ends_with(b"/") {
        path.push("/");
    }
    path.into()
}

/// Opens a file of a directory, which the process may only be allowed to search.
fn open_at(directory: BorrowedFd<'_>, name: &str) -> io::Result<File> {
    let name = CString::new(name)?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the directory is open, and `name` is a C string that lives over the call.
    let fd = unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` is open and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    fn captured(path: &str, content: &[u8], folder: &Path) -> CapturedFile {
        let file = CapturedFile { path: path.into(), sha256: Sha256Hash::of(content), size: content.len() as u64 };
        std::fs::write(folder.join(file.sha256.to_string()), content).unwrap();
        file
    }

    #[test]
    fn what_is_not_a_regular_file_is_named_and_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, socket, large] = ["pipe", "socket", "large"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        File::create(&large).and_then(|file| file.set_len(2 << 30)).unwrap(); // sparse
        for (path, expected) in [
            (folder.path(), "it is a directory, not a regular file"),
            (&pipe, "it is a named pipe, not a regular file"),
            (&socket, "it is a socket, not a regular file"),
            (Path::new("/dev/null"), "it is a device, not a regular file"),
            (&large, "it is larger than 1000 bytes"),
            (&folder.path().join("none"), "no such file or directory"),
        ] {
            let error = Disk.content(path, 1000).unwrap_err();
            assert_eq!(confined::reason(&error), expected, "{}", path.display());
        }
    }

    #[test]
    fn what_was_captured_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut documents = Documents::default();
        for file in [
            captured("/r/a.conf", b"SecRuleEngine On\n", folder.path()),
            captured("/r/", b"a.conf\nsub/\n", folder.path()),
            captured("/r/empty", b"", folder.path()),
        ] {
            documents.set(ResourceKind::Files, &file.id(), Some((file.document(), 1)));
        }
        let objects = File::open(folder.path()).unwrap();
        let files = Captured::new(&documents, Some(objects.as_fd()), None);
        assert_eq!(files.read(Path::new("/r/sub/../a.conf"), 100).unwrap(), b"SecRuleEngine On\n");
        assert_eq!(files.list(Path::new("/r")).unwrap(), ["a.conf", "sub"]);
        assert!(files.is_file(Path::new("/r/a.conf")) && !files.is_file(Path::new("/r/sub")));
        assert!(files.content(Path::new("/r/empty"), 0).unwrap().is_empty());
        assert!(files.read(Path::new("/r/a.conf"), 3).unwrap_err().to_string().contains("larger than 3 bytes"));
        assert!(files.read(Path::new("/etc/hostname"), 100).unwrap_err().to_string().contains("not captured"));
        let name = Sha256Hash::of(b"SecRuleEngine On\n").to_string();
        std::fs::write(folder.path().join(&name), "SecRuleEngine No\n").unwrap();
        let error = files.read(Path::new("/r/a.conf"), 100).unwrap_err().to_string();
        assert!(error.contains(&name) && error.contains("damaged"), "{error}");
        std::fs::remove_file(folder.path().join(&name)).unwrap();
        assert!(files.read(Path::new("/r/a.conf"), 100).unwrap_err().to_string().contains(&name));
    }

    #[test]
    fn dependencies_have_the_names_that_were_captured() {
        let files = Captured::new(&Documents::default(), None, None);
        let paths: Arc<[PathBuf]> = ["/r/sub/../a.conf", "/r/sub/../", "/r/b.conf"].map(PathBuf::from).into();
        files.note(3, &paths);
        let (document, noted) = files.into_uses().remove(0);
        let noted: Vec<&str> = noted.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!((document, noted), (3, vec!["/r/a.conf", "/r/", "/r/b.conf"]));
    }

    #[test]
    fn what_is_new_is_captured_once() {
        let folder = tempfile::tempdir().unwrap();
        let asked = RefCell::new(Vec::new());
        let capture = |path: &Path, _: u64| {
            asked.borrow_mut().push(path.to_owned());
            match path.to_str() {
                Some("/a") => Ok(captured("/a", b"x", folder.path())),
                _ => Err(io::Error::from(io::ErrorKind::NotFound)),
            }
        };
        let objects = File::open(folder.path()).unwrap();
        let files = Captured::new(&Documents::default(), Some(objects.as_fd()), Some(&capture));
        for _ in 0..2 {
            assert_eq!(files.read(Path::new("/a"), 9).unwrap(), b"x");
            assert!(files.read(Path::new("/b"), 9).is_err());
        }
        assert_eq!(*asked.borrow(), [Path::new("/a"), Path::new("/b")]);
    }
}
