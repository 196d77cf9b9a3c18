//! A loaded policy: immutable, shared, with the plans that nginx's locations ask for.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use weir_engine::{Geo, Plan, RuleIndex, Specification};
use weir_http::ClientAddressConfig;

use crate::build::{Built, build};
use crate::check::Checker;
use crate::document;
use crate::error::{PolicyError, PolicyErrors, Reporter};
use crate::rule_set::RuleSetNeeds;
use crate::source::Source;
use crate::table::ROOT;

/// A policy and everything that it names, loaded. Clones share it.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    specification: Specification,
    labels: Vec<RuleLabel>,
    client_address: ClientAddressConfig,
    revision: String,
    warnings: Vec<PolicyError>,
    needs: RuleSetNeeds,
    /// Plans by the positions of their policies, sorted. Configurations are read by one thread at
    /// a time and requests never come here, so a lock costs nothing.
    plans: Mutex<HashMap<Vec<usize>, Arc<Plan>>>,
}

/// What logs and the ledger say of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLabel {
    /// Id of its policy.
    pub policy: String,
    /// Id of its selector.
    pub selector: String,
    /// Its own id.
    pub id: String,
    /// What it found, for people; may be empty.
    pub message: String,
    /// Its line, from 1, in the policy file or in `file`.
    pub line: u32,
    /// Of a rule in a rule set: the file that it is in.
    pub file: Option<Arc<str>>,
    /// Name of its first action, such as `block`; of a rule in a rule set, of the action that runs it.
    pub plugin: &'static str,
    /// Of a rule in a rule set: `CRITICAL`, `WARNING` and so on, if it has a severity.
    pub severity: Option<&'static str>,
    /// Of a rule in a rule set: its tags.
    pub tags: Vec<String>,
}

/// A policy is asked for that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyError {
    /// The name that was asked for.
    pub name: String,
    /// What may have been meant.
    pub hint: String,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is no policy {}; {}", document::quoted(&self.name), self.hint)
    }
}

impl std::error::Error for ApplyError {}

impl Snapshot {
    /// Loads a policy file and all files that it names.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, PolicyErrors> {
        let mut reporter = Reporter::default();
        let file = path.display().to_string();
        let content = match crate::build::read(path, document::MAX_DOCUMENT_BYTES as u64) {
            Ok(content) => content,
            Err(reason) => {
                reporter.line(&file, 0, format!("cannot read the policy: {reason}"), None);
                return reporter.finish(None);
            }
        };
        match String::from_utf8(content) {
            Ok(text) => Self::parse(&text, path),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let source = Source::new(file, &String::from_utf8_lossy(error.as_bytes()));
                let hint = "save the file as UTF-8; in expressions any byte can be written as \"\\xNN\"".to_owned();
                // The text before the bad byte is the same in both.
                reporter.at(&source, good, "expected UTF-8 text, found other bytes", Some(hint));
                reporter.finish(None)
            }
        }
    }

    /// Loads a policy from its text. `path` is for messages, for the format (`*.json` is strictly
    /// JSON) and for what relative file names begin at.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PolicyErrors> {
        let source = Source::new(path.display().to_string(), text);
        let mut reporter = Reporter::default();
        let node = match document::parse(&source) {
            Ok(node) => node,
            Err(error) => {
                reporter.at(&source, error.at, error.message, error.hint);
                return reporter.finish(None);
            }
        };
        let root = Checker { source: &source, reporter: &mut reporter, alternatives: false }.resource(&node, &ROOT);
        let folder = path.parent().unwrap_or(Path::new(""));
        let built = root.map(|root| build(&root, &source, folder, &mut reporter));
        let warnings = reporter.take_warnings();
        let built = reporter.finish(built)?;
        Self::compile(built, warnings, &source)
    }

    /// Compiles all policies: what only compiling finds is an error of the policy too, and the
    /// plan of all of them is what nginx applies unless told otherwise.
    fn compile(built: Built, warnings: Vec<PolicyError>, source: &Source) -> Result<Self, PolicyErrors> {
        let all: Vec<usize> = (0..built.specification.policies.len()).collect();
        let plan = match Plan::compile(&built.specification, &all) {
            Ok(plan) => plan,
            Err(errors) => {
                let mut reporter = Reporter::default();
                for error in errors {
                    let place = |RuleIndex(index)| built.places.get(index as usize).copied();
                    reporter.at(source, error.rule.and_then(place).unwrap_or_default(), error.message, None);
                }
                return reporter.finish(None);
            }
        };
        let plans = Mutex::new(HashMap::from([(all, Arc::new(plan))]));
        let Built { specification, labels, client_address, revision, needs, .. } = built;
        Ok(Self { inner: Arc::new(Inner { specification, labels, client_address, revision, warnings, needs, plans }) })
    }

    /// 12 hexadecimal digits of a hash of everything loaded, or the file's own `revision`.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.inner.revision
    }

    /// What the engine compiles.
    #[must_use]
    pub fn specification(&self) -> &Specification {
        &self.inner.specification
    }

    /// Ids of the policies, in the order of the file.
    pub fn policy_names(&self) -> impl Iterator<Item = &str> {
        self.inner.specification.policies.iter().map(|policy| policy.id.as_str())
    }

    /// Labels of the rules, by [`RuleIndex`].
    #[must_use]
    pub fn rules(&self) -> &[RuleLabel] {
        &self.inner.labels
    }

    /// What the rule sets in use need of whoever runs them.
    #[must_use]
    pub fn rule_set_needs(&self) -> RuleSetNeeds {
        self.inner.needs
    }

    /// What is odd about the policy and refuses nothing, such as rules that were left out.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyError] {
        &self.inner.warnings
    }

    /// Whom to believe about the client's address.
    #[must_use]
    pub fn client_address(&self) -> &ClientAddressConfig {
        &self.inner.client_address
    }

    /// Geographic data, if configured.
    #[must_use]
    pub fn geo(&self) -> Option<&Arc<dyn Geo>> {
        self.inner.specification.geo.as_ref()
    }

    /// The plan of some policies, evaluated in the order of the file whatever the order of the
    /// names. The same set of names gives the same plan.
    ///
    /// # Errors
    /// If a name is none of the policies'.
    pub fn plan(&self, names: &[&str]) -> Result<Arc<Plan>, ApplyError> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let position = self.policy_names().position(|id| id == *name).ok_or_else(|| self.unknown(name))?;
            positions.push(position);
        }
        positions.sort_unstable();
        positions.dedup();
        let mut plans = self.inner.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&positions) {
            return Ok(Arc::clone(plan));
        }
        let plan = Plan::compile(&self.inner.specification, &positions);
        let plan = Arc::new(plan.expect("all policies together have compiled when the policy was loaded"));
        plans.insert(positions, Arc::clone(&plan));
        Ok(plan)
    }

    fn unknown(&self, name: &str) -> ApplyError {
        let hint = match weir_rules::nearest(name, self.policy_names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the policies are {}", self.policy_names().collect::<Vec<_>>().join(", ")),
        };
        ApplyError { name: name.to_owned(), hint }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies: Vec<&str> = self.policy_names().collect();
        out.debug_struct("Snapshot")
            .field("revision", &self.revision())
            .field("policies", &policies)
            .finish_non_exhaustive()
    }
}
