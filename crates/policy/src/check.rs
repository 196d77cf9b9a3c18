//! Checks a document against the table: every key known, once and present if required, every
//! value of its kind. What fails is reported and left out, so that the rest is still checked.

mod defaults;
mod fields;
mod what;

use std::collections::HashSet;

use weir_gateway::resource::ResourceKind;

use crate::action::{self, ActionKind};
use crate::document::{Class, Kind as NodeKind, Node, Scalar, quoted};
use crate::error::Reporter;
use crate::leaf;
use crate::source::Source;
use crate::table::{CREDENTIAL, Key, Kind, Need, POLICY, POLICY_DOCUMENT, ROOT, Resource};

pub use fields::{Fields, Item, Value};
pub use what::What;

/// The checker.
pub struct Checker<'c> {
    /// The text that is checked.
    pub source: &'c Source,
    /// Where faults go.
    pub reporter: &'c mut Reporter,
    /// Whether `one_of` of a resource is asked for here; the builders of a policy file do it themselves.
    pub alternatives: bool,
}

impl Checker<'_> {
    /// The node as a value of that kind, or `None` after reporting why not.
    pub fn check<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: What<'_>) -> Option<Item<'n>> {
        if self.reporter.is_full() {
            return None;
        }
        let value = match kind {
            Kind::Resource(resource) => self.resource(node, resource).map(Value::Fields),
            Kind::List(inner, needs_one) => self.list(node, inner, *needs_one, what),
            Kind::Map(names, inner) => self.map(node, names, inner, what),
            Kind::Action => self.action(node),
            Kind::Switch(resource) => self.switch(node, resource),
            Kind::AtMost(inner, most) => {
                self.at_most(node, *most, what);
                return self.check(node, inner, what);
            }
            Kind::Policies => self.policies(node, what),
            Kind::RuleIds => self.rule_ids(node, kind, what),
            _ => self.leaf(node, kind, what),
        };
        value.map(|value| Item { node, value })
    }

    fn fault(&mut self, node: &Node, message: String, hint: Option<String>) {
        self.reporter.at(self.source, node.at, message, hint);
    }

    /// What was expected for something is not what was found.
    fn mismatch(&mut self, node: &Node, expected: &str, what: Option<What<'_>>, found: &str, hint: Option<String>) {
        self.reporter.mismatch(self.source, node.at, (expected, found), what, hint);
    }

    /// A mapping with known keys, or the short form. What is wrong with credentials is said without quoting them.
    pub fn resource<'n>(&mut self, node: &'n Node, resource: &'static Resource) -> Option<Fields<'n>> {
        let hides = self.reporter.hides;
        self.reporter.hides |= resource.name == CREDENTIAL.name;
        let fields = self.mapping(node, resource);
        self.reporter.hides = hides;
        fields
    }

    fn mapping<'n>(&mut self, node: &'n Node, resource: &'static Resource) -> Option<Fields<'n>> {
        let pairs = match (&node.kind, resource.short) {
            (NodeKind::Mapping(pairs), _) => pairs,
            (NodeKind::Scalar(_) | NodeKind::Sequence(_), Some(short))
                if !node.is_null() && takes(resource, short, &node.kind) =>
            {
                let key = resource.key(short).expect("the short form is a key");
                let item = self.check(node, &key.kind, What::Key(key, resource));
                return Some(Fields { node, resource, found: vec![(key, node, item)] });
            }
            _ => {
                let keys: Vec<&str> = resource.keys.iter().map(|key| key.name).collect();
                let expected = format!("{} (a mapping)", resource.article);
                let hint = format!("its keys are {}", keys.join(", "));
                self.mismatch(node, &expected, None, &node.describe(), Some(hint));
                return None;
            }
        };
        let mut fields = Fields { node, resource, found: Vec::with_capacity(pairs.len()) };
        for (name, value) in pairs {
            if let Some(key) = self.key(name, resource, &fields) {
                let item = self.check(value, &key.kind, What::Key(key, resource));
                fields.found.push((key, name, item));
            }
        }
        self.required(&fields);
        Some(fields)
    }

    /// The action's resource with no keys given, for an action written as a bare word.
    fn bare<'n>(&mut self, node: &'n Node, resource: &'static Resource) -> Fields<'n> {
        let fields = Fields { node, resource, found: Vec::new() };
        self.required(&fields);
        fields
    }

    fn required(&mut self, fields: &Fields<'_>) {
        for key in fields.resource.keys {
            if key.need == Need::Required && fields.lacks(&[key.name]) {
                let message = format!("{} needs `{}`", fields.resource.article, key.name);
                self.fault(fields.node, message, Some(format!("expected {}", key.kind.describe())));
            }
        }
        self.one_of(fields);
    }

    /// Of some keys exactly one must be there.
    fn one_of(&mut self, fields: &Fields<'_>) {
        let choices = fields.resource.one_of;
        // What a policy has is checked where it is built; credentials are checked here wherever they stand.
        if !(self.alternatives || self.reporter.hides) || choices.is_empty() {
            return;
        }
        let mut given = choices.iter().filter_map(|name| Some((name, fields.key_node(name)?)));
        let all = || choices.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match (given.next(), given.next()) {
            (None, _) if fields.lacks(choices) => {
                let message = format!("{} needs one of {}", fields.resource.article, all());
                self.fault(fields.node, message, None);
            }
            (Some((first, _)), Some((second, node))) => {
                let message = format!("{} has either `{first}` or `{second}`", fields.resource.article);
                self.fault(node, message, Some(format!("keep one of {}", all())));
            }
            _ => {}
        }
    }

    /// A mapping, or `true` or `false`.
    fn switch<'n>(&mut self, node: &'n Node, resource: &'static Resource) -> Option<Value<'n>> {
        if let NodeKind::Mapping(_) = node.kind {
            return self.resource(node, resource).map(Value::Fields);
        }
        match node.as_scalar().map(|scalar| (scalar.class(), scalar.text.as_str())) {
            Some((Class::Bool, "true" | "True" | "TRUE")) => Some(Value::Flag(true)),
            Some((Class::Bool, _)) => Some(Value::Flag(false)),
            _ => {
                let keys: Vec<&str> = resource.keys.iter().map(|key| key.name).collect();
                let expected = Kind::Switch(resource).describe();
                let hint = format!("its keys are {}; `false` switches it off", keys.join(", "));
                self.mismatch(node, &expected, None, &node.describe(), Some(hint));
                None
            }
        }
    }

    /// Lists and mappings are bounded.
    fn at_most(&mut self, node: &Node, most: usize, what: What<'_>) {
        let (found, name) = match &node.kind {
            NodeKind::Sequence(items) => (items.len(), "items"),
            NodeKind::Mapping(pairs) => (pairs.len(), "entries"),
            NodeKind::Scalar(_) => return,
        };
        if found > most {
            self.fault(node, format!("{found} {name} in {what}; at most {most} are possible"), None);
        }
    }

    /// Policies by id, or as a list.
    fn policies<'n>(&mut self, node: &'n Node, what: What<'_>) -> Option<Value<'n>> {
        static NAMES: Kind = Kind::Id(ResourceKind::Policies);
        static DOCUMENT: Kind = Kind::Resource(&POLICY_DOCUMENT);
        static POLICY_WITH_ID: Kind = Kind::Resource(&POLICY);
        match &node.kind {
            NodeKind::Sequence(_) => self.list(node, &POLICY_WITH_ID, false, what),
            _ => self.map(node, &NAMES, &DOCUMENT, what),
        }
    }

    fn key(&mut self, name: &Node, resource: &'static Resource, seen: &Fields<'_>) -> Option<&'static Key> {
        let Some(Scalar { text, .. }) = name.as_scalar() else {
            self.fault(name, format!("expected a key of {}, found {}", resource.article, name.describe()), None);
            return None;
        };
        let Some(key) = resource.key(text) else {
            let hint = self
                .elsewhere(text, resource)
                .unwrap_or_else(|| unknown_hint(text, resource.keys.iter().map(|key| key.name), "its keys are"));
            let shown = if self.reporter.hides { String::new() } else { format!(" {}", quoted(text)) };
            self.fault(name, format!("unknown key{shown} in {}", resource.article), Some(hint));
            return None;
        };
        if let Some(first) = seen.key_node(key.name) {
            let line = self.source.position(first.at).line;
            let message = format!("`{}` is given twice in {}", key.name, resource.article);
            self.fault(name, message, Some(format!("the first is on line {line}; keep one of them")));
            return None;
        }
        Some(key)
    }

    fn list<'n>(&mut self, node: &'n Node, inner: &'static Kind, needs_one: bool, what: What<'_>) -> Option<Value<'n>> {
        let NodeKind::Sequence(items) = &node.kind else {
            let hint = (!node.is_null()).then(|| "write `[...]`, or one item a line after `- `".to_owned());
            self.mismatch(node, "a list", Some(what), &node.describe(), hint);
            return None;
        };
        if needs_one && items.is_empty() {
            self.fault(node, format!("expected at least one item in {what}, found an empty list"), None);
            return None;
        }
        let what = What::Item(&what);
        Some(Value::List(items.iter().filter_map(|item| self.check(item, inner, what)).collect()))
    }

    /// One id or range, or a list of them.
    fn rule_ids<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: What<'_>) -> Option<Value<'n>> {
        let NodeKind::Sequence(items) = &node.kind else { return self.leaf(node, kind, what) };
        if items.is_empty() {
            self.fault(node, format!("expected at least one item in {what}, found an empty list"), None);
            return None;
        }
        let mut all = Vec::new();
        for item in items {
            match self.leaf(item, kind, what)? {
                Value::RuleIds(ranges) => all.extend(ranges),
                _ => unreachable!("a leaf of this kind is a range"),
            }
        }
        Some(Value::RuleIds(all))
    }

    fn map<'n>(
        &mut self,
        node: &'n Node,
        names: &'static Kind,
        inner: &'static Kind,
        what: What<'_>,
    ) -> Option<Value<'n>> {
        let NodeKind::Mapping(pairs) = &node.kind else {
            self.mismatch(node, "a mapping of names", Some(what), &node.describe(), None);
            return None;
        };
        let mut seen = HashSet::new();
        let mut checked = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let Some(Value::Text(text)) = self.name(name, names, What::Name(&what)) else { continue };
            let same = if matches!(names, Kind::HeaderName) { text.to_ascii_lowercase() } else { text.to_owned() };
            if !seen.insert(same) {
                self.fault(name, format!("{} is given twice in {what}", quoted(text)), None);
                continue;
            }
            if let Some(item) = self.check(value, inner, What::Named(text, &what)) {
                checked.push((&**name, text, item));
            }
        }
        Some(Value::Map(checked))
    }

    fn action<'n>(&mut self, node: &'n Node) -> Option<Value<'n>> {
        let (name, parameters) = match &node.kind {
            NodeKind::Mapping(pairs) if pairs.len() == 1 => (&pairs[0].0, Some(&pairs[0].1)),
            NodeKind::Mapping(pairs) if pairs.len() > 1 => {
                let message = format!("expected one action, found a mapping of {} keys", pairs.len());
                let hint = "each action is an item of its own (`- name: {...}`); parameters stand inside the braces or are indented deeper than the action's name";
                self.fault(node, message, Some(hint.to_owned()));
                return None;
            }
            NodeKind::Scalar(scalar) if scalar.class() != Class::Null => return self.bare_action(node, &scalar.text),
            _ => {
                let message = format!("expected {}, found {}", Kind::Action.describe(), node.describe());
                self.fault(
                    node,
                    message,
                    Some(format!("the actions are {}", action::names().collect::<Vec<_>>().join(", "))),
                );
                return None;
            }
        };
        let text = name.as_scalar().map_or("", |scalar| &scalar.text);
        let kind = self.find_action(name, text)?;
        let parameters = parameters.expect("a mapping's key has a value");
        let fields = if parameters.is_null() {
            self.bare(name, kind.resource)
        } else {
            self.resource(parameters, kind.resource)?
        };
        Some(Value::Action(kind, fields))
    }

    fn bare_action<'n>(&mut self, node: &'n Node, name: &str) -> Option<Value<'n>> {
        let kind = self.find_action(node, name)?;
        Some(Value::Action(kind, self.bare(node, kind.resource)))
    }

    fn find_action(&mut self, node: &Node, name: &str) -> Option<&'static ActionKind> {
        let kind = action::find(name);
        if kind.is_none() {
            let hint = unknown_hint(name, action::names(), "the actions are");
            self.fault(node, format!("unknown action {}", quoted(name)), Some(hint));
        }
        kind
    }

    fn leaf<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: What<'_>) -> Option<Value<'n>> {
        self.value(node, leaf::check(node, kind), kind, what)
    }

    /// The key of a mapping.
    fn name<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: What<'_>) -> Option<Value<'n>> {
        self.value(node, leaf::name(node, kind), kind, what)
    }

    fn value<'n>(
        &mut self,
        node: &Node,
        checked: Result<Value<'n>, leaf::Fault>,
        kind: &'static Kind,
        what: What<'_>,
    ) -> Option<Value<'n>> {
        match checked {
            Ok(value) => Some(value),
            Err(fault) => {
                self.mismatch(node, &kind.describe(), Some(what), &fault.found, fault.hint);
                None
            }
        }
    }

    /// Where a key belongs that is none of this resource.
    fn elsewhere(&self, key: &str, resource: &'static Resource) -> Option<String> {
        if std::ptr::eq(resource, &ROOT) && ResourceKind::from_plural(key).is_some() {
            return Some(format!(
                "`{key}` is for a running gateway: `weir apply FILE` takes it, `weir_policy` does not"
            ));
        }
        let hint = match key {
            "revision" => "leave it out: control counts the revisions of a running gateway",
            "id" => "the id is not part of it; it is the name under which it stands",
            _ => return None,
        };
        self.alternatives.then(|| hint.to_owned())
    }
}

/// Whether the key that a mapping is short for may be written as such a node.
fn takes(resource: &Resource, short: &str, node: &NodeKind) -> bool {
    let mut kind = &resource.key(short).expect("the short form is a key").kind;
    while let Kind::AtMost(inner, _) = kind {
        kind = inner;
    }
    matches!(kind, Kind::List(..)) == matches!(node, NodeKind::Sequence(_))
}

/// `did you mean ...`, or else all there are.
pub fn unknown_hint<'k>(written: &str, known: impl Iterator<Item = &'k str> + Clone, all: &str) -> String {
    match weir_rules::nearest(written, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{all} {}", known.collect::<Vec<_>>().join(", ")),
    }
}
