//! What `crs` and `rule_set` share: their common keys, and the way from files to the action.

use std::path::PathBuf;
use std::sync::Arc;

use weir_engine::Action;
use weir_engine::seclang::{Profile, Program, Tuning};
use weir_rules::seclang::{OnUnsupported, Options, RuleSource};

use crate::build::Builder;
use crate::check::{Fields, Item, Value};
use crate::document::{Node, quoted};
use crate::rule_set::{exclusions, expand, is_wild};
use crate::table::{EXCLUSION, Key, Kind, Need, Word};

pub(super) const EXCLUDE: Key = Key {
    name: "exclude",
    kind: Kind::List(&Kind::Resource(&EXCLUSION), false),
    need: Need::Default("nothing"),
    doc: "Rules, or targets of rules, to exclude.",
};

pub(super) const DETECT: Key = Key {
    name: "detect",
    kind: Kind::Flag,
    need: Need::Default("`false`"),
    doc: "Whether decisions of the rules are only logged.",
};

pub(super) const REQUEST_BODY: Key = Key {
    name: "request_body",
    kind: Kind::Flag,
    need: Need::Default("as in the files (`SecRequestBodyAccess`), else `true`"),
    doc: "Whether rules see the request body, up to `weir_body_limit`.",
};

pub(super) const RESPONSE_BODY: Key = Key {
    name: "response_body",
    kind: Kind::Flag,
    need: Need::Default("as in the files (`SecResponseBodyAccess`), else `false`"),
    doc: "Whether rules see the response body, which is then held back until they have seen it. Weir asks the origin not to compress it.",
};

pub(super) const VARIABLES: Key = Key {
    name: "variables",
    kind: Kind::Map(&Kind::Word(Word::Variable), &Kind::Text),
    need: Need::Default("none"),
    doc: "Additional variables of `TX`, such as `allowed_methods: GET HEAD POST`.",
};

pub(super) const ON_UNSUPPORTED: Key = Key {
    name: "on_unsupported",
    kind: Kind::Choice(&[
        ("error", "the policy is rejected"),
        ("warn", "the rule or directive is left out, with a warning"),
    ]),
    need: Need::Default("error"),
    doc: "The handling of unsupported features in the files.",
};

/// What holds unless the files say otherwise.
const DEFAULTS: &str = "SecRuleEngine On\nSecRequestBodyAccess On\nSecResponseBodyAccess Off\n";

/// Text that stands between files.
pub(super) fn text(name: &str, text: impl Into<String>) -> RuleSource {
    RuleSource::Text { name: name.to_owned(), text: text.into() }
}

/// The action that runs `roots` with what `fields` and `settings` say, or `None` after reporting
/// what is wrong.
pub(super) fn action(
    fields: &Fields<'_>,
    builder: &mut Builder<'_>,
    plugin: &'static str,
    roots: Vec<RuleSource>,
    mut settings: Vec<(Vec<u8>, Vec<u8>)>,
) -> Option<Action> {
    let mut all = vec![text("defaults of weir", DEFAULTS)];
    all.extend(roots);
    let on_unsupported = match fields.choice("on_unsupported") {
        Some("warn") => OnUnsupported::Warn,
        _ => OnUnsupported::Error,
    };
    let options = Options { on_unsupported, geo: builder.has_countries(), ..Options::default() };
    let (program, first) = builder.program(&all, &options, plugin)?;
    for (node, name, item) in fields.map("variables") {
        if let Value::Text(value) = item.value {
            let name = name.to_ascii_lowercase();
            check_variable((node, &name), (item.node, value), &program, builder);
            settings.push((name.into_bytes(), value.as_bytes().to_vec()));
        }
    }
    let tuning = Tuning {
        detect: builder.detects || fields.flag("detect").unwrap_or_default(),
        exclusions: exclusions(fields, &program, builder),
        settings,
        request_body: fields.flag("request_body"),
        response_body: fields.flag("response_body"),
        processors_by_content_type: true,
        ..Tuning::default()
    };
    let profile = Profile::new(program, first, tuning);
    if !builder.has_countries() {
        let hint = builder.geo_hint("country");
        for rule in profile.geo_lookups() {
            let message = "`@geoLookup` never matches: no database of countries is configured";
            builder.warn_of_rule(profile.program(), rule, message, hint.clone());
        }
    }
    Some(Action::RuleSet(Arc::new(profile)))
}

/// Whether the rules use a variable, as a number if that is what they compare it with. A misspelt name is an error; of
/// any other, rules of another version may know it, so that it is a warning.
fn check_variable(
    (name_node, name): (&Node, &str),
    (node, value): (&Node, &str),
    program: &Program,
    builder: &mut Builder<'_>,
) {
    let near = match program.variables().any(|known| known == name) {
        true if program.is_number(name) && value.parse::<i64>().is_err() => {
            let message = format!("expected an integer for `{name}`, found {}", quoted(value));
            return builder.fault(node, message, Some("rules compare it as a number".to_owned()));
        }
        true => return,
        false => weir_rules::nearest(name, program.variables()),
    };
    let message = format!("no rule of the set uses a variable `{name}`");
    match near {
        Some(near) => builder.fault(name_node, message, Some(format!("did you mean `{near}`?"))),
        None => builder.warn(name_node, message, Some("it has no effect; remove it".to_owned())),
    }
}

/// The rules of a named set. Errors in its text name it as [`named`] does.
pub(crate) fn set(name: &str, fields: &Fields<'_>, builder: &mut Builder<'_>) -> Vec<RuleSource> {
    match fields.text("rules") {
        Some(rules) => vec![text(&named(name), rules)],
        None => files(fields.items("files"), builder).into_iter().map(RuleSource::File).collect(),
    }
}

/// What errors call the text of a rule set.
pub(crate) fn named(set: &str) -> String {
    format!("rule_sets/{set}")
}

/// The files that the items of a list name, in order, each pattern's sorted.
pub(super) fn files(items: &[Item<'_>], builder: &mut Builder<'_>) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for item in items {
        let Value::Text(pattern) = item.value else { continue };
        let path = builder.folder.join(pattern);
        if !builder.is_absolute(&path, item) {
            continue;
        }
        if is_wild(path.as_os_str()) {
            builder.uses_listing(&path);
        }
        match expand(builder.files, &path) {
            Ok(files) => all.extend(files),
            Err(error) => {
                let hint = builder.is_relative(pattern).then(|| "paths are relative to the policy file".to_owned());
                builder.fault(item.node, format!("`{pattern}`: {}", error.describe()), hint);
            }
        }
    }
    all
}
