//! Making changes: all of them or none, with a note of what was there before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use weir_gateway::op::Op;
use weir_gateway::resource::Document as CompiledDocument;
use weir_resource::{Fault, ResourceKind};

use super::certificate::not_kept;
use super::{Contents, Document, Edit, FileOf, Held, Key, Refusal, State};

/// What happened to one resource.
#[derive(Clone, Debug)]
pub struct Delta {
    /// The resource.
    pub key: Key,
    /// Its state before the change; `None` if it was not there.
    pub old: Option<Held>,
    /// Its state after the change; `None` if it is deleted.
    pub new: Option<Held>,
}

/// A change that was made, and how to take it back.
#[derive(Debug)]
pub struct Applied {
    /// What differs, by kind and id; empty if the change changed nothing.
    pub deltas: Vec<Delta>,
    before: BTreeMap<Key, Option<Held>>,
    revision_before: u64,
}

impl Applied {
    /// Regular expressions that nobody has compiled yet, with their places.
    #[must_use]
    pub fn places_of_patterns(&self) -> Vec<(String, String)> {
        let documents = self.deltas.iter().filter_map(|delta| Some((&delta.key, &delta.new.as_ref()?.document)));
        let places: HashMap<&Key, &Arc<Document>> = documents.collect();
        let place = |(pattern, key): (&str, &Key)| {
            let within = places.get(key).map(|document| document.place_of(pattern)).unwrap_or_default();
            (pattern.to_owned(), format!("{key}{within}"))
        };
        self.new_patterns().map(place).collect()
    }

    /// Regular expressions that nobody has compiled yet, with the document that has them.
    pub fn new_patterns(&self) -> impl Iterator<Item = (&str, &Key)> {
        self.deltas.iter().flat_map(|delta| {
            let known = delta.old.as_ref().map_or(&[][..], |held| &held.document.patterns);
            let new = delta.new.as_ref().map_or(&[][..], |held| &held.document.patterns);
            new.iter().filter(|pattern| !known.contains(pattern)).map(|pattern| (pattern.as_str(), &delta.key))
        })
    }

    /// What differs in what workers compile: the documents as they are, and as workers have them (`None`: gone).
    pub fn compiled(&self) -> impl Iterator<Item = (&Key, Option<(CompiledDocument, u64)>)> {
        self.deltas.iter().filter(|delta| delta.key.kind.is_compiled()).filter_map(|delta| {
            let [old, new] = [&delta.old, &delta.new].map(|held| held.as_ref().map(|held| &held.document));
            let hash = |document: Option<&Arc<Document>>| Some(document?.compiled.as_ref()?.hash);
            let entry = || new.and_then(|document| document.compiled_entry(delta.key.kind));
            (hash(old) != hash(new)).then(|| (&delta.key, entry()))
        })
    }

    /// What workers are told, in the order in which it is done: what goes, from routes down to certificates; then what
    /// comes, the other way round. So an operation finds what it needs.
    #[must_use]
    pub fn frames(&self) -> Vec<Vec<u8>> {
        let mut frames = Vec::with_capacity(self.deltas.len() + 1);
        let goes = |key: &Key| {
            self.deltas.binary_search_by(|delta| delta.key.cmp(key)).is_ok_and(|place| self.deltas[place].new.is_none())
        };
        for delta in self.deltas.iter().rev().filter(|delta| delta.new.is_none()) {
            let with_its_upstream =
                delta.key.upstream().is_some_and(|upstream| goes(&Key::new(ResourceKind::Upstreams, upstream)));
            // Of a certificate whose content is lost, workers were told nothing.
            let is_known = delta.old.as_ref().is_some_and(|held| held.document.frame.is_some());
            if !with_its_upstream && is_known {
                let op = Op::Delete { kind: delta.key.kind, id: delta.key.id.to_string() };
                frames.push(serde_json::to_vec(&op).expect("an operation can be written as JSON"));
            }
        }
        let comes = self.deltas.iter().filter_map(|delta| delta.new.as_ref()?.document.frame.as_ref());
        frames.extend(comes.map(|frame| frame.to_vec()));
        frames
    }
}

/// Faults that one answer lists at most.
pub const MAX_FAULTS: usize = 100;

type Check = fn(&Key, String, &dyn Contents) -> Result<Document, Vec<Fault>>;

/// A change in the making.
pub(super) struct Session<'s> {
    pub state: &'s mut State,
    pub faults: Vec<Fault>,
    /// Documents that were not valid: what refers to them is not told that they are not there.
    pub broken: BTreeSet<Key>,
    pub contents: &'s dyn Contents,
    /// Files of certificates that must be read before the change can be made.
    pub unread: BTreeSet<FileOf>,
    before: BTreeMap<Key, Option<Held>>,
    revision: u64,
}

impl<'s> Session<'s> {
    fn new(state: &'s mut State, revision: u64, contents: &'s dyn Contents) -> Self {
        let (broken, unread) = (BTreeSet::new(), BTreeSet::new());
        Self { state, faults: Vec::new(), broken, contents, unread, before: BTreeMap::new(), revision }
    }

    /// Puts a document, or takes it away (`None`).
    pub fn write(&mut self, key: &Key, text: Option<String>) {
        self.write_checked(key, text, Document::check);
    }

    /// As [`Session::write`], of a document that was there once.
    pub fn write_back(&mut self, key: &Key, text: Option<String>) {
        self.write_checked(key, text, Document::check_stored);
    }

    fn write_checked(&mut self, key: &Key, text: Option<String>, check: Check) {
        let old = self.state.get(key.kind, &key.id);
        let new = match text {
            None if old.is_none() => return,
            None => None,
            Some(text) => {
                if old.is_some_and(|held| *held.document.text == *text) {
                    return;
                }
                match check(key, text, self.contents) {
                    Ok(document) if old.is_some_and(|held| document.is_respelling_of(&held.document)) => return,
                    Ok(document) => {
                        let lost = document.certificate.iter().flat_map(|parts| &parts.lost);
                        let lost: Vec<Fault> = lost.map(|file| not_kept(key, file)).collect();
                        lost.into_iter().for_each(|fault| self.fault(fault));
                        Some(Held { document: Arc::new(document), revision: self.revision })
                    }
                    Err(faults) => return self.refuse(key, faults),
                }
            }
        };
        self.set(key, new);
        if let Some(upstream) = key.upstream()
            && let Some(held) = self.state.get(ResourceKind::Upstreams, upstream)
            && held.revision != self.revision
        {
            let document = held.document.clone();
            self.set(&Key::new(ResourceKind::Upstreams, upstream), Some(Held { document, revision: self.revision }));
        }
    }

    fn set(&mut self, key: &Key, new: Option<Held>) {
        let old = self.state.set(key, new);
        if !self.before.contains_key(key) {
            self.before.insert(key.clone(), old);
        }
    }

    /// Notes what is wrong with a document; pointers are those within it.
    pub fn refuse(&mut self, key: &Key, faults: Vec<Fault>) {
        self.broken.insert(key.clone());
        let place = key.to_string();
        for mut fault in faults {
            fault.pointer.insert_str(0, &place);
            self.fault(fault);
        }
    }

    /// Notes what is wrong, with a pointer from the root.
    pub fn fault(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    /// Whether the change has written it.
    pub fn has_written(&self, key: &Key) -> bool {
        self.before.contains_key(key)
    }

    /// What was written, with what was there before.
    pub fn touched(&self) -> impl Iterator<Item = (&Key, Option<&Held>)> {
        self.before.iter().map(|(key, old)| (key, old.as_ref()))
    }
}

impl State {
    /// Makes the changes as this revision, or none of them.
    ///
    /// # Errors
    /// Why not; the state is as it was.
    pub fn apply<'e>(&mut self, revision: u64, edits: impl IntoIterator<Item = &'e Edit>) -> Result<Applied, Refusal> {
        self.apply_with(revision, edits, &())
    }

    /// As [`State::apply`], where certificates have parts that are elsewhere.
    ///
    /// # Errors
    /// As [`State::apply`]; [`Refusal::Unread`] if files are to be read first.
    pub fn apply_with<'e>(
        &mut self,
        revision: u64,
        edits: impl IntoIterator<Item = &'e Edit>,
        contents: &dyn Contents,
    ) -> Result<Applied, Refusal> {
        let mut session = Session::new(self, revision, contents);
        let mut result = edits.into_iter().try_for_each(|edit| session.edit(edit));
        if result.is_ok() && !session.unread.is_empty() {
            result = Err(Refusal::Unread(std::mem::take(&mut session.unread)));
        }
        if result.is_ok() {
            session.verify();
            if !session.faults.is_empty() {
                result = Err(Refusal::Invalid(std::mem::take(&mut session.faults)));
            }
        }
        let before = session.before;
        if let Err(refusal) = result {
            self.put_back(before);
            return Err(refusal);
        }
        Ok(self.conclude(revision, before))
    }

    /// A state of documents some of which may refer to resources that are elsewhere; documents that are not valid are
    /// left out.
    #[must_use]
    pub fn of_part<'e>(edits: impl IntoIterator<Item = &'e Edit>, contents: &dyn Contents) -> (Self, Vec<Delta>) {
        let mut state = Self::default();
        let mut session = Session::new(&mut state, 1, contents);
        for edit in edits {
            // Its faults are those of the documents.
            let _ = session.edit(edit);
        }
        let before = session.before;
        let deltas = state.conclude(1, before).deltas;
        (state, deltas)
    }

    /// The state of a revision from its stored documents: their JSON and the revision that each last changed in.
    ///
    /// # Errors
    /// What is not valid in it, which this version is stricter about than the one that wrote it.
    pub fn restore<'d>(
        revision: u64,
        documents: impl IntoIterator<Item = (&'d Key, (&'d str, u64))>,
        contents: &dyn Contents,
    ) -> Result<Self, Vec<Fault>> {
        let mut state = Self::default();
        let mut session = Session::new(&mut state, revision, contents);
        for (key, (text, changed_in)) in documents {
            match Document::check_stored(key, text.to_owned(), contents) {
                Ok(document) => {
                    session.set(key, Some(Held { document: Arc::new(document), revision: changed_in }));
                }
                Err(faults) => session.refuse(key, faults),
            }
        }
        session.verify();
        let (faults, before) = (session.faults, session.before);
        if !faults.is_empty() {
            return Err(faults);
        }
        state.conclude(revision, before);
        state.revision = revision;
        Ok(state)
    }

    fn conclude(&mut self, revision: u64, before: BTreeMap<Key, Option<Held>>) -> Applied {
        let mut deltas = Vec::with_capacity(before.len());
        for (key, old) in &before {
            let new = self.get(key.kind, &key.id).cloned();
            let document = |held: &Option<Held>| held.as_ref().map(|held| Arc::as_ptr(&held.document));
            let text = |held: &Option<Held>| held.as_ref().map(|held| held.document.clone());
            if document(old) != document(&new)
                && !matches!((text(old), text(&new)), (Some(old), Some(new)) if old.text == new.text)
            {
                deltas.push(Delta { key: key.clone(), old: old.clone(), new });
            }
        }
        let revision_before = self.revision;
        if !deltas.is_empty() {
            self.revision = revision;
        }
        Applied { deltas, before, revision_before }
    }

    /// Takes a change back that was the last one.
    pub fn undo(&mut self, applied: Applied) {
        self.put_back(applied.before);
        self.revision = applied.revision_before;
    }

    fn put_back(&mut self, before: BTreeMap<Key, Option<Held>>) {
        for (key, old) in before {
            self.set(&key, old);
        }
    }
}
