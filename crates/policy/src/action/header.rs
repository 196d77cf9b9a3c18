//! `set_header` and `remove_header`.

use weir_engine::{Action, Side};

use super::ActionKind;
use crate::check::Fields;
use crate::table::{Key, Kind, Need, Resource};

const ON: Key = Key {
    name: "on",
    kind: Kind::Choice(&[("request", "the request to the origin"), ("response", "the response to the client")]),
    need: Need::Default("request"),
    doc: "The message that is changed.",
};

const NAME: Key = Key { name: "name", kind: Kind::HeaderName, need: Need::Required, doc: "Name of the header field." };

pub(super) static SET_HEADER: ActionKind = ActionKind {
    resource: &Resource {
        name: "set_header",
        article: "`set_header`",
        doc: "Sets a header field; the evaluation continues. All fields with this name are replaced.",
        short: None,
        one_of: &[],
        keys: &[
            ON,
            NAME,
            Key {
                name: "value",
                kind: Kind::Value,
                need: Need::Required,
                doc: "The value: an expression such as 'ip.src.country', or '\"text\"' for a constant.",
            },
        ],
    },
    build: |fields, builder| {
        let value = builder.header_value(fields, "value");
        Some(Action::SetHeader(side(fields), fields.text("name")?.into(), value?))
    },
};

pub(super) static REMOVE_HEADER: ActionKind = ActionKind {
    resource: &Resource {
        name: "remove_header",
        article: "`remove_header`",
        doc: "Removes all header fields with this name; the evaluation continues. `remove_header: NAME` is short for `remove_header: {name: NAME}`.",
        short: Some("name"),
        one_of: &[],
        keys: &[ON, NAME],
    },
    build: |fields, _| Some(Action::RemoveHeader(side(fields), fields.text("name")?.into())),
};

/// Which message; whether the rule still can change it is checked with the rule.
fn side(fields: &Fields<'_>) -> Side {
    if fields.choice("on") == Some("response") { Side::Response } else { Side::Request }
}
