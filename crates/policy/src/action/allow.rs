//! `allow`: stop evaluating.

use weir_engine::{Action, AllowScope};

use super::ActionKind;
use crate::table::{Key, Kind, Need, Resource};

pub(super) static ALLOW: ActionKind = ActionKind {
    resource: &Resource {
        name: "allow",
        article: "`allow`",
        doc: "Lets the request pass without evaluating later rules. `allow: all` is short for `allow: {scope: all}`.",
        short: Some("scope"),
        one_of: &[],
        keys: &[Key {
            name: "scope",
            kind: Kind::Choice(&[
                ("policy", "the rest of this policy is skipped"),
                ("all", "the rest of all policies is skipped"),
            ]),
            need: Need::Default("policy"),
            doc: "The rules that are skipped.",
        }],
    },
    build: |fields, _| {
        let scope = if fields.choice("scope") == Some("all") { AllowScope::All } else { AllowScope::Policy };
        Some(Action::Allow(scope))
    },
};
