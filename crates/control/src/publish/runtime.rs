//! Runtime facts: health and addresses of members. They are not part of a revision, but a starting worker needs them, so
//! the latest of each member go into every new generation of the journal.

use std::collections::BTreeMap;
use std::path::Path;

use weir_bus::{Read, Reader};
use weir_gateway::op::Op;
use weir_resource::ResourceKind;

use crate::state::State;

/// The latest facts of each member, as frames.
#[derive(Debug, Default)]
pub(super) struct RuntimeFacts {
    members: BTreeMap<String, MemberFacts>,
}

#[derive(Debug, Default)]
struct MemberFacts {
    health: Option<Vec<u8>>,
    addresses: Option<Vec<u8>>,
}

/// The state of the journal before control started.
#[derive(Debug, Default)]
pub(super) struct PreviousJournal {
    pub known: RuntimeFacts,
    /// The last revision.
    pub revision: u64,
    /// The epoch of its store.
    pub epoch: u64,
}

impl RuntimeFacts {
    /// Notes an operation and returns its frame, if it is a runtime fact.
    pub fn note(&mut self, op: &Op) -> Option<Vec<u8>> {
        let (upstream, member) = match op {
            Op::Health { upstream, member, .. } | Op::Addresses { upstream, member, .. } => (upstream, member),
            _ => return None,
        };
        let frame = serde_json::to_vec(op).expect("an operation can be written as JSON");
        let facts = self.members.entry(format!("{upstream}/{member}")).or_default();
        let place = if matches!(op, Op::Health { .. }) { &mut facts.health } else { &mut facts.addresses };
        *place = Some(frame.clone());
        Some(frame)
    }

    /// The frames of existing members; those of others are dropped.
    pub fn frames(&mut self, state: &State) -> Vec<Vec<u8>> {
        self.members.retain(|id, _| state.get(ResourceKind::Members, id).is_some());
        let facts = self.members.values();
        facts.flat_map(|facts| [&facts.health, &facts.addresses]).flatten().cloned().collect()
    }

    /// Drops the facts of a member, so that a new one of this name does not inherit them.
    pub fn forget(&mut self, id: &str) {
        self.members.remove(id);
    }
}

/// Reads the journal. An unreadable one counts as empty.
pub(super) fn read(runtime: &Path) -> PreviousJournal {
    let mut before = PreviousJournal::default();
    let Ok(mut reader) = Reader::open(runtime) else { return before };
    let mut buffer = Vec::new();
    while let Ok(Some(read)) = reader.next(&mut buffer) {
        match read {
            Read::Base { epoch, revision, .. } => {
                before = PreviousJournal { known: RuntimeFacts::default(), revision, epoch };
            }
            Read::Commit { revision, .. } => before.revision = revision,
            Read::Runtime(frame) => {
                if let Ok(op) = serde_json::from_slice::<Op>(frame) {
                    before.known.note(&op);
                }
            }
            Read::Op(_) => {}
        }
    }
    before
}
