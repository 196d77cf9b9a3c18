//! `rule_set`: run files of SecLang rules.

use weir_engine::seclang::SETTINGS_MARKER;
use weir_rules::seclang::Root;

use super::{ActionKind, sec_lang};
use crate::table::{Key, Kind, Need, Resource};

pub(super) static RULE_SET: ActionKind = ActionKind {
    resource: &Resource {
        name: "rule_set",
        article: "`rule_set`",
        doc: "Runs a set of SecLang rules (ModSecurity's language) from here on: rules of phase 1 now, the others as body and response come. `SecRuleEngine` is on unless the files say otherwise. The rule that runs it may read only the request's head.",
        short: None,
        keys: &[
            Key {
                name: "files",
                kind: Kind::List(&Kind::File, true),
                need: Need::Required,
                doc: "The files, in this order; a name may have `*` and `?`. What they `Include` is read too.",
            },
            sec_lang::EXCLUDE,
            sec_lang::DETECT,
            sec_lang::REQUEST_BODY,
            sec_lang::RESPONSE_BODY,
            sec_lang::VARIABLES,
            sec_lang::ON_UNSUPPORTED,
        ],
    },
    build: |fields, builder| {
        let files = sec_lang::files(fields.items("files"), builder);
        if files.is_empty() {
            return None; // reported
        }
        let mut roots = vec![sec_lang::text("settings of the policy", format!("SecMarker {SETTINGS_MARKER}\n"))];
        roots.extend(files.into_iter().map(Root::File));
        sec_lang::action(fields, builder, "rule_set", roots, Vec::new())
    },
};
