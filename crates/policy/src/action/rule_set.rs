//! `rule_set`: run SecLang rules, from files or from a set that the policy names.

use weir_engine::seclang::SETTINGS_MARKER;
use weir_gateway::resource::ResourceKind;
use weir_rules::seclang::RuleSource;

use super::{ActionKind, sec_lang};
use crate::build::Builder;
use crate::check::Fields;
use crate::document::quoted;
use crate::table::{Key, Kind, Need, Resource};

pub(super) static RULE_SET: ActionKind = ActionKind {
    resource: &Resource {
        name: "rule_set",
        article: "`rule_set`",
        doc: "Runs a set of rules in SecLang, ModSecurity's language: rules of phase 1 at once, the others when the body and the response arrive. `SecRuleEngine` is on unless the files say otherwise. The condition of the rule may read only the head of the request.",
        short: None,
        one_of: &["files", "set"],
        keys: &[
            Key {
                name: "files",
                kind: Kind::List(&Kind::File, true),
                need: Need::Default("`set`"),
                doc: "The files, in this order; names may contain `*` and `?`. Files that they `Include` are also read. Either `files` or `set` is required.",
            },
            Key {
                name: "set",
                kind: Kind::Id(ResourceKind::RuleSets),
                need: Need::Default("`files`"),
                doc: "The name of an entry in `rule_sets`, instead of `files`.",
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
        let action = sec_lang::action(fields, builder, "rule_set", roots, Vec::new());
        builder.set = None;
        action
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
    if let Some((roots, source)) = builder.rule_sets.get(set).cloned() {
        builder.set = Some(source);
        builder.used_sets.insert(set.to_owned());
        return Some(roots);
    }
    let known = builder.rule_sets.keys().map(String::as_str);
    let hint = match weir_rules::nearest(set, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`rule_sets` of the policy has the named ones".to_owned(),
    };
    builder.fault(item.node, format!("there is no rule set {}", quoted(set)), Some(hint));
    None
}
