//! `--apply`: writes exclusions into a policy file or the files of a gateway, if what comes out loads and says what was
//! meant.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_policy::Snapshot;
use weir_policy::error::fault_at;
use weir_policy::source::Source;

use super::edit::{self, RuleSetAction};
use super::exclusion::Exclusion;
use crate::Failure;
use crate::command::gateway_files::{self, Files, TextFile};
use crate::command::rules::refused;
use crate::style::{Stream, Style};
use crate::table::counted;

/// Files that are loaded together, and may be changed.
struct Target {
    files: Vec<TextFile>,
    is_gateway: bool,
    /// What messages call them.
    name: String,
}

/// Adds the exclusions to the files and says what was done.
pub(super) fn apply(
    paths: &[PathBuf],
    exclusions: &[Exclusion],
    into: Option<&str>,
    dry_run: bool,
) -> Result<String, Failure> {
    let mut target = Target::read(paths)?;
    let before = target.load()?;
    let old: Vec<String> = target.files.iter().map(|file| file.text.clone()).collect();
    let mut added = 0;
    for group in exclusions.chunk_by(|one, next| one.key.of_action() == next.key.of_action()) {
        added += target.add(group, into)?;
    }
    let name = &target.name;
    if added == 0 {
        return Ok(format!("{name} already has these exclusions\n"));
    }
    let more = count(&target.load()?).saturating_sub(count(&before));
    if more != added {
        return Err(Failure::new(format!(
            "{name}: of {}, {more} would be read",
            counted(added as u64, "written exclusion")
        ))
        .hint("nothing was changed; paste the patch by hand"));
    }
    let what = counted(added as u64, "exclusion");
    let changed: Vec<(&TextFile, &String)> =
        target.files.iter().zip(&old).filter(|(file, old)| file.text != **old).collect();
    if dry_run {
        let lines: String = changed.iter().map(|(file, old)| difference(old, &file.text)).collect();
        return Ok(format!("{lines}{name} would load with {what} more; nothing was written\n"));
    }
    replace(&changed)?;
    let names: Vec<String> = changed.iter().map(|(file, _)| file.path.display().to_string()).collect();
    let next = if target.is_gateway {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        format!("weir apply {}", paths.join(" "))
    } else {
        "nginx -s reload".to_owned()
    };
    let done = format!("{}: added {what}; `{next}` activates them", names.join(", "));
    Ok(format!("{}\n", Style::of(Stream::Err).green(&done)))
}

impl Target {
    fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        match Files::read(paths).map_err(|errors| refused(&errors.into(), &name))? {
            Some(Files::Policy(file)) => Ok(Self { files: vec![file], is_gateway: false, name }),
            Some(Files::Gateway(files)) => Ok(Self { files, is_gateway: true, name }),
            None => Err(Failure::new(format!("{name}: these are several policy files"))
                .hint("name one of them, or files for `weir apply`")),
        }
    }

    fn load(&self) -> Result<Snapshot, Failure> {
        let loaded = match self.files.as_slice() {
            [file] if !self.is_gateway => Snapshot::parse(&file.text, &file.path),
            files => {
                gateway_files::parse(files).and_then(|state| gateway_files::compile(&state, false)).map_err(Into::into)
            }
        };
        loaded.map_err(|errors| refused(&errors, &self.name))
    }

    /// Adds exclusions to the action that they belong to; how many were not there yet.
    fn add(&mut self, exclusions: &[Exclusion], into: Option<&str>) -> Result<usize, Failure> {
        let mut actions: Vec<(usize, RuleSetAction)> = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let found = edit::rule_set_actions(&file.text).map_err(|why| {
                Failure::new(format!("{}: {why}", file.path.display())).hint("paste the patch by hand")
            })?;
            actions.extend(found.into_iter().map(|action| (number, action)));
        }
        let (number, action) = self.choose(&actions, into, exclusions)?;
        let file = &self.files[*number];
        let is_json = file.path.extension().is_some_and(|end| end == "json");
        let items = exclusions.iter().map(|one| if is_json { one.as_json() } else { one.as_yaml() });
        let items: Vec<String> = items.filter(|item| !file.text.contains(item.as_str())).collect();
        if items.is_empty() {
            return Ok(0);
        }
        let text = edit::add(&file.text, action, &items).map_err(|why| {
            let source = Source::new(file.path.display().to_string(), &file.text);
            let message = format!("rule {}: {why}", action.rule);
            let hint = Some("nothing was changed; paste the patch by hand".to_owned());
            refused(&vec![fault_at(&source, action.at(), message, hint)].into(), &self.name)
        })?;
        self.files[*number].text = text;
        Ok(items.len())
    }

    /// The action to change: of the rule that is named, or that the log names; else the only one of the policy that the
    /// log names; else the only one.
    fn choose<'a>(
        &self,
        actions: &'a [(usize, RuleSetAction)],
        into: Option<&str>,
        exclusions: &[Exclusion],
    ) -> Result<&'a (usize, RuleSetAction), Failure> {
        let (policy, via) = exclusions.first().map(|one| one.key.of_action()).unwrap_or_default();
        let wanted = into.unwrap_or(via);
        let of_policy = |action: &RuleSetAction| action.policy.as_deref() == Some(policy);
        let of_rule = |action: &RuleSetAction| action.rule == wanted;
        let only = |fits: &dyn Fn(&RuleSetAction) -> bool| {
            let mut all = actions.iter().filter(|(_, action)| fits(action));
            all.next().filter(|_| all.next().is_none())
        };
        let named = || only(&|action| of_rule(action) && of_policy(action)).or_else(|| only(&of_rule));
        let implied = || only(&of_policy).or_else(|| only(&|_| true)).filter(|_| into.is_none());
        named().or_else(implied).ok_or_else(|| {
            let known: Vec<String> = actions
                .iter()
                .map(|(_, action)| match &action.policy {
                    Some(policy) => format!("{} (policy {policy})", action.rule),
                    None => action.rule.clone(),
                })
                .collect();
            if known.is_empty() {
                return Failure::new(format!("{}: none of its rules runs a rule set", self.name));
            }
            Failure::new(format!("{} has no rule {wanted} that runs a rule set", self.name))
                .hint(format!("--into names the rule to change: {}", known.join(", ")))
        })
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

/// Replaces files by ones that are complete before they have the names: all of them, or none.
fn replace(files: &[(&TextFile, &String)]) -> Result<(), Failure> {
    let mut written: Vec<(PathBuf, PathBuf)> = Vec::new();
    let renamed = files.iter().try_for_each(|(file, _)| {
        let fail = |error: std::io::Error| {
            Failure::new(format!("{}: {error}", file.path.display()))
                .hint("nothing was changed; paste the patch by hand")
        };
        // A link stays one: what it leads to is replaced.
        let path = fs::canonicalize(&file.path).map_err(fail)?;
        written.push((beside(&path), path.clone()));
        write_as(&beside(&path), &path, &file.text).map_err(fail)
    });
    let renamed = renamed.and_then(|()| {
        written.iter().try_for_each(|(temporary, path)| {
            fs::rename(temporary, path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        })
    });
    renamed.inspect_err(|_| written.iter().for_each(|(temporary, _)| drop(fs::remove_file(temporary))))
}

/// Writes a new file with owner and permissions of another one.
fn write_as(new: &Path, like: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(new)?;
    let metadata = fs::metadata(like)?;
    file.set_permissions(metadata.permissions())?;
    // Only root can give a file away; for others it stays theirs.
    let _ = std::os::unix::fs::fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}
