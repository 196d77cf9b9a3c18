//! From checked mappings to what workers get: defaults filled in, names gathered, what the table cannot
//! say asked for.

mod certificate;
mod route;
mod route_key;
mod settings;
mod site;
mod upstream;

use weir_gateway::resource::HashKey;

use crate::{Checked, Kind, Reference, Unique};
use weir_policy::check::{Fields, Item, Value};
use weir_policy::document::Node;
use weir_policy::error::Reporter;
use weir_policy::pointer;
use weir_policy::source::Source;

/// Makes what workers get of one document, and gathers what is to be asked of others.
pub(crate) struct Maker<'m> {
    /// The document's id; of a member its own, without its upstream's.
    pub id: &'m str,
    /// Of a member, its upstream.
    pub upstream: &'m str,
    pub source: &'m Source,
    pub reporter: &'m mut Reporter,
    /// The whole document, where pointers begin.
    pub root: &'m Node,
    /// When certificates must not have expired, in seconds since 1970.
    pub now: i64,
    pub checked: Checked,
}

impl Maker<'_> {
    /// Makes a document of a kind. What is wrong goes to the reporter; the result then means nothing.
    pub fn make(&mut self, kind: Kind, fields: &Fields<'_>) {
        match kind {
            Kind::Settings => self.settings(fields),
            Kind::Sites => self.site(fields),
            Kind::Routes => self.route(fields),
            Kind::Upstreams => self.upstream(fields),
            Kind::Members => self.member_document(fields),
            Kind::Certificates => self.certificate(fields),
            Kind::Lists | Kind::RuleSets => self.checked.compiled = true,
            Kind::Policies => self.policy(fields),
        }
    }

    /// Reports what is wrong with a node.
    fn fault(&mut self, node: &Node, message: impl Into<String>, hint: Option<&str>) {
        self.reporter.at(self.source, node.at, message, hint.map(str::to_owned));
    }

    fn pointer(&self, node: &Node) -> String {
        pointer::of(self.root, node.at)
    }

    /// Notes that the document names a resource.
    fn refer(&mut self, item: &Item<'_>, kind: Kind) -> String {
        let Value::Text(id) = item.value else { return String::new() };
        let pointer = self.pointer(item.node);
        self.checked.references.push(Reference { pointer, kind, id: id.to_owned() });
        id.to_owned()
    }

    /// The id under a key, noted.
    fn reference(&mut self, fields: &Fields<'_>, key: &str, kind: Kind) -> Option<String> {
        fields.get(key).map(|item| self.refer(item, kind))
    }

    /// The ids of a list, each once, noted; `None` if there is no list.
    fn policies(&mut self, fields: &Fields<'_>) -> Option<Vec<String>> {
        fields.get("policies")?;
        let mut ids: Vec<String> =
            fields.items("policies").iter().map(|item| self.refer(item, Kind::Policies)).collect();
        ids.sort_unstable();
        ids.dedup();
        Some(ids)
    }

    /// Notes what no other document may have.
    fn unique(&mut self, what: String, key: String, node: &Node) {
        let pointer = self.pointer(node);
        self.checked.unique.push(Unique { what, key, pointer });
    }

    /// Notes a regular expression.
    fn pattern(&mut self, pattern: &str) -> String {
        self.checked.compiled = true;
        if !self.checked.patterns.iter().any(|known| known == pattern) {
            self.checked.patterns.push(pattern.to_owned());
        }
        pattern.to_owned()
    }
}

/// What `ip`, `header:NAME` and so on mean.
fn hash_key(text: &str) -> HashKey {
    match text.split_once(':') {
        Some(("header", name)) => HashKey::Header(name.to_ascii_lowercase()),
        Some(("cookie", name)) => HashKey::Cookie(name.to_owned()),
        Some((_, name)) => HashKey::Query(name.to_owned()),
        None if text == "uri" => HashKey::Uri,
        None => HashKey::Ip,
    }
}
