//! Opening the files that policies name. A process that compiles what others have sent is confined to
//! some directories; nginx, and commands that a person runs, are not.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The directories, canonical; unset if the process is not confined.
static DIRECTORIES: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// `O_NONBLOCK`: opening a named pipe must not wait for a writer.
const NONBLOCK: i32 = 0o4000;
/// `ENXIO`: what opening a socket gives.
const NO_DEVICE: i32 = 6;

/// Confines the process to files and directories below these, for good. Directories that do not exist are left out.
pub fn confine(directories: &[PathBuf]) {
    let _ = DIRECTORIES.set(directories.iter().filter_map(|directory| directory.canonicalize().ok()).collect());
}

/// Opens a regular file or a directory for reading.
///
/// # Errors
/// If it cannot be opened, is neither, or is outside of the directories that the process is confined to. That is
/// decided by where the file was found, after it has been opened, so neither `..` nor a symbolic link that is exchanged
/// meanwhile leads out; links that stay below a directory (`live/` of certbot) work. `openat2` with `RESOLVE_BENEATH`
/// would decide the same, but a seccomp filter cannot see whether its caller wants to write.
pub fn open(path: &Path) -> io::Result<File> {
    open_within(path, DIRECTORIES.get().map(Vec::as_slice))
}

/// As [`open`], within these directories (canonical) and not those of the process; anywhere if there are none.
///
/// # Errors
/// As [`open`].
pub fn open_within(path: &Path, directories: Option<&[PathBuf]>) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path).map_err(|error| match path.metadata() {
            Ok(about) if error.raw_os_error() == Some(NO_DEVICE) => not_regular(about.file_type()),
            _ => error,
        })?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(not_regular(kind));
    }
    if let Some(directories) = directories {
        let place = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        if !directories.iter().any(|directory| place.starts_with(directory)) {
            return Err(io::Error::other(outside(directories)));
        }
    }
    Ok(file)
}

/// Opens a regular file of at most so many bytes for reading; it may grow later.
///
/// # Errors
/// As [`open`], and if it is a directory or larger.
pub fn open_file(path: &Path, max_bytes: u64) -> io::Result<(File, Metadata)> {
    let file = open(path)?;
    let about = regular(&file)?;
    if about.len() > max_bytes { Err(too_large(max_bytes)) } else { Ok((file, about)) }
}

/// What is to be known of an open regular file.
///
/// # Errors
/// If it is something else, which the error names.
pub fn regular(file: &File) -> io::Result<Metadata> {
    let about = file.metadata()?;
    if about.is_file() { Ok(about) } else { Err(not_regular(about.file_type())) }
}

/// A file has more bytes than may be read.
#[must_use]
pub fn too_large(max_bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max_bytes} bytes"))
}

/// The reason of an error for the middle of a sentence: without the system's number for it, and without a capital.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn not_regular(kind: FileType) -> io::Error {
    let (of, what) = match kind {
        _ if kind.is_dir() => (io::ErrorKind::IsADirectory, "a directory"),
        _ if kind.is_fifo() => (io::ErrorKind::Other, "a named pipe"),
        _ if kind.is_socket() => (io::ErrorKind::Other, "a socket"),
        _ => (io::ErrorKind::Other, "a device"),
    };
    io::Error::new(of, format!("it is {what}, not a regular file"))
}

fn outside(directories: &[PathBuf]) -> String {
    let list: Vec<String> = directories.iter().map(|directory| directory.display().to_string()).collect();
    format!("it is not below a directory of `weir control --files` ({})", list.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The only test of this crate that confines its process.
    #[test]
    fn only_files_below_the_directories_open() {
        let root = std::env::temp_dir().join(format!("weir-confined-{}", std::process::id()));
        for folder in ["in/live", "in/archive", "inside-not"] {
            std::fs::create_dir_all(root.join(folder)).expect("is made");
        }
        for file in ["in/archive/a.pem", "inside-not/secret"] {
            std::fs::write(root.join(file), "x").expect("is written");
        }
        symlink("../archive/a.pem", root.join("in/live/a.pem")).expect("is made");
        symlink("../../inside-not/secret", root.join("in/live/out")).expect("is made");
        let opens = |path: &str| open(&root.join(path)).is_ok();
        assert!(opens("inside-not/secret"), "not confined yet");
        confine(&[root.join("in"), root.join("missing")]);
        for (path, expected) in [
            ("in/archive/a.pem", true),
            ("in/live/a.pem", true),
            ("in/live", true),
            ("in/live/out", false),
            ("in/../inside-not/secret", false),
            ("inside-not/secret", false),
            ("inside-not", false),
            ("in/none", false),
        ] {
            assert_eq!(opens(path), expected, "{path}");
        }
        std::fs::remove_dir_all(&root).expect("is removed");
    }
}
