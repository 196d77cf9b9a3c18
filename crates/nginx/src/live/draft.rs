//! The state between two revisions.
//!
//! Operations go into the draft; nobody sees it until its revision is whole. A worker that refuses
//! something stays on what it serves and keeps a list of what it refused (*bad*, by resource). Later
//! operations still go into the draft: the one that puts or deletes a bad resource takes it off the
//! list. The first commit at which the list is empty, which is the undo that control appends, is
//! served again and acknowledges all before it. Meanwhile what hangs on a refused resource is bad
//! too, silently, and deleting what is not there is fine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_gateway::op::Op;
use weir_gateway::resource::ResourceKind;
use weir_gateway::{Gateway, Patterns, Refusal};

use super::builder::Built;
use crate::fault;
use crate::policy::{Policies, Set};

/// Sets of policies that may be in use at a time: each is a plan of its own, and plans of large rule
/// sets take megabytes.
const MAX_SETS: usize = 256;

/// Bytes of a reason that are sent to control.
const MAX_REASON: usize = 8 << 10;

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: &'static str,
    id: String,
}

/// Something refused, and whether control knows of it.
struct Bad {
    /// Its place among all that was refused.
    number: usize,
    reason: String,
    said: bool,
}

/// What became of an operation.
pub enum Applied {
    /// It is in the draft, or on the list.
    Done,
    /// An expression has to be compiled first.
    NeedsPattern(String),
}

/// What a commit comes to.
pub enum Verdict {
    /// The draft is to be served.
    Whole,
    /// What was refused earlier has not been undone yet.
    Waiting,
    /// The revision is refused.
    Refused(String),
}

/// Policies to build.
pub struct Unbuilt {
    /// Their text.
    pub text: Arc<str>,
    /// What tells this text from others.
    pub digest: u64,
    /// All sets of them, sorted.
    pub sets: Vec<Set>,
    /// The same text built for fewer sets, if it has been.
    pub loaded: Option<Arc<Policies>>,
}

/// The draft.
pub struct Draft {
    /// Sites, routes, upstreams.
    pub gateway: Gateway,
    /// The policies as far as they are built.
    pub policies: Option<Arc<Policies>>,
    /// The digest of what they are built from.
    built_from: Option<u64>,
    /// Every set that something names or has named.
    sets: HashSet<Set>,
    /// Sets without a plan, and who named them.
    unplanned: Vec<(Key, Set)>,
    text_changed: bool,
    bad: HashMap<Key, Bad>,
    open: bool,
}

impl Draft {
    /// Nothing.
    pub fn empty() -> Self {
        Self {
            gateway: Gateway::empty(),
            policies: None,
            built_from: None,
            sets: HashSet::new(),
            unplanned: Vec::new(),
            text_changed: false,
            bad: HashMap::new(),
            open: false,
        }
    }

    /// Begins from nothing, for a base that follows. Policies are not built again if they turn out
    /// to be the same.
    pub fn restart(&mut self) {
        let (policies, built_from) = (self.policies.take(), self.built_from.take());
        *self = Self { policies, built_from, text_changed: true, open: true, ..Self::empty() };
    }

    /// Whether the draft is what is served: no operation since the last commit, nothing refused.
    pub fn is_served(&self) -> bool {
        !self.open && self.bad.is_empty()
    }

    /// Puts an operation into the draft.
    pub fn apply(&mut self, digest: u64, op: Op, patterns: &mut Patterns) -> Applied {
        self.open = true;
        let named = names(&op).filter(|names| !names.is_empty() && !self.sets.contains(*names));
        let named: Option<Set> = named.map(Into::into);
        let key = key(&op);
        let is_policies = matches!(op, Op::PutPolicies { .. });
        let takes_members = matches!(op, Op::Delete { kind: ResourceKind::Upstreams, .. });
        match fault::contain("a change", || self.gateway.begin(digest, op, patterns)) {
            Some(Ok(())) => {}
            Some(Err(Refusal::NeedsPattern(pattern))) => return Applied::NeedsPattern(pattern),
            Some(Err(Refusal::Unknown { .. })) if !self.bad.is_empty() => {}
            Some(Err(refusal)) => {
                self.refuse(key, refusal.to_string());
                return Applied::Done;
            }
            None => {
                self.refuse(key, "a fault of Weir while it was applied".into());
                return Applied::Done;
            }
        }
        self.text_changed |= is_policies;
        if !self.bad.is_empty() {
            self.bad.remove(&key);
            if takes_members {
                self.bad.retain(|bad, _| !bad.is_member_of(&key));
            }
        }
        if let Some(set) = named {
            self.sets.insert(set.clone());
            self.unplanned.push((key, set));
        }
        Applied::Done
    }

    /// Refuses an operation that cannot be read or whose expression does not compile.
    pub fn refuse_frame(&mut self, frame: &[u8], reason: String) {
        self.open = true;
        let key = serde_json::from_slice(frame).map_or_else(|_| Key::unreadable(), |op| key(&op));
        self.refuse(key, reason);
    }

    /// What has to be built before the draft can be served, if anything.
    pub fn unbuilt(&mut self) -> Option<Unbuilt> {
        let digest = self.gateway.policies_digest();
        if self.text_changed && self.built_from == Some(digest) {
            self.text_changed = false;
        }
        if !self.unplanned.is_empty() {
            let policies = self.policies.as_ref().filter(|_| !self.text_changed);
            self.unplanned.retain(|(_, set)| policies.is_none_or(|policies| policies.plan(set).is_none()));
        }
        if !self.text_changed && self.unplanned.is_empty() {
            return None;
        }
        let Some(text) = self.gateway.policies().cloned() else {
            self.without_policies();
            return None;
        };
        if self.sets.len() > MAX_SETS {
            let reason =
                format!("routes name {} different sets of policies; at most {MAX_SETS} are possible", self.sets.len());
            for (key, set) in std::mem::take(&mut self.unplanned) {
                self.sets.remove(&set);
                self.refuse(key, reason.clone());
            }
            return None;
        }
        let mut sets: Vec<Set> = self.sets.iter().cloned().collect();
        sets.sort_unstable();
        let loaded = self.policies.clone().filter(|_| self.built_from == Some(digest));
        Some(Unbuilt { text, digest, sets, loaded })
    }

    /// Takes over what was built from the text of this digest.
    pub fn built(&mut self, digest: u64, result: Result<Built, String>) {
        self.text_changed = false;
        let unplanned = std::mem::take(&mut self.unplanned);
        match result {
            Ok(built) => {
                self.policies = Some(built.policies);
                self.built_from = Some(digest);
                for (set, reason) in built.missing {
                    self.sets.remove(&set);
                    for (key, _) in unplanned.iter().filter(|(_, named)| *named == set) {
                        self.refuse(key.clone(), reason.clone());
                    }
                }
            }
            Err(reason) => {
                for (_, set) in &unplanned {
                    self.sets.remove(set);
                }
                self.refuse(Key { kind: POLICIES, id: String::new() }, reason);
            }
        }
    }

    /// The revision is complete.
    pub fn commit(&mut self, revision: u64) -> Verdict {
        self.open = false;
        self.gateway.set_revision(revision);
        if self.bad.is_empty() {
            return Verdict::Whole;
        }
        if self.bad.values().any(|bad| bad.said) {
            return Verdict::Waiting;
        }
        let mut reason = String::new();
        let mut all: Vec<&mut Bad> = self.bad.values_mut().collect();
        all.sort_unstable_by_key(|bad| bad.number);
        for bad in all {
            bad.said = true;
            if reason.len() < MAX_REASON {
                reason.push_str(if reason.is_empty() { "" } else { "\n" });
                reason.push_str(&bad.reason);
            }
        }
        let end = (0..=MAX_REASON.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
        reason.truncate(end);
        Verdict::Refused(reason)
    }

    fn without_policies(&mut self) {
        self.text_changed = false;
        (self.policies, self.built_from) = (None, None);
        for (key, set) in std::mem::take(&mut self.unplanned) {
            self.sets.remove(&set);
            self.refuse(key, format!("there is no policy `{}`; there are no policies", set.join("`, `")));
        }
    }

    fn refuse(&mut self, key: Key, reason: String) {
        let number = self.bad.len();
        self.bad.entry(key).or_insert(Bad { number, reason, said: false });
    }
}

const POLICIES: &str = "policies";
const UPSTREAM: &str = "upstream";
const MEMBER: &str = "member";

impl Key {
    /// Of a frame that is no operation: nothing but a new base takes it off the list.
    fn unreadable() -> Self {
        Self { kind: "frame", id: String::new() }
    }

    fn is_member_of(&self, upstream: &Self) -> bool {
        let within = || self.id.strip_prefix(upstream.id.as_str()).is_some_and(|rest| rest.starts_with('/'));
        upstream.kind == UPSTREAM && self.kind == MEMBER && within()
    }
}

/// The policies that an operation's resource names.
fn names(op: &Op) -> Option<&[String]> {
    if let Op::Put(resource) = op { resource.policies() } else { None }
}

/// The resource of an operation.
fn key(op: &Op) -> Key {
    let (kind, id) = match op {
        Op::Put(resource) => (resource.kind().singular(), resource.id().into_owned()),
        Op::Delete { kind, id } => (kind.singular(), id.clone()),
        Op::Object { hash } => ("object", hash.to_string()),
        Op::PutPolicies { .. } => (POLICIES, String::new()),
        Op::Health { upstream, member, .. } | Op::Addresses { upstream, member, .. } => {
            ("state", format!("{upstream}/{member}"))
        }
    };
    Key { kind, id }
}

#[cfg(test)]
mod tests;
