//! `rule_set`: run SecLang rules, from files or from a set that the policy names.

use weir_engine::seclang::SETTINGS_MARKER;
use weir_gateway::resource::ResourceKind;
use weir_rules::seclang::RuleSource;

use super::{ActionKind, sec_lang};
use crate::build::Builder;
use crate::check::Fields;
use crate::document::quoted;
use crate::error::nearest;
use crate::table::{Key, Kind, Need, Resource};

pub(super) static RULE_SET: ActionKind = ActionKind {
    resource: &Resource {
        name: "rule_set",
        article: "`rule_set`",
        doc: "Runs a set of SecLang rules (ModSecurity's language) from here on: rules of phase 1 now, the others as body and response come. `SecRuleEngine` is on unless the files say otherwise. The rule that runs it may read only the request's head.",
        short: None,
        one_of: &["files", "set"],
        keys: &[
            Key {
                name: "files",
                kind: Kind::List(&Kind::File, true),
                need: Need::Default("`set`"),
                doc: "The files, in this order; a name may have `*` and `?`. What they `Include` is read too. One of `files` and `set` must be there.",
            },
            Key {
                name: "set",
                kind: Kind::Id(ResourceKind::RuleSets),
                need: Need::Default("`files`"),
                doc: "One of the `rule_sets` by its name, instead of `files`.",
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
        let rules = roots(fields, builder)?;
        if rules.is_empty() {
            return None; // reported
        }
        let mut roots = vec![sec_lang::text("settings of the policy", format!("SecMarker {SETTINGS_MARKER}\n"))];
        roots.extend(rules);
        sec_lang::action(fields, builder, "rule_set", roots, Vec::new())
    },
};

/// The rules that are run, or `None` after reporting that there are none.
fn roots(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Vec<RuleSource>> {
    match (fields.key_node("files"), fields.key_node("set")) {
        (None, None) if fields.lacks(&["files", "set"]) => {
            let hint = "write `files: [...]`, or `set:` and the name of one of the `rule_sets`".to_owned();
            builder.fault(fields.node, "`rule_set` needs `files`", Some(hint));
        }
        (Some(_), Some(node)) => {
            let hint = "write two actions".to_owned();
            builder.fault(node, "`rule_set` has either `files` or `set`", Some(hint));
        }
        _ => {}
    }
    let Some(item) = fields.get("set") else {
        let files = sec_lang::files(fields.items("files"), builder);
        return Some(files.into_iter().map(RuleSource::File).collect());
    };
    let set = fields.text("set")?;
    if let Some(roots) = builder.rule_sets.get(set).cloned() {
        builder.used_sets.insert(set.to_owned());
        return Some(roots);
    }
    let known = builder.rule_sets.keys().map(String::as_str);
    let hint = match nearest(set, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`rule_sets` of the policy has the named ones".to_owned(),
    };
    builder.fault(item.node, format!("there is no rule set {}", quoted(set)), Some(hint));
    None
}
