//! The lock of a state directory: `flock` on a file of its own, which is never deleted.
//!
//! SQLite's lock is not enough: POSIX locks belong to a process and an inode, and are gone as soon as the process closes
//! *any* descriptor of the file. `flock` belongs to the open file, and holds across mount namespaces and bind mounts,
//! because it goes by the inode.
//!
//! On network file systems a mount may keep locks to itself (`nolock`, `local_lock`). There the owner writes a beat into
//! the file, and another host that finds the lock free waits whether it still beats.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Owner, StoreError};

/// The name of the file.
const NAME: &str = "lock";
/// Interval of beats on a network file system; others wait three of them.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// Largest content that is read.
const MAX_BYTES: u64 = 4 << 10;

/// The held lock; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    owner: Owner,
    /// The owner before, if there was one.
    pub before: Option<Owner>,
    /// Whether the directory is on a network file system.
    pub is_remote: bool,
}

impl Lock {
    /// Takes the lock of a directory.
    pub fn take(dir: &Path) -> Result<Self, StoreError> {
        let is_remote = is_remote(dir);
        Self::take_on(dir, is_remote, BEAT)
    }

    pub(super) fn take_on(dir: &Path, is_remote: bool, beat: Duration) -> Result<Self, StoreError> {
        let path = dir.join(NAME);
        let open = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = open.map_err(StoreError::io("open", &path))?;
        let busy = |owner: Option<Owner>| StoreError::Busy { dir: dir.to_owned(), owner };
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(busy(read(&mut file))),
            Err(std::fs::TryLockError::Error(error)) => return Err(StoreError::io("lock", &path)(error)),
        }
        let (owner, before) = (Owner::this(), read(&mut file));
        if let Some(other) = before.as_ref().filter(|other| is_remote && !other.clean && other.host != owner.host) {
            // Whether its host has died, or the file system lets both have the lock.
            std::thread::sleep(beat * 3);
            let now = File::open(&path).ok().and_then(|mut file| read(&mut file));
            if now.as_ref() != before.as_ref() {
                return Err(busy(Some(other.clone())));
            }
        }
        let mut lock = Self { file, path, owner, before, is_remote };
        lock.write()?;
        Ok(lock)
    }

    /// Whether the process before ended without writing everything, or nobody knows.
    pub fn was_unclean(&self) -> bool {
        self.before.as_ref().is_some_and(|before| !before.clean)
    }

    /// Shows other hosts that this process lives.
    pub fn beat(&mut self) {
        self.owner.beat += 1;
        // A full disk is reported by what has to be written.
        let _ = self.write();
    }

    /// Notes that everything is on disk.
    pub fn end(&mut self) {
        self.owner.clean = true;
        let _ = self.write();
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(&self.owner).expect("an owner can be written as JSON");
        text.push(b'\n');
        let mut write = || {
            self.file.rewind()?;
            self.file.write_all(&text)?;
            self.file.set_len(text.len() as u64)?;
            self.file.sync_data()
        };
        write().map_err(StoreError::io("write", &self.path))
    }
}

fn read(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether other hosts may have the directory mounted (statfs(2)): NFS, SMB, CIFS, Ceph, 9P, FUSE.
fn is_remote(dir: &Path) -> bool {
    const REMOTE: [i64; 7] = [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x517B, 0x00C3_6400, 0x0102_1997, 0x6573_5546];
    let Ok(dir) = File::open(dir) else { return false };
    // SAFETY: plain data, which the call fills.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `about` lives over the call.
    let known = unsafe { libc::fstatfs(dir.as_raw_fd(), &raw mut about) } == 0;
    known && REMOTE.contains(&(about.f_type & 0xFFFF_FFFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_host_that_beats_keeps_the_lock_of_a_network_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let foreign = |beat| {
            let owner = Owner { pid: 7, host: "elsewhere".into(), beat, ..Owner::default() };
            std::fs::write(&path, serde_json::to_string(&owner).unwrap()).unwrap();
        };
        foreign(1);
        let beat = Duration::from_millis(100);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(beat);
                foreign(2);
            });
            let error = Lock::take_on(dir.path(), true, beat).unwrap_err();
            assert!(error.to_string().contains("process 7 on elsewhere"), "{error}");
        });
        let lock = Lock::take_on(dir.path(), true, beat).unwrap();
        assert_eq!((lock.before.as_ref().unwrap().host.as_str(), lock.was_unclean()), ("elsewhere", true));
        drop(lock);
        foreign(3);
        Lock::take_on(dir.path(), false, Duration::from_secs(3_600)).unwrap();
    }

    #[test]
    fn a_clean_end_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let mut lock = Lock::take(dir.path()).unwrap();
        assert!(lock.before.is_none() && !lock.was_unclean());
        lock.end();
        drop(lock);
        let lock = Lock::take(dir.path()).unwrap();
        assert!(lock.before.is_some() && !lock.was_unclean());
        drop(lock);
        assert!(Lock::take(dir.path()).unwrap().was_unclean());
    }
}
