//! What is found out while running: health and addresses of members. It is no part of a revision, but a worker that
//! starts must know it, so the latest of each member goes into every new generation of the journal.

use std::collections::BTreeMap;
use std::path::Path;

use weir_bus::{Read, Reader};
use weir_gateway::op::Op;
use weir_resource::ResourceKind;

use crate::state::State;

/// The latest of each member, as frames.
#[derive(Debug, Default)]
pub(super) struct Known {
    members: BTreeMap<String, Facts>,
}

#[derive(Debug, Default)]
struct Facts {
    health: Option<Vec<u8>>,
    addresses: Option<Vec<u8>>,
}

/// What the journal said before control was started.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub known: Known,
    /// The last revision.
    pub revision: u64,
    /// Which history it was of.
    pub epoch: u64,
}

impl Known {
    /// Notes an operation; its frame if it is one of these.
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

    /// Frames of members that are there; those of others are forgotten.
    pub fn frames(&mut self, state: &State) -> Vec<Vec<u8>> {
        self.members.retain(|id, _| state.get(ResourceKind::Members, id).is_some());
        let facts = self.members.values();
        facts.flat_map(|facts| [&facts.health, &facts.addresses]).flatten().cloned().collect()
    }

    /// A member that is new under this name knows nothing of its predecessor.
    pub fn forget(&mut self, id: &str) {
        self.members.remove(id);
    }
}

/// Reads what is in the journal. One that cannot be read holds nothing.
pub(super) fn read(runtime: &Path) -> Before {
    let mut before = Before::default();
    let Ok(mut reader) = Reader::open(runtime) else { return before };
    let mut buffer = Vec::new();
    while let Ok(Some(read)) = reader.next(&mut buffer) {
        match read {
            Read::Base { epoch, revision, .. } => {
                before = Before { known: Known::default(), revision, epoch };
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
