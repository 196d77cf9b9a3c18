//! `inspect`: ask a remote detector.

use std::sync::Arc;

use weir_engine::Action;
use weir_gateway::resource::ResourceKind;

use super::ActionKind;
use crate::document::quoted;
use crate::table::{Key, Kind, Need, Resource};

pub(super) static INSPECT: ActionKind = ActionKind {
    resource: &Resource {
        name: "inspect",
        article: "`inspect`",
        doc: "Asks an inspector, a remote detector, about the request. The evaluation goes on, and all inspectors that rules ask are asked at once at the end of the phase, or before a rule that reads tags or the consumer; the request waits for the slowest answer, no longer than its deadline. A rule that refuses the request meanwhile spares the question. `inspect: ID` is short for `inspect: {inspector: ID}`.",
        short: Some("inspector"),
        one_of: &[],
        keys: &[Key {
            name: "inspector",
            kind: Kind::Id(ResourceKind::Inspectors),
            need: Need::Required,
            doc: "The id of an entry in `inspectors`.",
        }],
    },
    build: |fields, builder| {
        let id = fields.text("inspector")?;
        if let Some(built) = builder.inspectors.get(id) {
            let (inspector, key) = built.as_ref()?;
            return Some(Action::Inspect(Arc::clone(inspector), key.clone()));
        }
        let hint = match weir_rules::nearest(id, builder.inspectors.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`inspectors` has the remote detectors".to_owned(),
        };
        let node = fields.get("inspector")?.node;
        builder.fault(node, format!("there is no inspector {}", quoted(id)), Some(hint));
        None
    },
};
