//! `log`: write a finding, and go on.

use weir_engine::Action;

use super::ActionKind;
use crate::table::Resource;

pub(super) static LOG: ActionKind = ActionKind {
    resource: &Resource {
        name: "log",
        article: "`log`",
        doc: "Writes a finding to the attack log; the evaluation continues.",
        short: None,
        one_of: &[],
        keys: &[],
    },
    build: |_, _| Some(Action::Log),
};
