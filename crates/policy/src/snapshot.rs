//! A loaded policy: immutable, shared, with the plans that nginx's locations ask for.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use weir_auth::Consumers;
use weir_engine::{CompileError, Geo, Plan, RuleIndex, Specification};
use weir_gateway::Documents;
use weir_gateway::resource::{ContentHash, Document, ResourceKind};
use weir_http::ClientAddressConfig;
use weir_rules::seclang::{Disk, Files as _};

use crate::build::{Built, Input, Inputs, build};
use crate::check::{Checker, Fields};
use crate::document::{self, Kind, Node};
use crate::error::{PolicyError, PolicyErrors, Reporter};
use crate::files::FileSource;
use crate::rule_set::RuleSetNeeds;
use crate::source::Source;
use crate::table::{CLIENT_ADDRESS, GEO, INSPECTOR, LIST, POLICY_DOCUMENT, ROOT, RULE_SET_DOCUMENT};

/// A policy and everything that it names, loaded. Clones share it.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    specification: Specification,
    /// Positions of the policies by their ids.
    names: HashMap<String, usize>,
    labels: Vec<RuleLabel>,
    client_address: ClientAddressConfig,
    revision: String,
    warnings: Vec<PolicyError>,
    needs: RuleSetNeeds,
    consumers: Consumers,
    /// Plans by the positions of their policies. Configurations are read by one thread at
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
    /// Hash of what it was made of: of a rule in a rule set, of the whole set.
    pub content: u64,
}

/// Why there is no plan of some policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// A policy is asked for that is not there.
    Unknown {
        /// The name that was asked for.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// The policies do not compile.
    Uncompiled(String),
}

/// Which policies of a gateway are compiled to see whether they can be.
#[derive(Debug)]
pub enum Trial<'t> {
    /// None: they have been tried elsewhere. What routes name is compiled when it is asked for.
    Passed,
    /// Each by itself, but for those whose contents have been tried already.
    Each(&'t mut HashSet<ContentHash>),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, hint } => write!(out, "there is no policy {}; {hint}", document::quoted(name)),
            Self::Uncompiled(message) => out.write_str(message),
        }
    }
}

impl std::error::Error for ApplyError {}

impl Snapshot {
    /// Loads a policy file and all files that it names.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, PolicyErrors> {
        Self::parse(&read_text(path)?, path)
    }

    /// Loads a policy from its text. `path` is for messages, for the format (`*.json` is strictly
    /// JSON) and for what relative file names begin at.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PolicyErrors> {
        let sources = [Source::new(path.display().to_string(), text)];
        let [source] = &sources;
        let mut reporter = Reporter::default();
        let node = match document::parse(source) {
            Ok(node) => node,
            Err(error) => {
                reporter.syntax(source, error);
                return reporter.finish(None);
            }
        };
        let root = Checker { source, reporter: &mut reporter, alternatives: false }.resource(&node, &ROOT);
        let Some(root) = root else { return reporter.finish(None) };
        let folder = path.parent().unwrap_or(Path::new(""));
        let inputs = Inputs::of_file(&root);
        let built = build(&inputs, &sources, (&Disk, folder), &mut reporter);
        // All together are what nginx applies unless told otherwise; what only compiling finds is an error of the
        // file, too.
        let all = (0..built.specification.policies.len()).collect();
        Self::finish(built, reporter, &sources, vec![all])
    }

    /// Loads the documents of a gateway, each from its own source, with the files that they name. Relative file names
    /// begin at `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with them; each error has its document.
    pub fn build(
        documents: &Documents,
        files: &dyn FileSource,
        folder: &Path,
        trial: Trial<'_>,
    ) -> Result<Self, PolicyErrors> {
        let mut reporter = Reporter::default();
        let sources: Vec<Source> =
            written(documents).map(|(kind, document)| Source::of_document(kind, document)).collect();
        if sources.is_empty() {
            return Self::finish(Built::default(), reporter, &sources, Vec::new());
        }
        let mut roots = Vec::with_capacity(sources.len());
        for (number, source) in sources.iter().enumerate() {
            match document::parse(source) {
                Ok(root) => roots.push((number, root)),
                Err(error) => reporter.syntax(source, error),
            }
        }
        let mut checked = Vec::with_capacity(sources.len());
        for (number, root) in &roots {
            let parts = check(&sources[*number], root, &mut reporter);
            checked.extend(parts.into_iter().map(|(part, name, fields)| (part, name, fields, *number)));
        }
        let mut inputs = Inputs::default();
        for (part, name, fields, source) in &checked {
            let input = Input { name, fields, source: *source };
            match part {
                Part::ClientAddress => inputs.client_address = Some(input),
                Part::Geo => inputs.geo = Some(input),
                Part::List => inputs.lists.push(input),
                Part::RuleSet => inputs.rule_sets.push(input),
                Part::Inspector => inputs.inspectors.push(input),
                Part::Policy => inputs.policies.push(input),
            }
        }
        let built = build(&inputs, &sources, (files, folder), &mut reporter);
        let Trial::Each(known) = trial else { return Self::finish(built, reporter, &sources, Vec::new()) };
        let hashes: Vec<Option<ContentHash>> = inputs
            .policies
            .iter()
            .map(|policy| documents.get(ResourceKind::Policies, policy.name).map(|document| document.hash))
            .collect();
        let is_new = |position: &usize| hashes[*position].is_none_or(|hash| !known.contains(&hash));
        let tried = (0..hashes.len()).filter(is_new).map(|position| vec![position]).collect();
        let snapshot = Self::finish(built, reporter, &sources, tried)?;
        known.extend(hashes.into_iter().flatten());
        // Plans of one policy each were to see whether it compiles.
        snapshot.inner.plans.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(snapshot)
    }

    /// Compiles these sets of policies, and takes over what was built.
    fn finish(
        built: Built,
        mut reporter: Reporter,
        sources: &[Source],
        sets: Vec<Vec<usize>>,
    ) -> Result<Self, PolicyErrors> {
        let warnings = reporter.take_warnings();
        let built = reporter.finish(Some(built))?;
        let mut reporter = Reporter::default();
        let mut plans = HashMap::with_capacity(sets.len());
        for set in sets {
            match Plan::compile(&built.specification, &set) {
                Ok(plan) => _ = plans.insert(set, Arc::new(plan)),
                Err(errors) => {
                    for error in errors {
                        let place = error.rule.and_then(|RuleIndex(index)| built.places.get(index as usize));
                        let Some((number, at)) = place.or(built.places.first()) else { continue };
                        reporter.at(&sources[*number], *at, error.message, None);
                    }
                }
            }
        }
        let Built { specification, labels, client_address, revision, needs, consumers, .. } =
            reporter.finish(Some(built))?;
        let names = specification.policies.iter().map(|policy| policy.id.clone()).zip(0..).collect();
        let plans = Mutex::new(plans);
        let inner = Inner { specification, names, labels, client_address, revision, warnings, needs, consumers, plans };
        Ok(Self { inner: Arc::new(inner) })
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

    /// The consumers of a policy file.
    #[must_use]
    pub fn consumers(&self) -> &Consumers {
        &self.inner.consumers
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

    /// The plan of some policies, evaluated in the order of the names, each once. The same names in the same order
    /// give the same plan.
    ///
    /// # Errors
    /// If a name is none of the policies', or if they do not compile.
    pub fn plan(&self, names: &[&str]) -> Result<Arc<Plan>, ApplyError> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let position = *self.inner.names.get(*name).ok_or_else(|| self.unknown(name))?;
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        let mut plans = self.inner.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&positions) {
            return Ok(Arc::clone(plan));
        }
        let uncompiled = |errors: Vec<CompileError>| {
            ApplyError::Uncompiled(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        };
        let plan = Arc::new(Plan::compile(&self.inner.specification, &positions).map_err(uncompiled)?);
        plans.insert(positions, Arc::clone(&plan));
        Ok(plan)
    }

    fn unknown(&self, name: &str) -> ApplyError {
        /// Names that are listed; of more, their number.
        const LISTED: usize = 64;
        let hint = match weir_rules::nearest(name, self.policy_names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.inner.names.len() > LISTED => format!("there are {}", self.inner.names.len()),
            None => format!("the policies are {}", self.policy_names().collect::<Vec<_>>().join(", ")),
        };
        ApplyError::Unknown { name: name.to_owned(), hint }
    }
}

/// The text of a policy file, or of another file with documents.
///
/// # Errors
/// If it cannot be read, is not a regular file, has more than [`document::MAX_DOCUMENT_BYTES`], or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, PolicyErrors> {
    let mut reporter = Reporter::default();
    let file = path.display().to_string();
    let bytes = match Disk.read(path, document::MAX_DOCUMENT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            let reason = weir_rules::confined::reason(&error);
            let hint = (error.kind() == std::io::ErrorKind::PermissionDenied)
                .then(|| "make it readable for the user of this process".to_owned());
            reporter.line(&file, 0, format!("cannot read the policy: {reason}"), hint);
            return reporter.finish(None);
        }
    };
    String::from_utf8(bytes).or_else(|error| {
        let good = error.utf8_error().valid_up_to();
        let source = Source::new(file, &String::from_utf8_lossy(error.as_bytes()));
        let hint = "save the file as UTF-8; in expressions any byte can be written as \"\\xNN\"".to_owned();
        // The text before the bad byte is the same in both.
        reporter.at(&source, good, "expected UTF-8 text, found other bytes", Some(hint));
        reporter.finish(None)
    })
}

/// The documents that people wrote, in the order in which [`FileSource::note`] counts them.
pub fn written(documents: &Documents) -> impl Iterator<Item = (ResourceKind, &Document)> {
    documents.iter().filter(|(kind, _)| *kind != ResourceKind::Files)
}

/// What a document, or a key of the settings, is to the build.
enum Part {
    ClientAddress,
    Geo,
    List,
    RuleSet,
    Inspector,
    Policy,
}

/// Checks a document against its rows of the table: the part, its name, what it says, and where.
fn check<'n>(source: &'n Source, root: &'n Node, reporter: &mut Reporter) -> Vec<(Part, &'n str, Fields<'n>)> {
    let Some((kind, id)) = &source.document else { return Vec::new() };
    let parts = match kind {
        ResourceKind::Lists => vec![(Part::List, root, &LIST)],
        ResourceKind::RuleSets => vec![(Part::RuleSet, root, &RULE_SET_DOCUMENT)],
        ResourceKind::Inspectors => vec![(Part::Inspector, root, &INSPECTOR)],
        ResourceKind::Policies => vec![(Part::Policy, root, &POLICY_DOCUMENT)],
        ResourceKind::Settings => {
            let Kind::Mapping(pairs) = &root.kind else { return Vec::new() };
            let part = |(key, value): &'n (Rc<Node>, Rc<Node>)| match key.as_scalar()?.text.as_str() {
                "client_address" => Some((Part::ClientAddress, &**value, &CLIENT_ADDRESS)),
                "geo" => Some((Part::Geo, &**value, &GEO)),
                _ => None,
            };
            pairs.iter().filter_map(part).collect()
        }
        ResourceKind::Files
        | ResourceKind::Consumers
        | ResourceKind::Certificates
        | ResourceKind::Upstreams
        | ResourceKind::Members
        | ResourceKind::Topics
        | ResourceKind::Sites
        | ResourceKind::Routes => Vec::new(),
    };
    let mut checker = Checker { source, reporter, alternatives: false };
    let checked = parts.into_iter().map(|(part, node, table)| (part, checker.resource(node, table)));
    checked.filter_map(|(part, fields)| Some((part, id.as_str(), fields?))).collect()
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
