//! The commands in groups, in the order in which an operator comes to need them. clap lists subcommands but cannot group
//! them, so the list in its template is made here, from this table and what each command says about itself.

use std::fmt::Write as _;

use clap::Subcommand as _;
use clap::builder::{StyledStr, Styles};

/// Headings with their commands; every command that help shows is in exactly one of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Serve", &["up", "control", "inspector"]),
    ("Configure", &["check", "apply", "put", "patch", "delete", "refresh", "rollback", "schema"]),
    ("Observe", &["status", "get", "revisions", "diff", "watch", "subscribe"]),
    ("Tune rules", &["explain", "rules", "replay", "tune", "sign"]),
    ("Measure costs", &["cost", "profile", "diagnose", "baseline", "ablate"]),
    ("Operate", &["silence", "log-level", "ban", "unban", "bans", "publish", "probes", "token", "backup", "restore"]),
    ("The command itself", &["help", "completions", "docs", "version"]),
];

/// clap makes this command when it parses, after the help is made.
const HELP: (&str, &str) = ("help", "Print this help, or that of a command");

/// The help of `weir` itself.
pub(super) fn template() -> StyledStr {
    let commands = super::Command::augment_subcommands(clap::Command::new("weir"));
    let about = |name: &str| match commands.find_subcommand(name).and_then(clap::Command::get_about) {
        Some(about) => about.to_string(),
        None => if name == HELP.0 { HELP.1 } else { "" }.to_owned(),
    };
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let styles = Styles::styled();
    let (head, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{head}{heading}:{head:#}");
        for name in *names {
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:1$}{2}", "", width - name.len() + 2, about(name));
        }
    }
    let _ = write!(text, "\n{head}Options:{head:#}\n{{options}}{{after-help}}");
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of the narrowest usual terminal.
    const COLUMNS: usize = 80;

    #[test]
    fn every_command_is_in_one_group_and_has_a_line() {
        let commands = super::super::Command::augment_subcommands(clap::Command::new("weir"));
        let mut shown: Vec<&str> =
            commands.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name()).collect();
        shown.push(HELP.0);
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown, "commands in the groups, and commands");
        let text = template().to_string();
        let lines = text.lines().filter(|line| line.starts_with("  "));
        let bad: Vec<&str> = lines.filter(|line| line.len() > COLUMNS || !line.trim().contains("  ")).collect();
        assert!(bad.is_empty(), "longer than {COLUMNS} characters, or without a description: {bad:#?}");
    }
}
