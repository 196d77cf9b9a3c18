//! What was captured of a URL stays when it cannot be downloaded.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use weir_gateway::resource::CapturedFile;
use weir_policy::files::is_url;

use super::{Objects, Purpose, Stamp};
use crate::log;

impl Objects {
    /// Captures as [`Objects::capture`]; of a URL that cannot be downloaded, what was there last.
    ///
    /// # Errors
    /// As [`Objects::capture`].
    pub fn capture_or_keep(&self, path: &Path, max_bytes: u64) -> io::Result<CapturedFile> {
        self.capture(path, max_bytes).or_else(|error| {
            let kept = is_url(path).then(|| self.known(Purpose::Data, path, Stamp::default())).flatten();
            let kept = kept.filter(|kept| kept.path == path.to_string_lossy()).ok_or(error)?;
            log::warning!("{} cannot be downloaded; what was captured stays", kept.path);
            Ok(kept)
        })
    }

    /// Notes what was captured of a URL.
    pub fn remember(&self, captured: &CapturedFile) {
        if is_url(Path::new(&captured.path)) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert((PathBuf::from(&captured.path), Purpose::Data), (Stamp::default(), captured.clone()));
        }
    }
}
