//! Reading the files that a policy names: bounded, regular files only, part of the revision.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Builder;
use crate::check::{Item, Value};

impl Builder<'_> {
    /// Path and content of the file that a value names, or `None` after reporting why not.
    pub fn read(&mut self, item: &Item<'_>, what: &str, max_bytes: u64) -> Option<(PathBuf, Vec<u8>)> {
        let Value::Text(name) = item.value else { return None };
        let path = self.folder.join(name);
        match read(&path, max_bytes) {
            Ok(content) => {
                self.digest.add(&content);
                Some((path, content))
            }
            Err(reason) => {
                let message = format!("cannot read the {what} file `{}`: {reason}", path.display());
                let hint = Path::new(name).is_relative().then(|| "paths are relative to the policy file".to_owned());
                self.fault(item.node, message, hint);
                None
            }
        }
    }
}

/// The content of a regular file of at most `max_bytes`.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let plain = |error: std::io::Error| plain(&error);
    let file = weir_rules::confined::open(path).map_err(plain)?;
    let about = file.metadata().map_err(plain)?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let too_large = || format!("it is larger than {max_bytes} bytes");
    if about.len() > max_bytes {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default() + 1);
    // The file may have grown since.
    file.take(max_bytes + 1).read_to_end(&mut content).map_err(plain)?;
    if content.len() as u64 > max_bytes { Err(too_large()) } else { Ok(content) }
}

/// The system's reason without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
