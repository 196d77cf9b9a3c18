//! `weir check`: loads a policy as nginx would, and shows every error in it.

use std::process::ExitCode;

use serde_json::json;
use weir_engine::{Mode, Specification};
use weir_policy::{PolicyErrors, Snapshot};

use crate::Failure;
use crate::arguments::Check;

pub(crate) fn run(check: &Check) -> Result<ExitCode, Failure> {
    match Snapshot::load(&check.file) {
        Ok(snapshot) => {
            // What each policy compiles to is nginx's business when a location applies it; what
            // cannot be compiled at all is found here.
            for name in snapshot.policy_names() {
                let plan = snapshot.plan(&[name]);
                plan.map_err(|error| Failure::new(format!("{}: policy {name}: {error}", check.file.display())))?;
            }
            println!("{}", good(check, &snapshot));
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) if check.json => {
            println!("{}", bad(&errors));
            Ok(ExitCode::FAILURE)
        }
        Err(errors) => {
            eprintln!("{}", errors.to_string().trim_end());
            let count = errors.errors().len();
            let plural = if count == 1 { "" } else { "s" };
            Err(Failure::new(format!("{}: {count} error{plural}", check.file.display())))
        }
    }
}

fn good(check: &Check, snapshot: &Snapshot) -> String {
    let counts = Counts::of(snapshot.specification());
    let revision = snapshot.revision();
    if check.json {
        let Counts { policies, detecting, selectors, rules, lists } = counts;
        return json!({
            "ok": true, "revision": revision, "policies": policies, "detecting": detecting,
            "selectors": selectors, "rules": rules, "lists": lists, "errors": [],
        })
        .to_string();
    }
    format!("{}: good, revision {revision}: {}", check.file.display(), counts.sentence())
}

fn bad(errors: &PolicyErrors) -> String {
    let errors: Vec<_> = errors
        .errors()
        .iter()
        .map(|error| {
            json!({
                "file": error.file, "line": error.line, "column": error.column,
                "message": error.message, "hint": error.hint, "excerpt": error.excerpt,
            })
        })
        .collect();
    json!({ "ok": false, "errors": errors }).to_string()
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
        let counted = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let detecting =
            if self.detecting > 0 { format!(" ({} only detecting)", self.detecting) } else { String::new() };
        format!(
            "{}{detecting}, {}, {}, {}",
            counted(self.policies, "policy", "policies"),
            counted(self.selectors, "selector", "selectors"),
            counted(self.rules, "rule", "rules"),
            counted(self.lists, "list", "lists"),
        )
    }
}
