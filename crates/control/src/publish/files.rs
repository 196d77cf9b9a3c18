//! Files that documents name: captured with a change, published before it, forgotten after a while.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_gateway::resource::{CapturedFile, Sha256Hash};
use weir_policy::MAX_LIST_BYTES;
use weir_resource::{Fault, ResourceKind};

use super::captured::{captured, files, id_of, paths_of, set};
use super::lines;
use super::publisher::Publisher;
use super::verification::Verified;
use crate::log;
use crate::objects::Objects;
use crate::sandbox::{Rejected, Report, Sandbox};
use crate::state::{Action, Edit, Key, State, Target, not_kept};

/// How long after a change contents of files are deleted that are not needed any more: workers may still compile it.
pub(super) const FORGET_AFTER: Duration = Duration::from_secs(10);

/// Compiles a job in the sandbox. Before that, `fresh` paths are captured anew; afterwards the job has exactly the files
/// that its documents depend on, and their contents are published.
pub(super) async fn verify(
    sandbox: &Sandbox,
    objects: &Arc<Objects>,
    verified: &mut Verified,
    fresh: BTreeSet<PathBuf>,
) -> Result<(), Rejected> {
    let Some(documents) = &mut verified.job.documents else {
        return sandbox.check(&verified.job).await.map(drop);
    };
    let before: HashMap<String, CapturedFile> = files(documents).map(|file| (file.path.clone(), file)).collect();
    for (path, file) in recapture(objects, fresh).await {
        set(documents, &path, file.as_ref());
    }
    let Report { captured, uses, warnings, .. } = sandbox.check(&verified.job).await?;
    let Some(documents) = &mut verified.job.documents else { return Ok(()) };
    for file in &captured {
        set(documents, &file.path, Some(file));
    }
    let needed: HashSet<String> =
        uses.values().flatten().flat_map(|group| group.iter()).map(|path| id_of(path)).collect();
    let gone: Vec<String> = files(documents).map(|file| file.id()).filter(|id| !needed.contains(id)).collect();
    gone.iter().for_each(|id| _ = documents.set(ResourceKind::Files, id, None));
    let (publish, all) = (Arc::clone(objects), files(documents).collect::<Vec<_>>());
    let lists = paths_of(&uses, uses.keys().filter(|key| key.kind == ResourceKind::Lists));
    let published = tokio::task::spawn_blocking(move || {
        let changed = all.iter().filter_map(|file| Some((before.get(&file.path)?, file)));
        let changed = changed.filter(|(old, new)| old.sha256 != new.sha256);
        let said = changed.map(|(old, new)| lines::said(&publish, old, new, lists.contains(Path::new(&new.path))));
        let said: Vec<String> = said.collect();
        publish.publish(&all).map(|()| said)
    });
    verified.changed = published.await.map_err(std::io::Error::other).flatten().map_err(|error| {
        let message = format!("the content of a file cannot be published: {error}");
        Rejected::Faults(vec![Fault { message, ..Fault::default() }])
    })?;
    verified.uses = Some(uses);
    verified.warnings = warnings;
    Ok(())
}

/// What is at these paths now. One that cannot be captured is left out: compiling then says so, at the right place.
async fn recapture(objects: &Arc<Objects>, paths: BTreeSet<PathBuf>) -> BTreeMap<String, Option<CapturedFile>> {
    let objects = Arc::clone(objects);
    let capture = move || {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        paths.iter().map(|path| (text(path), objects.capture(path, MAX_LIST_BYTES).ok())).collect()
    };
    tokio::task::spawn_blocking(capture).await.unwrap_or_default()
}

/// The edits that give a state the captured files of what was verified.
pub(super) fn edits(state: &State, verified: &Verified) -> Vec<Edit> {
    let Some(documents) = &verified.job.documents else { return Vec::new() };
    let mut wanted: HashMap<String, Box<str>> =
        files(documents).map(|file| (file.id(), serde_json::to_string(&file).unwrap_or_default().into())).collect();
    let mut edits = Vec::new();
    let edit = |id: &str, text| {
        let target = Target::Resource(Key::new(ResourceKind::Files, id), Vec::new());
        Edit::new(target, Action::Restore(text))
    };
    for (id, held) in state.iter(ResourceKind::Files, None) {
        match wanted.remove(&**id) {
            Some(text) if *text == *held.document.text => {}
            text => edits.push(edit(id, text)),
        }
    }
    edits.extend(wanted.into_iter().map(|(id, text)| edit(&id, Some(text))));
    edits
}

/// Contents that a change brings back and that are not kept any more.
pub(super) fn forgotten(objects: &Objects, edits: &[Edit]) -> Vec<Fault> {
    let restored = edits.iter().filter_map(|edit| match (&edit.target, &edit.action) {
        (Target::Resource(key, _), Action::Restore(Some(text))) if key.kind == ResourceKind::Files => {
            serde_json::from_str::<CapturedFile>(text).ok().map(|file| (key, file))
        }
        _ => None,
    });
    let lost = restored.filter(|(_, file)| !objects.has(file));
    lost.map(|(key, file)| not_kept(key, &file)).collect()
}

impl Publisher {
    /// Deletes contents that no revision needs which can still be reached. Nothing may be on its way meanwhile that has
    /// stored an object which no revision names yet.
    pub(super) fn forget_objects(&mut self) {
        let parts = self.parts.clone();
        let (current, of_certificates) = {
            let state = parts.state();
            let current: HashSet<Sha256Hash> = captured(&state).map(|file| file.sha256).collect();
            let files = state.certificates_in_files().flat_map(|(_, files)| files);
            (current, files.map(|(_, file)| file.sha256).collect::<HashSet<_>>())
        };
        let mut kept = match parts.store().retired() {
            Ok(kept) => kept,
            Err(error) => return log::failure!("cannot tell which contents of files are needed: {error}"),
        };
        // A worker may still compile the revision before.
        let published: HashSet<Sha256Hash> = current.iter().chain(&kept).copied().collect();
        kept.extend(current.iter().chain(&of_certificates));
        let objects = Arc::clone(&parts.objects);
        if !objects.keep_only(&kept, &published) {
            self.forget_at = Some(Instant::now() + FORGET_AFTER);
        }
    }
}
