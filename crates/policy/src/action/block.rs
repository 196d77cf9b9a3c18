//! `block`: answer instead of the origin.

use weir_engine::Action;

use super::{ActionKind, answer};
use crate::table::{Key, Kind, Need, Resource};

pub(super) static BLOCK: ActionKind = ActionKind {
    resource: &Resource {
        name: "block",
        article: "`block`",
        doc: "Answers instead of the origin and ends the evaluation. `block: 404` is short for `block: {status: 404}`.",
        short: Some("status"),
        one_of: &[],
        keys: &[
            Key {
                name: "status",
                kind: Kind::Integer(200, 599),
                need: Need::Default("403"),
                doc: "Status code of the answer.",
            },
            answer::BODY,
            answer::CONTENT_TYPE,
            answer::HEADERS,
        ],
    },
    build: |fields, builder| Some(Action::Block(answer::response(fields, builder, 403)?)),
};
