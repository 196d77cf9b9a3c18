//! A worker's state between two revisions.
//!
//! A worker that starts, or reads a whole state again, refuses nothing: what it cannot use is *left out*, and the rest is
//! served. Routes whose policies are left out follow the fail mode. The caller reports what is left out, and tries again
//! to compile it. From then on changes are refused as follows.
//!
//! Operations go into the draft; nobody sees it until its revision is whole. A worker that refuses something stays on
//! what it serves and keeps a list of what it refused, by resource. Later operations still go into the draft: the one
//! that puts or deletes a refused resource takes it off the list. The first commit at which the list is empty, which
//! is the undo that control appends, is served again and acknowledges all before it. Meanwhile what depends on a
//! refused resource is refused too, silently, and deleting what is not there is fine.
//!
//! The caller compiles policies: the draft only states what has to be compiled, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::{Documents, Gateway, Patterns, Refusal, op::Op, resource::ResourceKind};

/// Sets of policies that routes may name at a time. Each is compiled by itself, and again at every change of a policy:
/// 4,000 sets of one small policy take a thread beside the event loop 0.25 s; plans of large rule sets share what is
/// large (docs/policy.md).
pub const MAX_SETS: usize = 4_096;

/// Bytes of a reason that are sent to control.
const MAX_REASON: usize = 8 << 10;

/// Names of policies that are evaluated one after the other, in this order.
pub type PolicySet = Box<[String]>;

/// Policies that were compiled.
pub trait Compiled {
    /// Whether the set has been compiled.
    fn has(&self, set: &[String]) -> bool;
}

/// An item that can be refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    /// A resource, by its kind and id.
    Resource(ResourceKind, String),
    /// All documents that are compiled together: a change of one may correct an error in another.
    Documents,
    /// An unreadable frame: only a new base takes it off the list.
    Unreadable,
}

/// The reason for a refusal, and whether control has been told.
#[derive(Debug)]
struct Refused {
    /// Its position among all refusals.
    number: usize,
    reason: String,
    said: bool,
}

/// The result of an operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in the draft, or on the list of what was refused.
    Done,
    /// An expression has to be compiled first, and the operation applied again.
    NeedsPattern(String),
}

/// The result of a commit.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The draft is to be served.
    Whole,
    /// An earlier refusal has not been undone yet.
    Waiting,
    /// The revision is refused, for this reason.
    Refused(String),
}

/// Documents whose errors do not keep the others from being compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tolerated {
    /// All: the worker starts.
    All,
    /// Those that were left out before and have not changed since.
    These(BTreeSet<(ResourceKind, String)>),
}

impl Tolerated {
    /// Whether a document may be left out.
    #[must_use]
    pub fn has(&self, kind: ResourceKind, id: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(known) => known.contains(&(kind, id.to_owned())),
        }
    }
}

/// A document that could not be compiled, and why.
pub type LeftOut = (ResourceKind, String, String);

/// A request to compile policies.
#[derive(Debug)]
pub struct Uncompiled<P> {
    /// What may be left out.
    pub tolerated: Tolerated,
    /// The documents.
    pub documents: Documents,
    /// All sets of policies that are named, sorted.
    pub sets: Vec<PolicySet>,
    /// The same documents, compiled for other sets, if available.
    pub loaded: Option<Arc<P>>,
}

/// Policies that were compiled, and sets that could not be.
#[derive(Debug)]
pub struct Outcome<P> {
    /// The policies.
    pub policies: Arc<P>,
    /// Sets that name a missing policy, with the error message.
    pub missing: Vec<(PolicySet, String)>,
    /// Documents that are left out.
    pub left_out: Vec<LeftOut>,
}

/// The draft. `P` are compiled policies.
#[derive(Debug)]
pub struct Draft<P> {
    /// Sites, routes, upstreams.
    pub gateway: Gateway,
    policies: Option<Arc<P>>,
    /// Digest of the documents that `policies` are compiled from.
    compiled_from: Option<u64>,
    /// Digest of the documents that were tried last, whether or not they compiled.
    tried: Option<u64>,
    /// Every named set, with the number of its uses.
    sets: HashMap<PolicySet, usize>,
    /// The resources that have named a set since the last commit which may have to be compiled.
    unplanned: HashMap<Subject, PolicySet>,
    refused: HashMap<Subject, Refused>,
    /// What is left out, and why.
    left_out: BTreeMap<Subject, String>,
    /// Until the first commit.
    starting: bool,
    open: bool,
}

impl<P: Compiled> Draft<P> {
    /// An empty draft.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            gateway: Gateway::empty(),
            policies: None,
            compiled_from: None,
            tried: None,
            sets: HashMap::new(),
            unplanned: HashMap::new(),
            refused: HashMap::new(),
            left_out: BTreeMap::new(),
            starting: true,
            open: false,
        }
    }

    /// Starts from an empty state, before a base. Policies are not compiled again if they are the same.
    pub fn restart(&mut self) {
        let (policies, compiled_from) = (self.policies.take(), self.compiled_from.take());
        *self = Self { policies, compiled_from, open: true, ..Self::empty() };
    }

    /// Whether the draft equals the served state: no operation since the last commit, nothing refused.
    #[must_use]
    pub fn is_served(&self) -> bool {
        !self.open && self.refused.is_empty()
    }

    /// The policies compiled so far.
    #[must_use]
    pub fn policies(&self) -> Option<&Arc<P>> {
        self.policies.as_ref()
    }

    /// What is left out: what it is, and why; in a fixed order.
    pub fn left_out(&self) -> impl Iterator<Item = (String, &str)> {
        self.left_out.iter().map(|(subject, reason)| {
            let what = match subject {
                Subject::Resource(kind, id) => format!("/{kind}/{id}"),
                Subject::Documents => "/policies".to_owned(),
                Subject::Unreadable => "/".to_owned(),
            };
            (what, reason.as_str())
        })
    }

    /// A request to compile everything once more, if something that is compiled is left out.
    pub fn retry(&self) -> Option<Uncompiled<P>> {
        let is_compiled = |subject: &Subject| match subject {
            Subject::Resource(kind, _) => kind.is_compiled(),
            Subject::Documents => true,
            Subject::Unreadable => false,
        };
        let waits = self.is_served() && !self.starting && self.left_out.keys().any(is_compiled);
        waits.then(|| self.job(Tolerated::All, None))
    }

    /// Puts an operation into the draft. `digest` is that of its frame.
    pub fn apply(&mut self, digest: u64, op: Op, patterns: &mut Patterns) -> Applied {
        self.open = true;
        let subject = subject(&op);
        let named: Option<PolicySet> = match &op {
            Op::Put(resource) => resource.policies().filter(|names| !names.is_empty()).map(Into::into),
            Op::Delete { .. } | Op::Health { .. } | Op::Addresses { .. } => None,
        };
        let released = self.named_by(&op);
        let documents = self.gateway.documents().digest();
        match self.gateway.begin(digest, op, patterns) {
            Ok(()) => {}
            Err(Refusal::NeedsPattern(pattern)) => return Applied::NeedsPattern(pattern),
            Err(Refusal::Unknown { .. }) if !self.refused.is_empty() || !self.left_out.is_empty() => {}
            Err(refusal) => {
                self.refuse(subject, refusal.to_string());
                return Applied::Done;
            }
        }
        if !self.refused.is_empty() || !self.left_out.is_empty() {
            self.mended(&subject, documents);
        }
        if let Some(count) = released.as_ref().and_then(|set| self.sets.get_mut(set)) {
            *count -= 1;
        }
        self.unplanned.remove(&subject);
        if let Some(set) = named {
            *self.sets.entry(set.clone()).or_default() += 1;
            if !self.policies.as_ref().is_some_and(|policies| policies.has(&set)) || self.is_changed() {
                self.unplanned.insert(subject, set);
            }
        }
        if let Some(set) = released {
            self.sets.get(&set).is_some_and(|count| *count == 0).then(|| self.sets.remove(&set));
        }
        Applied::Done
    }

    /// The set that the resource of an operation named before it.
    fn named_by(&self, op: &Op) -> Option<PolicySet> {
        let (kind, id) = match op {
            Op::Put(resource) => (resource.kind(), resource.id()),
            Op::Delete { kind, id } => (*kind, id.as_str().into()),
            Op::Health { .. } | Op::Addresses { .. } => return None,
        };
        self.gateway.policies_of(kind, &id).filter(|names| !names.is_empty()).map(Into::into)
    }

    /// Removes corrected items from the list of refusals. `documents` is the digest before the operation.
    fn mended(&mut self, subject: &Subject, documents: u64) {
        self.refused.remove(subject);
        self.left_out.remove(subject);
        if self.gateway.documents().digest() != documents {
            self.refused.remove(&Subject::Documents);
        }
        // Deleting an upstream deletes its members.
        if let Subject::Resource(ResourceKind::Upstreams, upstream) = subject
            && self.gateway.upstream(upstream).is_none()
        {
            let is_member = |id: &str| id.strip_prefix(upstream.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let stays =
                |subject: &Subject| !matches!(subject, Subject::Resource(ResourceKind::Members, id) if is_member(id));
            self.refused.retain(|subject, _| stays(subject));
            self.left_out.retain(|subject, _| stays(subject));
        }
    }

    /// Refuses an operation that cannot be read or applied.
    pub fn refuse_frame(&mut self, frame: &[u8], reason: String) {
        self.open = true;
        let subject = serde_json::from_slice(frame).map_or(Subject::Unreadable, |op| subject(&op));
        self.refuse(subject, reason);
    }

    /// Whether documents have changed since they were last compiled or tried.
    fn is_changed(&self) -> bool {
        self.tried != Some(self.gateway.documents().digest())
    }

    /// The work that has to be compiled before the draft can be served, if any.
    pub fn uncompiled(&mut self) -> Option<Uncompiled<P>> {
        let digest = self.gateway.documents().digest();
        if self.compiled_from == Some(digest) {
            self.tried = Some(digest);
        }
        let is_changed = self.is_changed();
        if let Some(policies) = self.policies.as_ref().filter(|_| !is_changed) {
            self.unplanned.retain(|_, set| !policies.has(set));
        }
        if !is_changed && self.unplanned.is_empty() {
            return None;
        }
        if self.gateway.documents().is_empty() {
            (self.policies, self.compiled_from, self.tried) = (None, None, Some(digest));
            let mut unplanned = std::mem::take(&mut self.unplanned);
            if let (true, Some(set)) = (unplanned.is_empty(), self.sets.keys().min()) {
                // Named since long: the last document is gone.
                unplanned.insert(Subject::Documents, set.clone());
            }
            for (subject, set) in unplanned {
                self.refuse(subject, format!("there is no policy `{}`; there are no policies", set.join("`, `")));
            }
            return None;
        }
        if self.sets.len() > MAX_SETS {
            let count = self.sets.len();
            for (subject, _) in std::mem::take(&mut self.unplanned) {
                self.refuse(
                    subject,
                    format!("routes name {count} different sets of policies; at most {MAX_SETS} are possible"),
                );
            }
            return None;
        }
        let loaded = self.policies.clone().filter(|_| self.compiled_from == Some(digest));
        let known = self.left_out.keys().filter_map(|subject| match subject {
            Subject::Resource(kind, id) => Some((*kind, id.clone())),
            Subject::Documents | Subject::Unreadable => None,
        });
        let all = self.starting || self.left_out.contains_key(&Subject::Documents);
        let tolerated = if all { Tolerated::All } else { Tolerated::These(known.collect()) };
        Some(self.job(tolerated, loaded))
    }

    fn job(&self, tolerated: Tolerated, loaded: Option<Arc<P>>) -> Uncompiled<P> {
        let mut sets: Vec<PolicySet> = self.sets.keys().cloned().collect();
        sets.sort_unstable();
        Uncompiled { tolerated, documents: self.gateway.documents().clone(), sets, loaded }
    }

    /// Takes over the result of compiling the documents with this digest, which may be an error.
    pub fn compiled(&mut self, digest: u64, result: Result<Outcome<P>, String>) {
        self.tried = Some(digest);
        let unplanned = std::mem::take(&mut self.unplanned);
        match result {
            Ok(Outcome { policies, missing, left_out }) => {
                (self.policies, self.compiled_from) = (Some(policies), Some(digest));
                self.left_out.retain(|subject, _| !matches!(subject, Subject::Resource(kind, _) if kind.is_compiled()));
                self.left_out.remove(&Subject::Documents);
                let is_left_out = |id: &String| left_out.iter().any(|(_, left, _)| left == id);
                for (set, reason) in missing {
                    if set.iter().any(is_left_out) {
                        continue;
                    }
                    let mut by = unplanned.iter().filter(|(_, named)| **named == set).peekable();
                    if by.peek().is_none() {
                        // The set was named earlier: the documents have changed.
                        self.refuse(Subject::Documents, reason.clone());
                    }
                    by.for_each(|(subject, _)| self.refuse(subject.clone(), reason.clone()));
                }
                let left_out = left_out.into_iter();
                self.left_out.extend(left_out.map(|(kind, id, reason)| (Subject::Resource(kind, id), reason)));
            }
            Err(reason) => self.refuse(Subject::Documents, reason),
        }
    }

    /// The revision is complete.
    pub fn commit(&mut self, revision: u64) -> Verdict {
        self.open = false;
        self.gateway.set_revision(revision);
        if std::mem::take(&mut self.starting) {
            let refused = self.refused.drain();
            self.left_out.extend(refused.map(|(subject, refused)| (subject, refused.reason)));
        }
        if self.refused.is_empty() {
            return Verdict::Whole;
        }
        if self.refused.values().any(|refused| refused.said) {
            return Verdict::Waiting;
        }
        let mut reason = String::new();
        let mut all: Vec<&mut Refused> = self.refused.values_mut().collect();
        all.sort_unstable_by_key(|refused| refused.number);
        for refused in all {
            refused.said = true;
            if reason.len() < MAX_REASON && !reason.contains(&refused.reason) {
                reason.push_str(if reason.is_empty() { "" } else { "\n" });
                reason.push_str(&refused.reason);
            }
        }
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        Verdict::Refused(reason)
    }

    fn refuse(&mut self, subject: Subject, reason: String) {
        let number = self.refused.len();
        self.refused.entry(subject).or_insert(Refused { number, reason, said: false });
    }
}

/// The item that is refused if an operation is refused.
fn subject(op: &Op) -> Subject {
    match op {
        Op::Put(resource) => Subject::Resource(resource.kind(), resource.id().into_owned()),
        Op::Delete { kind, id } => Subject::Resource(*kind, id.clone()),
        // These operations are never refused.
        Op::Health { .. } | Op::Addresses { .. } => Subject::Unreadable,
    }
}

#[cfg(test)]
mod tests;
