//! State files of `weir apply`: YAML or JSON with documents of all kinds.
//!
//! They are checked here with the same rows and the same code as control checks documents, so that faults
//! have lines and columns before anything is sent. What control finds later (references, clashes) is led
//! back to its place by [`State::error`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use weir_gateway::Documents;
use weir_gateway::op::Op;

use crate::convert::Converter;
use crate::kind::{STATE, descriptor};
use crate::{Checked, Fault, ResourceKind};
use weir_policy::check::{Checker, Fields, Item, Value as Checks};
use weir_policy::document::{self, Kind as NodeKind, Node, quoted, value};
use weir_policy::error::{Reporter, fault_at};
use weir_policy::source::Source;
use weir_policy::table::absolute;
use weir_policy::{PolicyError, PolicyErrors, pointer};

/// The content of state files.
#[derive(Debug, Default)]
pub struct State {
    documents: BTreeMap<(ResourceKind, String), Value>,
    /// Of each document the file that it is in.
    origins: BTreeMap<(ResourceKind, String), usize>,
    /// Names and texts of the files.
    files: Vec<(String, String)>,
    /// What is odd about the documents, and refuses nothing.
    warnings: Vec<PolicyError>,
}

/// Keys of the file that are part of the settings.
const OF_SETTINGS: [&str; 2] = ["client_address", "geo"];

/// Reads a state file; `*.json` strictly as JSON, all others as YAML. Each document is checked as
/// [`super::check`] does.
///
/// # Errors
/// Everything that is wrong, with line and column.
pub fn parse_state(text: &str, path: &Path) -> Result<State, PolicyErrors> {
    let source = Source::new(path.display().to_string(), text);
    let mut reporter = Reporter::default();
    let root = match document::parse(&source) {
        Ok(root) => root,
        Err(error) => {
            reporter.syntax(&source, error);
            return reporter.finish(None);
        }
    };
    let fields = Checker { source: &source, reporter: &mut reporter, alternatives: true }.resource(&root, &STATE);
    let state = fields.map(|fields| {
        let mut reader = Reader {
            source: &source,
            reporter: &mut reporter,
            root: &root,
            now: super::check::now(),
            folder: folder(path),
            state: State::default(),
        };
        reader.read(&fields);
        let mut state = reader.state;
        state.files.push((source.file.clone(), source.text.clone()));
        state.warnings = reporter.take_warnings();
        state
    });
    reporter.finish(state)
}

impl State {
    /// Documents by kind and id (of settings, an empty one), as the API takes them. Members stand in their
    /// upstreams. In the order of kinds, nothing names what comes after it.
    #[must_use]
    pub fn documents(&self) -> &BTreeMap<(ResourceKind, String), Value> {
        &self.documents
    }

    /// Hands out the documents; places of faults are still known.
    #[must_use]
    pub fn take_documents(&mut self) -> BTreeMap<(ResourceKind, String), Value> {
        std::mem::take(&mut self.documents)
    }

    /// What is odd about the documents, and refuses nothing.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyError] {
        &self.warnings
    }

    /// The documents of these that workers compile.
    #[must_use]
    pub fn compiled(&self) -> Documents {
        let resource = |((kind, id), document): (&(ResourceKind, String), &Value)| match super::check(
            *kind,
            id,
            document.to_string().as_bytes(),
        )
        .ok()?
        .op?
        {
            Op::Put(resource) => Some(resource),
            Op::Delete { .. } | Op::Health { .. } | Op::Addresses { .. } => None,
        };
        self.documents.iter().filter(|((kind, _), _)| kind.is_compiled()).filter_map(resource).collect()
    }

    /// Adds the content of another file.
    ///
    /// # Errors
    /// If a document is in both.
    pub fn merge(&mut self, other: Self) -> Result<(), PolicyErrors> {
        let mut reporter = Reporter::default();
        for (kind, id) in other.documents.keys() {
            let Some(origin) = self.origins.get(&(*kind, id.clone())) else { continue };
            let first = self.files.get(*origin).map_or("", |(file, _)| file.as_str());
            let what = if id.is_empty() { kind.to_string() } else { format!("the {} `{id}`", kind.singular()) };
            let message = format!("{what} is given twice");
            let hint = Some(format!("the first is in {first}; keep one of them"));
            let fault = Fault { message, hint, ..Fault::default() };
            other.error(*kind, id, &fault).into_iter().for_each(|error| reporter.push(error));
        }
        reporter.finish(Some(()))?;
        let offset = self.files.len();
        self.files.extend(other.files);
        self.warnings.extend(other.warnings);
        self.origins.extend(other.origins.into_iter().map(|(key, file)| (key, file + offset)));
        self.documents.extend(other.documents);
        Ok(())
    }

    /// A fault of a document as an error with its place in the file, if a file has the document.
    #[must_use]
    pub fn error(&self, kind: ResourceKind, id: &str, fault: &Fault) -> Option<PolicyError> {
        let (file, text) = self.files.get(*self.origins.get(&(kind, id.to_owned()))?)?;
        let source = Source::new(file.clone(), text);
        let root = document::parse(&source).ok()?;
        let at = locate(&root, kind, id, &fault.pointer);
        let mut error = fault_at(&source, at, fault.message.clone(), fault.hint.clone());
        if matches!(kind, ResourceKind::Consumers | ResourceKind::Settings) {
            error.excerpt.clear(); // the line may hold a secret
        }
        Some(error)
    }

    /// As [`State::error`], of a fault whose pointer begins with the document's path in the API, such as
    /// `/routes/shop/to`.
    #[must_use]
    pub fn error_at_path(&self, fault: &Fault) -> Option<PolicyError> {
        let (kind, rest) = first_step(&fault.pointer)?;
        let kind = ResourceKind::from_plural(kind)?;
        let (id, within) = if kind.is_singleton() { ("", rest) } else { first_step(rest)? };
        self.error(kind, id, &Fault { pointer: within.to_owned(), ..fault.clone() })
    }
}

/// The first step of a pointer, and the rest. Neither names of kinds nor ids have `/` or `~`.
fn first_step(pointer: &str) -> Option<(&str, &str)> {
    let steps = pointer.strip_prefix('/')?;
    Some(steps.split_at(steps.find('/').unwrap_or(steps.len())))
}

/// The folder of a file, absolute; of standard input, the current one.
fn folder(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Byte offset of a pointer within a document of a file.
fn locate(root: &Node, kind: ResourceKind, id: &str, within: &str) -> usize {
    let mut path = format!("/{}", kind.plural());
    let of_settings = OF_SETTINGS.iter().any(|key| {
        let rest = within.strip_prefix('/').and_then(|rest| rest.strip_prefix(key));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) && has(root, key)
    });
    match kind {
        ResourceKind::Settings if of_settings => path.clear(),
        ResourceKind::Settings => {}
        ResourceKind::Policies => {
            let list = pointer::find(root, &path);
            let index = match &list.kind {
                NodeKind::Sequence(items) => items
                    .iter()
                    .position(|item| text_of(pointer::find(item, "/id")) == Some(id))
                    .map(|at| at.to_string()),
                _ => None,
            };
            pointer::push(&mut path, index.as_deref().unwrap_or(id));
        }
        _ => pointer::push(&mut path, id),
    }
    path.push_str(within);
    pointer::find(root, &path).at
}

fn has(root: &Node, key: &str) -> bool {
    matches!(&root.kind, NodeKind::Mapping(pairs) if pairs.iter().any(|(name, _)| text_of(name) == Some(key)))
}

fn text_of(node: &Node) -> Option<&str> {
    node.as_scalar().map(|scalar| scalar.text.as_str())
}

/// Goes through a checked file.
struct Reader<'r> {
    source: &'r Source,
    reporter: &'r mut Reporter,
    root: &'r Node,
    now: i64,
    /// Where relative names of files begin.
    folder: PathBuf,
    state: State,
}

impl Reader<'_> {
    fn read(&mut self, fields: &Fields<'_>) {
        self.settings(fields);
        for kind in ResourceKind::written()
            .filter(|kind| !matches!(kind, ResourceKind::Settings | ResourceKind::Members | ResourceKind::Policies))
        {
            for (_, id, item) in fields.map(kind.plural()) {
                self.document(kind, id, item, value(item.node));
            }
        }
        for (_, id, item) in fields.map("policies") {
            self.document(ResourceKind::Policies, id, item, value(item.node));
        }
        for item in fields.items("policies") {
            self.listed(item);
        }
    }

    fn settings(&mut self, fields: &Fields<'_>) {
        let mut body = match fields.get("settings") {
            Some(item) => {
                self.make(ResourceKind::Settings, "", item);
                value(item.node)
            }
            None => Value::Object(Map::new()),
        };
        let mut is_there = fields.key_node("settings").is_some();
        for key in OF_SETTINGS {
            let Some(item) = fields.get(key) else { continue };
            is_there = true;
            if fields.fields("settings").is_some_and(|settings| settings.key_node(key).is_some()) {
                let hint = Some("keep one of them".to_owned());
                self.reporter.at(self.source, item.node.at, format!("`{key}` stands in `settings`, too"), hint);
            }
            body[key] = value(item.node);
        }
        if is_there {
            self.insert(ResourceKind::Settings, "", body);
        }
    }

    /// A policy of a list, which has its id within.
    fn listed(&mut self, item: &Item<'_>) {
        let Some((id, node)) = item.as_fields().and_then(|fields| Some((fields.text("id")?, fields.get("id")?.node)))
        else {
            return; // reported
        };
        if !ResourceKind::Policies.takes_id(id) {
            let message = format!("expected an id of letters, digits and _ . - for a policy, found {}", quoted(id));
            let hint = (id == weir_gateway::resource::RESERVED_POLICY_ID).then(|| "`none` is reserved".to_owned());
            self.reporter.at(self.source, node.at, message, hint);
        }
        if self.state.documents.contains_key(&(ResourceKind::Policies, id.to_owned())) {
            let message = format!("the policy id {} is already taken", quoted(id));
            self.reporter.at(self.source, node.at, message, None);
        }
        let mut body = value(item.node);
        if let Value::Object(keys) = &mut body {
            keys.remove("id");
        }
        self.document(ResourceKind::Policies, id, item, body);
    }

    fn document(&mut self, kind: ResourceKind, id: &str, item: &Item<'_>, body: Value) {
        self.make(kind, id, item);
        self.insert(kind, id, body);
    }

    fn insert(&mut self, kind: ResourceKind, id: &str, mut body: Value) {
        absolute(&mut body, descriptor(kind).table, &self.folder);
        self.state.origins.insert((kind, id.to_owned()), 0);
        self.state.documents.insert((kind, id.to_owned()), body);
    }

    /// Checks what the table cannot say.
    fn make(&mut self, kind: ResourceKind, id: &str, item: &Item<'_>) {
        let Checks::Fields(fields) = &item.value else { return };
        let mut converter = Converter {
            id,
            parent: "",
            source: self.source,
            reporter: self.reporter,
            root: self.root,
            now: self.now,
            checked: Checked::default(),
        };
        (descriptor(kind).convert)(&mut converter, fields);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
