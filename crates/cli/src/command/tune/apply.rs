//! `--apply`: writes exclusions into a policy, if what comes out loads and says what was meant.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_policy::Snapshot;

use super::edit;
use super::exclusion::Exclusion;
use crate::command::rules::refused;
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::{Failure, body};

/// Adds the exclusions to the policy and says what was done.
pub(super) fn apply(
    path: &Path,
    exclusions: &[Exclusion],
    into: Option<&str>,
    dry_run: bool,
) -> Result<String, Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    // A link stays one: what it leads to is replaced.
    let path = fs::canonicalize(path).map_err(fail)?;
    let old = body::file(&path)?;
    let before = Snapshot::parse(&old, &path).map_err(|errors| refused(&errors, &path))?;
    let is_json = path.extension().is_some_and(|end| end == "json");
    let mut text = old.clone();
    let mut added = 0;
    let mut vias: Vec<&str> = exclusions.iter().map(|one| one.key.via.as_str()).collect();
    vias.dedup();
    for via in vias {
        let of_via = exclusions.iter().filter(|one| one.key.via == via);
        let items = of_via.map(|one| if is_json { one.as_json() } else { one.as_yaml() });
        let items: Vec<String> = items.filter(|item| !text.contains(item.as_str())).collect();
        if items.is_empty() {
            continue;
        }
        let unreadable =
            |why: String| Failure::new(format!("{}: {why}", path.display())).hint("paste the patch by hand");
        let actions = edit::rule_set_actions(&text).map_err(unreadable)?;
        let action = choose(&actions, into, via, &path)?;
        added += items.len();
        text = edit::add(&text, action, &items)
            .map_err(|why| Failure::new(format!("{}: rule {}: {why}", path.display(), action.rule)))
            .map_err(|failure| failure.hint("paste the patch by hand"))?;
    }
    let style = Style::of(Stream::Err);
    let name = path.display();
    if added == 0 {
        return Ok(format!("{name} already has these exclusions\n"));
    }
    let after = Snapshot::parse(&text, &path).map_err(|errors| refused(&errors, &path))?;
    let more = count(&after).saturating_sub(count(&before));
    if more != added {
        return Err(Failure::new(format!(
            "{name}: of {}, {more} would be read",
            counted(added as u64, "written exclusion")
        ))
        .hint("nothing was changed; paste the patch by hand"));
    }
    let what = counted(added as u64, "exclusion");
    if dry_run {
        return Ok(format!("{}{name} would load with {what} more; nothing was written\n", difference(&old, &text)));
    }
    replace(&path, &text)?;
    Ok(format!("{}\n", style.green(&format!("{name}: added {what}; `nginx -s reload` activates them"))))
}

/// The rule to change: the one named, the one that the log names, or the only one.
fn choose<'s>(
    actions: &'s [edit::RuleSetAction],
    into: Option<&str>,
    via: &str,
    path: &Path,
) -> Result<&'s edit::RuleSetAction, Failure> {
    let wanted = into.unwrap_or(via);
    if let Some(action) = actions.iter().find(|action| action.rule == wanted) {
        return Ok(action);
    }
    match (actions, into) {
        ([only], None) => Ok(only),
        ([], _) => Err(Failure::new(format!("{}: none of its rules runs a rule set", path.display()))),
        _ => {
            let known: Vec<&str> = actions.iter().map(|action| action.rule.as_str()).collect();
            Err(Failure::new(format!("{} has no rule {wanted} that runs a rule set", path.display()))
                .hint(format!("--into names the rule to change: {}", known.join(", "))))
        }
    }
}

/// Exclusions of all rule sets in use.
fn count(snapshot: &Snapshot) -> usize {
    let policies = snapshot.specification().policies.iter();
    let rules = policies.flat_map(|policy| &policy.selectors).flat_map(|selector| &selector.rules);
    let sets = rules.flat_map(|rule| &rule.actions).filter_map(|action| action.info().rule_set);
    sets.map(|profile| profile.exclusion_count()).sum()
}

/// Lines that were added or changed.
fn difference(old: &str, new: &str) -> String {
    let known: std::collections::HashSet<&str> = old.lines().collect();
    new.lines().filter(|line| !known.contains(line)).map(|line| format!("+ {line}\n")).collect()
}

/// Replaces a file by one that is complete before it has the name.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let fail = |error: std::io::Error| {
        Failure::new(format!("{}: {error}", path.display())).hint("nothing was changed; paste the patch by hand")
    };
    let temporary = beside(path);
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let metadata = fs::metadata(path)?;
        file.set_permissions(metadata.permissions())?;
        // Only root can give a file away; for others it stays theirs.
        let _ = std::os::unix::fs::fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        fail(error)
    })
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}
