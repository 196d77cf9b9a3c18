//! `weir check`: loads a policy or the files of a gateway as nginx or control would, and shows every error in them; with
//! `--lint` also what is right but dubious in SecLang rules, the policy's own or plain files.

mod gateway;
mod lint;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_engine::{Mode, Specification};
use weir_policy::{PolicyError, Snapshot};

use self::lint::Findings;
use super::gateway_files::{Files, TextFile};
use super::rules::refused;
use crate::Failure;
use crate::arguments::Check;
use crate::style::{Stream, Style};
use crate::table::counted;

pub(crate) fn run(check: &Check) -> Result<ExitCode, Failure> {
    let (policies, rules): (Vec<PathBuf>, Vec<PathBuf>) =
        check.files.iter().cloned().partition(|path| !check.lint || is_policy(path));
    if policies.is_empty() {
        return plain_rules(check, &rules);
    }
    match Files::read(&policies) {
        Err(errors) if check.json => {
            println!("{}", bad(&errors));
            Ok(ExitCode::FAILURE)
        }
        Err(errors) => Err(refused(&errors.into(), named(&policies))),
        Ok(Some(Files::Gateway(files))) if rules.is_empty() => gateway::run(check, &files),
        Ok(Some(Files::Policy(file))) if rules.is_empty() => policy(check, &file),
        Ok(_) => Err(Failure::new("these are several policies or a policy and rule files")
            .hint("check one policy at a time, files for `weir apply`, or files of rules only, with --lint")),
    }
}

/// What messages call several files.
fn named<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> String {
    paths.into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Whether a file is a policy by its name, or a directory of a gateway's files; all others are rules.
fn is_policy(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known)) || path.is_dir()
}

fn policy(check: &Check, file: &TextFile) -> Result<ExitCode, Failure> {
    let TextFile { path, text } = file;
    match Snapshot::parse(text, path) {
        Ok(snapshot) => {
            // What each policy compiles to is nginx's business when a location applies it; what
            // cannot be compiled at all is found here.
            for name in snapshot.policy_names() {
                let plan = snapshot.plan(&[name]);
                plan.map_err(|error| Failure::new(format!("{}: policy {name}: {error}", path.display())))?;
            }
            let findings =
                if check.lint { Findings::of_policy(&snapshot, &file.rule_set_texts()) } else { Findings::default() };
            if check.json {
                println!("{}", good_value(check, &snapshot, snapshot.warnings(), &findings));
            } else {
                let style = Style::of(Stream::Err);
                snapshot.warnings().iter().for_each(|warning| eprintln!("{} {warning}", style.yellow("warning:")));
                findings.print();
                println!("{}", good(path, &snapshot));
            }
            Ok(findings.exit_code(check.strict))
        }
        Err(errors) if check.json => {
            println!("{}", bad(errors.errors()));
            Ok(ExitCode::FAILURE)
        }
        Err(errors) => {
            let failure = refused(&errors, path.display());
            Err(if !check.lint && path.extension().is_some_and(|end| end == "conf") {
                failure.hint(format!("for a file of SecLang rules: weir check --lint {}", path.display()))
            } else {
                failure
            })
        }
    }
}

fn plain_rules(check: &Check, files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let findings = Findings::of_files(files);
    if check.json {
        println!("{}", json!({ "ok": findings.errors == 0, "rules": findings.rules, "lint": findings.as_value() }));
    } else {
        findings.print();
        println!("{}", findings.sentence(files.len()));
    }
    Ok(findings.exit_code(check.strict))
}

fn good(path: &Path, snapshot: &Snapshot) -> String {
    let counts = Counts::of(snapshot.specification());
    format!("{}: good, revision {}: {}", path.display(), snapshot.revision(), counts.sentence())
}

fn good_value(check: &Check, snapshot: &Snapshot, warnings: &[PolicyError], findings: &Findings) -> Value {
    let Counts { policies, detecting, selectors, rules, lists } = Counts::of(snapshot.specification());
    let mut value = json!({
        "ok": true, "revision": snapshot.revision(), "policies": policies, "detecting": detecting,
        "selectors": selectors, "rules": rules, "lists": lists, "errors": [],
        "warnings": warnings.iter().map(one).collect::<Vec<_>>(),
    });
    if check.lint {
        value["lint"] = findings.as_value();
    }
    value
}

fn bad(errors: &[PolicyError]) -> String {
    let errors: Vec<_> = errors.iter().map(one).collect();
    json!({ "ok": false, "errors": errors }).to_string()
}

fn one(error: &PolicyError) -> Value {
    json!({
        "file": error.file, "line": error.line, "column": error.column,
        "message": error.message, "hint": error.hint, "excerpt": error.excerpt,
    })
}

struct Counts {
    policies: usize,
    detecting: usize,
    selectors: usize,
    rules: usize,
    lists: usize,
}

impl Counts {
    fn of(specification: &Specification) -> Self {
        let policies = &specification.policies;
        let selectors = || policies.iter().flat_map(|policy| &policy.selectors);
        Self {
            policies: policies.len(),
            detecting: policies.iter().filter(|policy| policy.mode == Mode::Detect).count(),
            selectors: selectors().count(),
            rules: selectors().map(|selector| selector.rules.len()).sum(),
            lists: specification.lists.len(),
        }
    }

    fn sentence(&self) -> String {
        let detecting =
            if self.detecting > 0 { format!(" ({} only detecting)", self.detecting) } else { String::new() };
        format!(
            "{}{detecting}, {}, {}, {}",
            counted(self.policies as u64, "policy"),
            counted(self.selectors as u64, "selector"),
            counted(self.rules as u64, "rule"),
            counted(self.lists as u64, "list"),
        )
    }
}
