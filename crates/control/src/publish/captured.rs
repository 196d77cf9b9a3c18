//! Captured files among documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_gateway::Documents;
use weir_gateway::resource::CapturedFile;
use weir_resource::ResourceKind;

use crate::sandbox::Uses;
use crate::state::{Key, State};

/// The captured files of a state, by id.
pub(crate) fn captured(state: &State) -> impl Iterator<Item = CapturedFile> + '_ {
    let all = state.iter(ResourceKind::Files, None);
    all.filter_map(|(_, held)| serde_json::from_str(&held.document.text).ok())
}

/// The captured file of a path.
pub(crate) fn captured_at(state: &State, path: &str) -> Option<CapturedFile> {
    let held = state.get(ResourceKind::Files, &CapturedFile::id_of(path))?;
    serde_json::from_str(&held.document.text).ok()
}

/// What identifies all captured files of these documents.
pub(crate) fn digest(documents: &Documents) -> u64 {
    let files = documents.iter().filter(|(kind, _)| *kind == ResourceKind::Files);
    files.fold(0, |sum, (_, document)| sum ^ weir_gateway::frame_digest(document.json.as_bytes()))
}

/// Paths that these resources depend on.
pub(crate) fn paths_of<'k>(uses: &Uses, keys: impl Iterator<Item = &'k Key>) -> BTreeSet<PathBuf> {
    keys.filter_map(|key| uses.get(key)).flatten().flat_map(|group| group.iter().cloned()).collect()
}

/// The captured files of documents.
pub(crate) fn files(documents: &Documents) -> impl Iterator<Item = CapturedFile> + '_ {
    let files = documents.iter().filter(|(kind, _)| *kind == ResourceKind::Files);
    files.filter_map(|(_, document)| serde_json::from_str(&document.json).ok())
}

/// Puts a captured file, or removes that of a path.
pub(super) fn set(documents: &mut Documents, path: &str, file: Option<&CapturedFile>) {
    let entry = file.map(|file| {
        let document = file.document();
        let digest = digest_of(&document);
        (document, digest)
    });
    documents.set(ResourceKind::Files, &CapturedFile::id_of(path), entry);
}

/// The digest that the frame of a captured file has.
fn digest_of(document: &weir_gateway::resource::Document) -> u64 {
    let op = weir_gateway::op::Op::Put(weir_gateway::resource::Resource::File(document.clone()));
    weir_gateway::frame_digest(&serde_json::to_vec(&op).expect("an operation can be written as JSON"))
}

/// The id of a path.
pub(super) fn id_of(path: &Path) -> String {
    CapturedFile::id_of(&path.to_string_lossy())
}
