//! `crs`: run the OWASP Core Rule Set, from Debian's package or any checkout, as it is.
//!
//! What a policy states wins over the setup file; what it does not state is the setup file's
//! business, and CRS's own initialisation has the rest. So the setup comes first, then a marker
//! at which the engine sets what the policy states, then the rules, whose initialisation only
//! sets what is not there yet. Names of both CRS 3 and CRS 4 are set: each ignores the other's.

use std::path::{Path, PathBuf};

use weir_engine::seclang::SETTINGS_MARKER;
use weir_rules::seclang::RuleSource;

use super::{ActionKind, sec_lang};
use crate::build::Builder;
use crate::check::Fields;
use crate::rule_set::expand;
use crate::table::{Key, Kind, Need, Resource};

/// Where Debian's `modsecurity-crs` puts the rules.
const DEBIAN_PATH: &str = "/usr/share/modsecurity-crs";
/// Where it puts what is to be edited.
const DEBIAN_SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";

pub(super) static CRS: ActionKind = ActionKind {
    resource: &Resource {
        name: "crs",
        article: "`crs`",
        doc: "Runs the OWASP Core Rule Set, version 3 or 4, unedited. `crs: PATH` is short for `crs: {path: PATH}`. Settings in the policy take precedence over the setup file, and the setup file over the defaults of CRS (paranoia level 1, thresholds 5 and 4). The condition of the rule may read only the head of the request.",
        short: Some("path"),
        one_of: &[],
        keys: &[
            Key {
                name: "path",
                kind: Kind::File,
                need: Need::Default("/usr/share/modsecurity-crs"),
                doc: "The directory that contains `rules/`, of a package or a checkout. Plugins of CRS 4 in its `plugins/` are also read.",
            },
            Key {
                name: "setup",
                kind: Kind::File,
                need: Need::Default("`crs-setup.conf` in `path`"),
                doc: "The setup file. If `path` has none, it is Debian's /etc/modsecurity/crs/crs-setup.conf for a `path` below /usr/share, and `crs-setup.conf.example` in a fresh checkout, with a warning. `REQUEST-900-EXCLUSION*.conf` and `RESPONSE-999-EXCLUSION*.conf` beside it are read before and after the rules.",
            },
            Key {
                name: "paranoia",
                kind: Kind::Integer(1, 4),
                need: Need::Default("that of the setup file, otherwise 1"),
                doc: "The paranoia level whose rules count. Higher levels are stricter and cause more false positives.",
            },
            Key {
                name: "executing_paranoia",
                kind: Kind::Integer(1, 4),
                need: Need::Default("`paranoia`"),
                doc: "The paranoia level whose rules run; those above `paranoia` are logged, but do not count. CRS 4 calls it the detection paranoia level.",
            },
            Key {
                name: "inbound_threshold",
                kind: Kind::Integer(1, MAX_THRESHOLD),
                need: Need::Default("that of the setup file, otherwise 5"),
                doc: "The score from which a request is blocked; a critical rule scores 5.",
            },
            Key {
                name: "outbound_threshold",
                kind: Kind::Integer(1, MAX_THRESHOLD),
                need: Need::Default("that of the setup file, otherwise 4"),
                doc: "The score from which a response is blocked.",
            },
            sec_lang::EXCLUDE,
            sec_lang::DETECT,
            sec_lang::REQUEST_BODY,
            sec_lang::RESPONSE_BODY,
            sec_lang::VARIABLES,
            Key {
                name: "before",
                kind: Kind::List(&Kind::File, false),
                need: Need::Default("none"),
                doc: "SecLang files that are read after the setup file and before the rules; names may contain `*` and `?`.",
            },
            Key {
                name: "after",
                kind: Kind::List(&Kind::File, false),
                need: Need::Default("none"),
                doc: "SecLang files that are read after the rules, such as those with `SecRuleUpdateTargetById`.",
            },
            sec_lang::ON_UNSUPPORTED,
        ],
    },
    build: |fields, builder| {
        let settings = settings(fields, builder);
        let roots = roots(fields, builder)?;
        sec_lang::action(fields, builder, "crs", roots, settings)
    },
};

/// Highest threshold: no request scores so high.
const MAX_THRESHOLD: i64 = 1_000_000;

/// Keys of the action, and the variables that they set: CRS 3's and CRS 4's names.
const SETTINGS: [(&str, &[&str]); 4] = [
    ("paranoia", &["paranoia_level", "blocking_paranoia_level"]),
    ("executing_paranoia", &["executing_paranoia_level", "detection_paranoia_level"]),
    ("inbound_threshold", &["inbound_anomaly_score_threshold"]),
    ("outbound_threshold", &["outbound_anomaly_score_threshold"]),
];

/// What the policy states, as variables.
fn settings(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for (key, variables) in SETTINGS {
        // A setup file that runs fewer rules than count is refused by CRS in every request.
        let stated = match (key, fields.key_node(key)) {
            ("executing_paranoia", None) => fields.integer("paranoia"),
            _ => fields.integer(key),
        };
        let Some(number) = stated else { continue };
        all.extend(variables.iter().map(|name| (name.as_bytes().to_vec(), number.to_string().into_bytes())));
    }
    if let (Some(paranoia), Some(executing)) = (fields.integer("paranoia"), fields.integer("executing_paranoia"))
        && executing < paranoia
        && let Some(node) = fields.key_node("executing_paranoia")
    {
        let message = format!("`executing_paranoia` {executing} is below `paranoia` {paranoia}");
        builder.fault(node, message, Some("rules that do not run cannot count".to_owned()));
    }
    all
}

/// All files in their order, or `None` after reporting which are missing.
fn roots(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Vec<RuleSource>> {
    let path = builder.folder.join(fields.text("path").unwrap_or(DEBIAN_PATH));
    let node = fields.get("path").map_or(fields.node, |item| item.node);
    let rules = path.join("rules/*.conf");
    builder.uses_listing(&rules);
    let rules = match expand(builder.files, &rules) {
        Ok(rules) => rules,
        Err(_) => {
            let message = format!("there are no CRS rules in `{}`", path.join("rules").display());
            let hint = "install the package modsecurity-crs, or give the folder of a checkout as `path`".to_owned();
            builder.fault(node, message, Some(hint));
            return None;
        }
    };
    let setup = setup(fields, &path, builder)?;
    let beside = setup.parent().filter(|folder| *folder != path.join("rules")).unwrap_or(Path::new("/"));
    let plugins = path.join("plugins");
    // As in the configuration that ModSecurity's packages recommend: without the map `%uff1c` is not
    // the `<` that servers make of it.
    let unicode = sec_lang::text("unicode map", "SecUnicodeMapFile unicode.mapping 20127\n");
    let mut roots = vec![unicode, RuleSource::File(setup.clone())];
    roots.extend(optional(builder, &plugins, "*-config.conf"));
    roots.push(sec_lang::text("settings of the policy", format!("SecMarker {SETTINGS_MARKER}\n")));
    roots.extend(optional(builder, beside, "REQUEST-900-EXCLUSION*.conf"));
    roots.extend(sec_lang::files(fields.items("before"), builder).into_iter().map(RuleSource::File));
    roots.extend(optional(builder, &plugins, "*-before.conf"));
    if !has_body_checks(builder, &roots) {
        roots.push(sec_lang::text("body checks", BODY_CHECKS));
    }
    roots.extend(rules.into_iter().map(RuleSource::File));
    roots.extend(optional(builder, &plugins, "*-after.conf"));
    roots.extend(sec_lang::files(fields.items("after"), builder).into_iter().map(RuleSource::File));
    roots.extend(optional(builder, beside, "RESPONSE-999-EXCLUSION*.conf"));
    Some(roots)
}

/// What ModSecurity's recommended configuration checks with the same numbers: bodies that could not
/// be read as their `Content-Type` says (200002, which covers 200003), and more arguments
/// than are read (200007). Here they score like CRS's own rules, of both versions.
const BODY_CHECKS: &str = r#"
SecRule REQBODY_ERROR "@eq 1" "id:200002,phase:2,pass,t:none,msg:'Request body could not be read completely',\
    logdata:'%{REQBODY_ERROR_MSG}',tag:'attack-protocol',tag:'paranoia-level/1',severity:'CRITICAL',\
    setvar:'tx.anomaly_score_pl1=+%{tx.critical_anomaly_score}',\
    setvar:'tx.inbound_anomaly_score_pl1=+%{tx.critical_anomaly_score}'"
SecRule &ARGS|&REQUEST_COOKIES "@ge 10000" "id:200007,phase:2,pass,t:none,msg:'More arguments or cookies than are read',\
    logdata:'%{MATCHED_VAR_NAME} has %{MATCHED_VAR} members',tag:'attack-protocol',tag:'paranoia-level/1',severity:'CRITICAL',\
    setvar:'tx.anomaly_score_pl1=+%{tx.critical_anomaly_score}',\
    setvar:'tx.inbound_anomaly_score_pl1=+%{tx.critical_anomaly_score}'"
"#;

/// Largest file in which they are looked for.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;

/// Whether one of the files is ModSecurity's configuration, or another with these rules.
fn has_body_checks(builder: &Builder<'_>, roots: &[RuleSource]) -> bool {
    roots.iter().any(|root| match root {
        RuleSource::File(path) => builder.files.content(path, MAX_SEARCHED_BYTES).is_ok_and(|text| {
            let text = String::from_utf8_lossy(&text);
            ["id:200002", "id:'200002'"].iter().any(|rule| text.contains(rule))
        }),
        RuleSource::Text { .. } => false,
    })
}

/// Files that may be there.
fn optional(builder: &Builder<'_>, folder: &Path, pattern: &str) -> impl Iterator<Item = RuleSource> + use<> {
    let pattern = folder.join(pattern);
    builder.uses_listing(&pattern);
    expand(builder.files, &pattern).unwrap_or_default().into_iter().map(RuleSource::File)
}

/// The setup file.
fn setup(fields: &Fields<'_>, path: &Path, builder: &mut Builder<'_>) -> Option<PathBuf> {
    if let Some(setup) = fields.text("setup") {
        return Some(builder.folder.join(setup));
    }
    let own = path.join("crs-setup.conf");
    builder.uses_listing(&own);
    if builder.files.is_file(&own) {
        return Some(own);
    }
    if path.starts_with("/usr/share") && builder.files.is_file(Path::new(DEBIAN_SETUP)) {
        return Some(DEBIAN_SETUP.into());
    }
    let example = path.join("crs-setup.conf.example");
    let node = fields.get("path").map_or(fields.node, |item| item.node);
    if builder.files.is_file(&example) {
        let message = format!("`{}` is used: there is no `{}`", example.display(), own.display());
        builder.warn(node, message, Some("copy it to `crs-setup.conf`, or name a file as `setup`".to_owned()));
        return Some(example);
    }
    let message = format!("there is no setup file `{}`", own.display());
    builder.fault(node, message, Some("name it as `setup`".to_owned()));
    None
}
