//! Certificates.

use weir_gateway::op::Op;
use weir_gateway::resource::{Certificate, Resource};

use super::Maker;
use crate::certificate::{Facts, Part, examine};
use weir_policy::check::Fields;

impl Maker<'_> {
    pub(super) fn certificate(&mut self, fields: &Fields<'_>) {
        // The sandbox loads it as workers will.
        self.checked.compiled = true;
        let (Some(chain), Some(key)) = (fields.text("certificate"), fields.text("key")) else { return };
        match examine(chain, key, self.now) {
            Ok(Facts { names, not_after }) => {
                let (chain, key) = (chain.to_owned(), key.to_owned());
                let certificate = Certificate { id: self.id.to_owned(), chain, key, names, not_after };
                self.checked.op = Some(Op::Put(Resource::Certificate(certificate)));
            }
            Err(faults) => {
                for fault in faults {
                    let key = if fault.part == Part::Key { "key" } else { "certificate" };
                    let node = fields.get(key).map_or(fields.node, |item| item.node);
                    self.fault(node, fault.message, fault.hint);
                }
            }
        }
    }
}
