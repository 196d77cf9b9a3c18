//! `redirect`: send the client elsewhere.

use weir_engine::Action;

use super::ActionKind;
use crate::table::{Key, Kind, Need, Resource};

/// RFC 9110, section 15.4, those with a `Location`.
const STATUSES: &[i64] = &[301, 302, 303, 307, 308];

pub(super) static REDIRECT: ActionKind = ActionKind {
    resource: &Resource {
        name: "redirect",
        article: "`redirect`",
        doc: "Answers with a redirect and ends the evaluation. `redirect: VALUE` is short for `redirect: {to: VALUE}`.",
        short: Some("to"),
        one_of: &[],
        keys: &[
            Key {
                name: "to",
                kind: Kind::Value,
                need: Need::Required,
                doc: "The value of `Location`, such as '\"/login\"' or 'concat(\"https://\", http.host, http.request.uri)'.",
            },
            Key { name: "status", kind: Kind::OneOf(STATUSES), need: Need::Default("302"), doc: "Status code." },
        ],
    },
    build: |fields, builder| {
        let status = fields.integer("status").unwrap_or(302);
        let to = builder.header_value(fields, "to")?;
        Some(Action::Redirect { status: u16::try_from(status).ok()?, to })
    },
};
