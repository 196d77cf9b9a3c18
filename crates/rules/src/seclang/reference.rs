//! The reference page of SecLang, generated from the tables.

use std::fmt::Write;

use weir_transform::Transformation;

use super::limits::Limits;
use super::table::action::ACTIONS;
use super::table::control::CONTROLS;
use super::table::directive::DIRECTIVES;
use super::table::operator::OPERATORS;
use super::table::variable::VARIABLES;
use super::table::{MANUAL, Row, Status};

const INTRODUCTION: &str = "\
# SecLang: reference

<!-- Made by `weir docs` from the tables in crates/rules; do not edit. -->

The rule language of ModSecurity v3, to the extent used by the OWASP Core Rule Set 3.3 and 4 and by custom rule files.
Names link to ModSecurity's reference manual. A word that is *not supported* is an error when rules are loaded; with
`on_unsupported: warn` it is a warning, and the rule is left out with its whole chain. A word with *no effect* is
accepted, and the reason is given.

Where versions 2 and 3 of ModSecurity differ, Weir follows version 3.0.9:

- a rule without `phase` runs in phase 1, one without a disruptive action does not disrupt, and `block` applies the
  `SecDefaultAction` of its phase, wherever that stands in the files;
- `setvar` runs at each match of its own rule; all other actions of a chain run once the whole chain has matched;
- tags and messages that select rules are compared literally, not as patterns;
- removals and updates apply to all rules, even to those that follow.

Improvements on 3.0.9: `SecRuleUpdateActionById` replaces the actions it names and keeps the rest, `SecAction` may be
part of a chain, ids of `SecAction` must be unique too, `expirevar` works, an unknown operator is an error and not a
pattern, and quotes are read correctly after `%` and at the beginning of a parameter.

`weir check --lint` warns about rules that are valid but surprising.
";

/// The reference page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    section(&mut page, "Directives", "", DIRECTIVES);
    section(&mut page, "Variables", "", VARIABLES);
    section(&mut page, "Operators", "@", OPERATORS);
    transformations(&mut page);
    section(&mut page, "Actions", "", ACTIONS);
    section(&mut page, "Options of `ctl`", "ctl:", CONTROLS);
    bounds(&mut page);
    page
}

fn section<K: Copy>(page: &mut String, title: &str, before: &str, rows: &[Row<K>]) {
    heads(page, title);
    for row in rows {
        let mut name = format!("[`{before}{}`]({})", row.name, row.reference());
        for alias in row.aliases {
            let _ = write!(name, " `{before}{alias}`");
        }
        line(page, &name, &status(row.status), row.meaning);
    }
}

fn heads(page: &mut String, title: &str) {
    let _ = write!(page, "\n## {title}\n\n| name | status | meaning |\n| --- | --- | --- |\n");
}

fn line(page: &mut String, name: &str, status: &str, meaning: &str) {
    // A bar would end the cell, even inside code.
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(page, "| {} | {} | {} |", cell(name), cell(status), cell(meaning));
}

fn status(status: Status) -> String {
    match status {
        Status::Supported => "yes".to_owned(),
        Status::NoEffect(why) => format!("no effect: {why}"),
        Status::OffByDefault(why) => format!("off: {why}"),
        Status::Unsupported(why) => format!("not supported: {why}"),
    }
}

fn transformations(page: &mut String) {
    heads(page, "Transformations");
    line(
        page,
        &format!("[`t:none`]({MANUAL}#none)"),
        "yes",
        "discards the transformations before it, and those of `SecDefaultAction`",
    );
    // Variants that a setting produces have no names in the language.
    let named = Transformation::ALL.iter().filter(|one| !one.info().name.contains(' '));
    for info in named.map(|one| one.info()) {
        let mut name = format!("[`t:{}`]({MANUAL}#{})", info.name, info.reference);
        for alias in info.aliases {
            let _ = write!(name, " `t:{alias}`");
        }
        line(page, &name, "yes", info.doc);
    }
}

fn bounds(page: &mut String) {
    page.push_str("\n## Limits\n\n| limit | value |\n| --- | --- |\n");
    let limits = Limits::default();
    let rows = [
        ("one file", format!("{} MiB", limits.file_bytes >> 20)),
        ("all files together", format!("{} MiB", limits.total_bytes >> 20)),
        ("files", limits.files.to_string()),
        ("nesting of `Include`", limits.include_depth.to_string()),
        ("rules, each link of a chain counted", limits.rules.to_string()),
        ("rules of one chain", limits.chain.to_string()),
        ("a parameter, message or name", format!("{} KiB", limits.value_bytes >> 10)),
        ("actions of one rule", limits.actions.to_string()),
        ("changes by updates, counted per rule", limits.changes.to_string()),
        ("variables of one rule", limits.targets.to_string()),
        ("reported problems", limits.problems.to_string()),
    ];
    for (what, most) in rows {
        let _ = writeln!(page, "| {what} | {most} |");
    }
}
