//! Reading the files that a policy names: bounded, regular files only, part of the revision.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_gateway::resource::Sha256Hash;
use weir_rules::confined::reason;

use super::Builder;
use crate::check::{Item, Value};
use crate::files::{Content, listing};

/// A file that a value names.
pub(crate) struct Named<'n, 'i> {
    item: &'i Item<'n>,
    what: &'static str,
    max_bytes: u64,
    /// Its path.
    pub path: PathBuf,
    /// The hash of its content, if that is known before it is read.
    pub hash: Option<Sha256Hash>,
}

impl Builder<'_> {
    /// The file that a value names; `what` is what errors call it.
    pub fn named<'n, 'i>(&mut self, item: &'i Item<'n>, what: &'static str, max_bytes: u64) -> Option<Named<'n, 'i>> {
        let Value::Text(name) = item.value else { return None };
        let path = self.folder.join(name);
        if !self.is_absolute(&path, item) {
            return None;
        }
        let hash = self.files.known_hash(&path, max_bytes);
        self.uses(&Arc::from([path.clone()]));
        hash.inspect(|hash| self.digest.add(&hash.0));
        Some(Named { item, what, max_bytes, path, hash })
    }

    /// Its content and the hash of it, or `None` after reporting why not.
    pub fn read(&mut self, file: &Named<'_, '_>) -> Option<(Content, Sha256Hash)> {
        match self.files.content(&file.path, file.max_bytes) {
            Ok(content) => {
                let hash = file.hash.unwrap_or_else(|| {
                    let hash = Sha256Hash::of(&content);
                    self.digest.add(&hash.0);
                    hash
                });
                Some((content, hash))
            }
            Err(error) => {
                let (what, path, reason) = (file.what, file.path.display(), reason(&error));
                let Value::Text(name) = file.item.value else { return None };
                let hint = match error.kind() {
                    ErrorKind::PermissionDenied => Some("make it readable for the user of this process"),
                    ErrorKind::NotFound if self.is_relative(name) => Some("paths are relative to the policy file"),
                    _ => None,
                };
                let hint = hint.map(str::to_owned);
                self.fault(file.item.node, format!("cannot read the {what} file `{path}`: {reason}"), hint);
                None
            }
        }
    }

    /// Notes that the source depends on what is in the folder of this path.
    pub fn uses_listing(&self, path: &Path) {
        self.uses(&Arc::from([listing(path.parent().unwrap_or(Path::new("")))]));
    }

    /// Whether the path is absolute, which it must be in the documents of a gateway; reported if not.
    pub fn is_absolute(&mut self, path: &Path, item: &Item<'_>) -> bool {
        let good = self.source.document.is_none() || path.is_absolute();
        if !good {
            let hint = "`weir apply` makes paths absolute, from the folder of the file that it reads".to_owned();
            self.fault(item.node, format!("expected an absolute path, found `{}`", path.display()), Some(hint));
        }
        good
    }

    /// Whether a name is relative to a policy file.
    pub fn is_relative(&self, name: &str) -> bool {
        self.source.document.is_none() && Path::new(name).is_relative()
    }
}
