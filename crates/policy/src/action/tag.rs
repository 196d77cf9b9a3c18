//! `tag`: remember a word, for later rules and the logs.

use weir_engine::Action;

use super::ActionKind;
use crate::table::{Key, Kind, Need, Resource, Word};

pub(super) static TAG: ActionKind = ActionKind {
    resource: &Resource {
        name: "tag",
        article: "`tag`",
        doc: "Sets a tag, which later rules can read in `weir.tags[*]`, and which the logs contain. `tag: NAME` is short for `tag: {name: NAME}`.",
        short: Some("name"),
        one_of: &[],
        keys: &[Key { name: "name", kind: Kind::Word(Word::Id), need: Need::Required, doc: "The tag." }],
    },
    build: |fields, _| Some(Action::Tag(fields.text("name")?.to_owned())),
};
