//! The rules that a command works on: those of a policy file, or of a default policy that
//! runs CRS as it is installed and only detects.
//!
//! The made-up policy is text that goes the way of every policy, so that paths, setup files and
//! errors are what they would be in a file.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use weir_engine::seclang::Profile;
use weir_policy::{PolicyErrors, Snapshot};

use crate::Failure;
use crate::arguments::RuleSource;
use crate::table::counted;

/// What errors call the made-up policy.
const BUILT_IN: &str = "built-in policy.json";

/// A loaded policy.
pub(crate) struct Chosen {
    /// The policy.
    pub snapshot: Snapshot,
    /// Its name for people.
    pub name: String,
    /// Whether it is the default policy.
    pub is_built_in: bool,
}

/// One use of a rule set in a policy.
pub(crate) struct Use<'s> {
    /// The policy's id.
    pub policy: &'s str,
    /// The id of the rule that runs the set.
    pub rule: &'s str,
    /// The set with the settings of that use.
    pub profile: &'s Arc<Profile>,
}

impl Chosen {
    /// Loads what the command line says.
    pub fn load(source: &RuleSource) -> Result<Self, Failure> {
        match &source.policy {
            Some(path) => {
                let snapshot = Snapshot::load(path).map_err(|errors| refused(&errors, path))?;
                Ok(Self { snapshot, name: path.display().to_string(), is_built_in: false })
            }
            None => Self::built_in(source.crs.as_deref(), source.paranoia.unwrap_or(1)),
        }
    }

    fn built_in(crs: Option<&Path>, paranoia: u8) -> Result<Self, Failure> {
        let mut action = json!({ "paranoia": paranoia });
        if let Some(path) = crs {
            let Some(path) = path.to_str() else {
                return Err(Failure::new(format!("{}: not UTF-8", path.display())));
            };
            action["path"] = path.into();
        }
        let rule = json!({ "id": "crs", "when": "true", "action": { "crs": action } });
        let policy = json!({ "policies": [{ "id": "crs", "mode": "detect", "rules": [rule] }] });
        let snapshot = Snapshot::parse(&policy.to_string(), Path::new(BUILT_IN)).map_err(|errors| {
            let first = errors.errors().first();
            let hint = "install it (Debian: modsecurity-crs), name a checkout with --crs, or a policy with --policy";
            let why = first.map_or_else(String::new, |error| match &error.hint {
                Some(hint) if error.file != BUILT_IN => {
                    format!("{}:{}: {}; {hint}", error.file, error.line, error.message)
                }
                _ if error.file != BUILT_IN => format!("{}:{}: {}", error.file, error.line, error.message),
                _ => error.message.clone(),
            });
            Failure::new(format!("the Core Rule Set does not load: {why}")).hint(hint)
        })?;
        let place = crs.map_or_else(|| "as installed".to_owned(), |path| format!("in {}", path.display()));
        let name = format!("CRS {place}, paranoia {paranoia}, detecting only");
        Ok(Self { snapshot, name, is_built_in: true })
    }

    /// Every use of a rule set, in the order of the file.
    pub fn uses(&self) -> impl Iterator<Item = Use<'_>> {
        self.snapshot.specification().policies.iter().flat_map(|policy| {
            policy.selectors.iter().flat_map(|selector| &selector.rules).flat_map(move |rule| {
                let profiles = rule.actions.iter().filter_map(|action| action.info().rule_set);
                profiles.map(move |profile| Use { policy: &policy.id, rule: &rule.id, profile })
            })
        })
    }

    /// One use of each distinct rule set, in the order of the file.
    pub fn sets(&self) -> Vec<Use<'_>> {
        let mut sets: Vec<Use<'_>> = Vec::new();
        for one in self.uses() {
            if !sets.iter().any(|known| Arc::ptr_eq(known.profile.program(), one.profile.program())) {
                sets.push(one);
            }
        }
        sets
    }
}

/// Shows every error of a policy, as `weir check` does, and says that there are some.
pub(crate) fn refused(errors: &PolicyErrors, path: &Path) -> Failure {
    eprintln!("{}", errors.to_string().trim_end());
    Failure::new(format!("{}: {}", path.display(), counted(errors.errors().len() as u64, "error")))
}
