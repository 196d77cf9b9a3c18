//! Files of certificates: read for a change, beside the publisher, before it is made.
//!
//! The publisher tries the change first, which tells the files that it needs; then they are read, and it tries again.
//! Reading takes one thread at a time: a network file system that hangs holds up changes of certificates in files, and
//! nothing else.

use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;

use serde_json::json;
use weir_resource::ResourceKind;

use super::publisher::Publisher;
use super::queue::{Answer, Operation, Refresh, Submission, Submitted};
use crate::state::{Action, Edit, FileOf, Key, ReadFiles, State, Target};

/// How often the files of a change are read, because what it changes has changed under it.
const ATTEMPTS: u32 = 3;

impl Publisher {
    /// Reads files for a change, which is made afterwards.
    pub(super) fn read_files(&mut self, mut submitted: Submitted, files: BTreeSet<FileOf>) {
        submitted.read.attempts += 1;
        if submitted.read.attempts > ATTEMPTS {
            let why = "the certificates were changed again and again while their files were read; try again";
            let _ = submitted.answer.send(Answer::Failed(why.to_owned()));
            return;
        }
        self.reading += 1;
        let (objects, lane, done) = (Arc::clone(&self.parts.objects), Arc::clone(&self.lane), self.read.clone());
        tokio::spawn(async move {
            let _one = lane.lock().await;
            let read = tokio::task::spawn_blocking(move || {
                let mut full = None;
                let capture = |file: FileOf| {
                    let captured = objects.capture_pem(file.1, &file.0).map_err(|error| {
                        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
                            full = Some(format!("{}: {error}", file.0.display()));
                        }
                        error.to_string()
                    });
                    (file, captured.map(|captured| captured.sha256))
                };
                let files: ReadFiles = files.into_iter().map(capture).collect();
                (files, full)
            });
            if let Ok((files, full)) = read.await {
                submitted.read.files.extend(files);
                submitted.read.full = full;
            }
            let _ = done.send(submitted);
        });
    }

    /// Goes on with a change whose files were read.
    pub(super) fn files_read(&mut self, mut submitted: Submitted) {
        self.reading -= 1;
        match submitted.read.full.take() {
            Some(reason) => _ = submitted.answer.send(Answer::Full(reason)),
            None => self.commit(std::iter::once(submitted)),
        }
    }
}

/// The edits that read the files of certificates again which a change names and does not write.
pub(super) fn again(state: &State, submission: &Submission) -> Vec<Edit> {
    let named: Option<HashSet<&Key>> = match &submission.refresh {
        Refresh::All => None,
        Refresh::Named(keys) => Some(keys.iter().collect()),
        Refresh::Written => return Vec::new(),
    };
    let edits = match &submission.operation {
        Operation::Edits(edits) => edits.as_slice(),
        Operation::Rollback(_) | Operation::Restore(_) => return Vec::new(),
    };
    let written: HashSet<&Key> = edits
        .iter()
        .filter_map(|edit| match &edit.target {
            Target::Resource(key, _) => Some(key),
            Target::Collection(..) => None,
        })
        .collect();
    let all = state.certificates_in_files().map(|(id, _)| Key::new(ResourceKind::Certificates, id));
    all.filter(|key| named.as_ref().is_none_or(|named| named.contains(key)) && !written.contains(key))
        .map(|key| Edit::new(Target::Resource(key, Vec::new()), Action::Patch(json!({}))))
        .collect()
}
