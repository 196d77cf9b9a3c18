//! Policies and gateways as files, for commands that work without a running gateway.
//!
//! A policy file is for `weir_policy` in nginx and stands alone. Files for `weir apply` have documents by id, which may
//! refer to those of other files, so they are read together, as one state.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_control::state::{Action, Contents, Edit, FileOf, Key, Refusal, State as Whole, Target};
use weir_gateway::resource::Sha256Hash;
use weir_gateway::{Gateway, Patterns};
use weir_policy::document;
use weir_policy::files::Disk;
use weir_policy::source::Source;
use weir_policy::{Fault, PolicyError, PolicyErrors, Snapshot, Trial, read_text};
use weir_resource::{ResourceKind, State, parse_state};

use super::rules::written::{Texts, texts};
use crate::table::counted;
use crate::{Failure, body, state_files};

/// A file and its text.
pub(crate) struct TextFile {
    /// Its path; `-` is standard input.
    pub path: PathBuf,
    /// What it contains.
    pub text: String,
}

impl TextFile {
    /// Of a policy file, the texts of its rule sets.
    pub fn rule_set_texts(&self) -> Texts {
        let document = weir_policy::parse_document(&self.text, &self.path).unwrap_or_default();
        let sets = document[ResourceKind::RuleSets.plural()].as_object().into_iter().flatten();
        texts(sets.map(|(id, set)| (id.as_str(), set)))
    }
}

/// What files contain.
pub(crate) enum Files {
    /// One policy file.
    Policy(TextFile),
    /// Files of a gateway; at least one.
    Gateway(Vec<TextFile>),
}

impl Files {
    /// Reads files; directories stand for the files in them, as for `weir apply`. `None`: they are several policy files.
    ///
    /// # Errors
    /// If a file cannot be read; all that cannot.
    pub fn read(paths: &[PathBuf]) -> Result<Option<Self>, Vec<PolicyError>> {
        let mut files = Vec::new();
        let mut errors = Vec::new();
        for path in paths {
            let all = state_files::files(std::slice::from_ref(path));
            let (all, failed) = all.map_or_else(|failure| (Vec::new(), Some(failure)), |all| (all, None));
            errors.extend(failed.map(|failure| error_of(path, &failure)));
            for path in all {
                let text = match path.as_os_str() == "-" {
                    true => body::standard_input().map_err(|failure| vec![error_of(&path, &failure)]),
                    false => read_text(&path).map_err(listed),
                };
                match text {
                    Ok(text) => files.push(TextFile { path, text }),
                    Err(found) => errors.extend(found),
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let is_gateway = paths.iter().any(|path| path.is_dir()) || files.iter().any(is_of_gateway);
        Ok(match files.len() {
            _ if is_gateway => Some(Self::Gateway(files)),
            1 => files.pop().map(Self::Policy),
            _ => None,
        })
    }
}

/// A failure as a fault of the whole file.
fn error_of(path: &Path, failure: &Failure) -> PolicyError {
    let (file, text) = (path.display().to_string(), failure.to_string());
    let message = text.strip_prefix(&format!("{file}: ")).unwrap_or(&text).to_owned();
    PolicyError { file, message, ..PolicyError::default() }
}

/// Whether a file is one for a gateway: it has a key that policy files lack, or policies by id.
fn is_of_gateway(file: &TextFile) -> bool {
    // Duplicate keys are reported later.
    let root = document::parse(&Source::new(file.path.display().to_string(), &file.text));
    let document = root.map(|root| document::value(&root)).unwrap_or_default();
    let has = |kind: ResourceKind| document.get(kind.plural()).is_some();
    let policies = document.get(ResourceKind::Policies.plural());
    // Policy files have lists and rule sets, too, and always policies, as a list.
    let shared = [ResourceKind::Lists, ResourceKind::RuleSets];
    let only_of_gateways = |kind: &ResourceKind| !shared.contains(kind) && *kind != ResourceKind::Policies;
    ResourceKind::written().filter(only_of_gateways).any(has)
        || policies.is_some_and(Value::is_object)
        || (policies.is_none() && shared.into_iter().any(has))
}

/// The state that the files describe together.
///
/// # Errors
/// Everything that is wrong with the files one by one, and what is in two of them.
pub(crate) fn parse(files: &[TextFile]) -> Result<State, Vec<PolicyError>> {
    let mut all = State::default();
    let mut errors = Vec::new();
    for file in files {
        let read = parse_state(&file.text, &file.path).and_then(|state| all.merge(state));
        errors.extend(read.err().map(listed).into_iter().flatten());
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// The policies of a state. `is_tried`: whether each is compiled by itself, to see whether it can be.
///
/// # Errors
/// What is wrong with them, at its places in the files.
pub(crate) fn compile(state: &State, is_tried: bool) -> Result<Snapshot, Vec<PolicyError>> {
    let mut known = HashSet::new();
    let trial = if is_tried { Trial::Each(&mut known) } else { Trial::Passed };
    // Names of files are absolute in a state.
    let built = Snapshot::build(&state.compiled(), &Disk, Path::new(""), trial);
    built.map_err(|errors| listed(errors).iter().map(|error| placed(state, error)).collect())
}

/// All errors; those that were only counted as one more.
fn listed(errors: PolicyErrors) -> Vec<PolicyError> {
    let mut all = errors.errors().to_vec();
    if let (more @ 1.., Some(last)) = (errors.more(), all.last()) {
        let message = format!("and {}", counted(more as u64, "more error"));
        all.push(PolicyError { file: last.file.clone(), message, ..PolicyError::default() });
    }
    all
}

/// The texts of the rule sets of a state.
pub(crate) fn rule_set_texts(state: &State) -> Texts {
    let sets = state.documents().iter().filter(|((kind, _), _)| *kind == ResourceKind::RuleSets);
    texts(sets.map(|((_, id), set)| (id.as_str(), set)))
}

/// An error of a document at its place in the file. What is wrong within a file that a document names keeps its own.
pub(crate) fn placed(state: &State, error: &PolicyError) -> PolicyError {
    let place = error.in_document().and_then(|(kind, id, fault)| Some((kind, id, state.error(kind, id, &fault)?)));
    match place {
        Some((kind, id, place)) if error.line > 0 && Path::new(&error.file).is_absolute() => {
            let named = format!("{kind}/{id} names this file, in {}:{}:{}", place.file, place.line, place.column);
            PolicyError { hint: error.hint.clone().or(Some(named)), ..error.clone() }
        }
        Some((_, _, place)) => place,
        None => error.clone(),
    }
}

/// Sites and routes of a state, to route requests with.
///
/// # Errors
/// Routes with regular expressions that are not valid.
pub(crate) fn gateway(state: &State) -> Result<Gateway, Vec<PolicyError>> {
    let kinds = [ResourceKind::Settings, ResourceKind::Sites, ResourceKind::Routes];
    let (mut gateway, mut patterns, mut errors) = (Gateway::empty(), Patterns::new(), Vec::new());
    for ((kind, id), document) in state.documents().iter().filter(|((kind, _), _)| kinds.contains(kind)) {
        let json = document.to_string();
        let Ok(checked) = weir_resource::check(*kind, id, json.as_bytes()) else { continue }; // the file is checked
        for pattern in checked.patterns {
            match Patterns::compile(&pattern) {
                Ok(compiled) => patterns.insert(&pattern, compiled),
                Err(_) => errors
                    .extend(bad_pattern((pattern, String::new())).and_then(|fault| state.error(*kind, id, &fault))),
            }
        }
        let Some(Err(refusal)) = checked.op.map(|op| gateway.apply(json.as_bytes(), op, &mut patterns)) else {
            continue;
        };
        if errors.is_empty() {
            errors.extend(state.error(*kind, id, &Fault { message: refusal.to_string(), ..Fault::default() }));
        }
    }
    if errors.is_empty() { Ok(gateway) } else { Err(errors) }
}

/// File and line of a rule in a policy.
pub(crate) fn place_of_rule(state: &State, policy: &str, rule: &str) -> Option<(String, u32)> {
    let document = state.documents().get(&(ResourceKind::Policies, policy.to_owned()))?;
    let within = |rules: &Value| rules.as_array()?.iter().position(|one| one["id"] == rule);
    let selectors = document["selectors"].as_array().into_iter().flatten().enumerate();
    let mut selected =
        selectors.filter_map(|(n, selector)| Some(format!("/selectors/{n}/rules/{}", within(&selector["rules"])?)));
    let pointer = within(&document["rules"]).map(|n| format!("/rules/{n}")).or_else(|| selected.next())?;
    let place = state.error(ResourceKind::Policies, policy, &Fault { pointer, ..Fault::default() })?;
    Some((place.file, place.line))
}

/// Files of certificates, read where they are.
#[derive(Default)]
pub(crate) struct CertificateFiles(RefCell<BTreeMap<Sha256Hash, String>>);

impl Contents for CertificateFiles {
    fn file(&self, (path, _): &FileOf) -> Option<Result<Sha256Hash, String>> {
        Some(body::file(path).map_err(|failure| failure.to_string()).map(|text| {
            let hash = Sha256Hash::of(text.as_bytes());
            self.0.borrow_mut().insert(hash, text);
            hash
        }))
    }

    fn text(&self, hash: Sha256Hash) -> Option<String> {
        self.0.borrow().get(&hash).cloned()
    }

    fn private_key(&self, _: Sha256Hash) -> Option<String> {
        None
    }
}

/// The documents of a state as changes.
pub(crate) fn edits(state: &State) -> Vec<Edit> {
    let put = |((kind, id), document): (&(ResourceKind, String), &Value)| {
        Edit::new(Target::Resource(Key::new(*kind, id), Vec::new()), Action::Put(document.clone()))
    };
    state.documents().iter().map(put).collect()
}

/// What the files describe would be refused for: references, what is there twice, regular expressions.
pub(crate) fn faults(state: &State) -> Vec<PolicyError> {
    let faults = match Whole::default().apply_with(1, &edits(state), &CertificateFiles::default()) {
        Ok(applied) => applied.places_of_patterns().into_iter().filter_map(bad_pattern).collect(),
        Err(Refusal::Invalid(faults)) => faults,
        Err(other) => vec![Fault { message: format!("{other:?}"), ..Fault::default() }],
    };
    let lost = |fault: &Fault| PolicyError {
        file: fault.pointer.clone(),
        message: fault.message.clone(),
        ..PolicyError::default()
    };
    faults.iter().map(|fault| state.error_at_path(fault).unwrap_or_else(|| lost(fault))).collect()
}

fn bad_pattern((pattern, pointer): (String, String)) -> Option<Fault> {
    let error = Patterns::compile(&pattern).err()?;
    let last = error.lines().last().unwrap_or_default();
    let message = format!("the regular expression is not valid: {}", last.strip_prefix("error: ").unwrap_or(last));
    Some(Fault { pointer, message, ..Fault::default() })
}
