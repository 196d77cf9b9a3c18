//! The directory of one run: configuration, logs, nginx's temporary files, Weir's runtime files.

use std::env;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::worker_user::WorkerUser;
use crate::Failure;

/// A run directory; removed at the end unless its user has named it.
pub(super) struct RunDir {
    path: PathBuf,
    keep: bool,
}

impl RunDir {
    /// Makes `named`, or one whose name everybody can guess from the port: then others on the
    /// machine can as well, so one that is not ours is refused.
    pub fn make(named: Option<&Path>, port: u16) -> Result<Self, Failure> {
        let path = named.map_or_else(|| env::temp_dir().join(format!("weir-{port}")), Path::to_owned);
        let fail = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
        match fs::symlink_metadata(&path) {
            Ok(metadata) if named.is_none() => {
                if !metadata.is_dir() || metadata.uid() != user() {
                    return Err(Failure::new(format!("{} is there and not yours", path.display()))
                        .hint("name another directory with --dir, or another port"));
                }
                // Left by a run that was killed.
                fs::remove_dir_all(&path).map_err(fail)?;
            }
            _ => {}
        }
        fs::DirBuilder::new().recursive(named.is_some()).mode(0o700).create(&path).map_err(fail)?;
        let path = fs::canonicalize(&path).map_err(fail)?;
        if let Some(workers) = WorkerUser::find() {
            // Workers must get through to nginx's temporary files; nobody else into the logs.
            std::os::unix::fs::chown(&path, None, Some(workers.gid)).map_err(fail)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o710)).map_err(fail)?;
        }
        let dir = Self { path, keep: named.is_some() };
        fs::create_dir_all(dir.temp()).map_err(fail)?;
        // Workers read these, whatever the umask is.
        fs::create_dir_all(dir.pages()).map_err(fail)?;
        fs::set_permissions(dir.pages(), fs::Permissions::from_mode(0o755)).map_err(fail)?;
        if dir.path.to_str().is_none_or(|text| text.contains(['"', '\\', '$', '\n'])) {
            return Err(Failure::new(format!(
                "{} has characters that nginx's configuration cannot hold",
                dir.path.display()
            ))
            .hint("name another directory with --dir"));
        }
        Ok(dir)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn temp(&self) -> PathBuf {
        self.path.join("temp")
    }

    /// Files of the demo site.
    pub fn pages(&self) -> PathBuf {
        self.path.join("pages")
    }

    pub fn runtime(&self) -> PathBuf {
        self.path.join("runtime")
    }

    /// Where control answers.
    pub fn socket(&self) -> PathBuf {
        self.runtime().join("control.sock")
    }

    pub fn attack_log(&self) -> PathBuf {
        self.path.join("attack.log")
    }

    pub fn error_log(&self) -> PathBuf {
        self.path.join("error.log")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The effective user.
pub(super) fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}
