//! The rules that a command works on: those of a policy file or of a gateway's files, or of a default policy that
//! runs CRS as it is installed and only detects.
//!
//! The made-up policy is text that goes the way of every policy, so that paths, setup files and
//! errors are what they would be in a file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use weir_engine::seclang::Profile;
use weir_gateway::Gateway;
use weir_policy::{PolicyError, PolicyErrors, RuleLabel, Snapshot};
use weir_resource::State;

use super::written::Texts;
use crate::Failure;
use crate::arguments::RuleSource;
use crate::command::gateway_files::{self, Files};
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
    /// Texts of its named rule sets.
    pub texts: Texts,
    /// What the files of a gateway contain besides.
    pub gateway: Option<ChosenGateway>,
}

/// A gateway that is only files.
pub(crate) struct ChosenGateway {
    /// Its sites and routes.
    pub gateway: Gateway,
    state: State,
    /// Files and lines of rules that have been asked for: finding one parses its file.
    places: RefCell<HashMap<String, (String, u32)>>,
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
        if source.policy.is_empty() {
            return Self::built_in(source.crs.as_deref(), source.paranoia.unwrap_or(1));
        }
        let name = source.policy.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let refuse = |errors: Vec<PolicyError>| refused(&errors.into(), &name);
        let (snapshot, texts, gateway) = match Files::read(&source.policy).map_err(refuse)? {
            Some(Files::Policy(file)) => {
                let snapshot = Snapshot::parse(&file.text, &file.path).map_err(|errors| refused(&errors, &name))?;
                (snapshot, file.rule_set_texts(), None)
            }
            Some(Files::Gateway(files)) => {
                let state = gateway_files::parse(&files).map_err(refuse)?;
                let snapshot = gateway_files::compile(&state, false).map_err(refuse)?;
                let gateway = gateway_files::gateway(&state).map_err(refuse)?;
                let (texts, places) = (gateway_files::rule_set_texts(&state), RefCell::default());
                (snapshot, texts, Some(ChosenGateway { gateway, state, places }))
            }
            None => {
                return Err(Failure::new(format!("{name}: these are several policy files"))
                    .hint("name one of them, or files for `weir apply`"));
            }
        };
        Ok(Self { snapshot, name, is_built_in: false, texts, gateway })
    }

    /// File and line of a rule.
    pub fn place(&self, rule: &RuleLabel) -> (String, u32) {
        if let Some(file) = &rule.file {
            return (file.to_string(), rule.line);
        }
        let in_file = || (self.name.clone(), rule.line);
        let Some(files) = &self.gateway else { return in_file() };
        let mut known = files.places.borrow_mut();
        let find = || gateway_files::place_of_rule(&files.state, &rule.policy, &rule.id).unwrap_or_else(in_file);
        known.entry(rule.id.clone()).or_insert_with(find).clone()
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
        Ok(Self { snapshot, name, is_built_in: true, texts: Texts::new(), gateway: None })
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
pub(crate) fn refused(errors: &PolicyErrors, name: impl std::fmt::Display) -> Failure {
    eprintln!("{}", errors.to_string().trim_end());
    Failure::new(format!("{name}: {}", counted(errors.errors().len() as u64, "error")))
}
