//! From checked mappings to what workers get: defaults filled in, references gathered, and what no table can say
//! checked.

use weir_gateway::op::Op;
use weir_gateway::resource::{HashKey, Resource, ResourceKind};
use weir_policy::check::{Fields, Item, Value};
use weir_policy::document::Node;
use weir_policy::error::Reporter;
use weir_policy::pointer;
use weir_policy::source::Source;

use crate::{Checked, Reference, Unique};

/// Makes what workers get of one document, and gathers what other documents have to be asked for.
pub(crate) struct Converter<'c> {
    /// The document's id; of a member its own, without its upstream's.
    pub id: &'c str,
    /// The id of what it belongs to: of a member, its upstream.
    pub parent: &'c str,
    pub source: &'c Source,
    pub reporter: &'c mut Reporter,
    /// The whole document, where pointers begin.
    pub root: &'c Node,
    /// When certificates must not have expired, in seconds since 1970.
    pub now: i64,
    pub checked: Checked,
}

impl Converter<'_> {
    /// Sets what workers get.
    pub fn put(&mut self, resource: Resource) {
        self.checked.op = Some(Op::Put(resource));
    }

    /// Reports what is wrong with a node.
    pub fn fault(&mut self, node: &Node, message: impl Into<String>, hint: Option<&str>) {
        self.reporter.at(self.source, node.at, message, hint.map(str::to_owned));
    }

    /// Reports what is odd about a node, which refuses nothing.
    pub fn warn(&mut self, node: &Node, message: impl Into<String>, hint: Option<&str>) {
        self.reporter.warn_at(self.source, node.at, message, hint.map(str::to_owned));
    }

    pub fn pointer(&self, node: &Node) -> String {
        pointer::of(self.root, node.at)
    }

    /// Notes that the document names a resource.
    pub fn refer(&mut self, item: &Item<'_>, kind: ResourceKind) -> String {
        let Value::Text(id) = item.value else { return String::new() };
        let pointer = self.pointer(item.node);
        self.checked.references.push(Reference { pointer, kind, id: id.to_owned() });
        id.to_owned()
    }

    /// The id under a key, noted.
    pub fn reference(&mut self, fields: &Fields<'_>, key: &str, kind: ResourceKind) -> Option<String> {
        fields.get(key).map(|item| self.refer(item, kind))
    }

    /// The ids of a list as listed, each once, noted; `None` if there is no list.
    pub fn policies(&mut self, fields: &Fields<'_>) -> Option<Vec<String>> {
        fields.get("policies")?;
        let mut ids: Vec<String> = Vec::new();
        for item in fields.items("policies") {
            let id = self.refer(item, ResourceKind::Policies);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Some(ids)
    }

    /// Notes what no other document may have.
    pub fn unique(&mut self, what: String, key: String, node: &Node) {
        let pointer = self.pointer(node);
        self.checked.unique.push(Unique { what, key, pointer });
    }

    /// Notes a regular expression.
    pub fn pattern(&mut self, pattern: &str) -> String {
        if !self.checked.patterns.iter().any(|known| known == pattern) {
            self.checked.patterns.push(pattern.to_owned());
        }
        pattern.to_owned()
    }
}

/// What `ip`, `header:NAME` and so on mean.
pub(crate) fn hash_key(text: &str) -> HashKey {
    match text.split_once(':') {
        Some(("header", name)) => HashKey::Header(name.to_ascii_lowercase()),
        Some(("cookie", name)) => HashKey::Cookie(name.to_owned()),
        Some((_, name)) => HashKey::Query(name.to_owned()),
        None if text == "uri" => HashKey::Uri,
        None => HashKey::Ip,
    }
}
