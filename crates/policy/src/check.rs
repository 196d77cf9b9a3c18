//! Checks a document against the table: every key known, once and present if required, every
//! value of its kind. What fails is reported and left out, so that the rest is still checked.

use std::collections::HashSet;

use crate::action::{self, ActionKind};
use crate::document::{Class, Kind as NodeKind, Node, Scalar, quoted};
use crate::error::{Reporter, nearest};
use crate::leaf::{self, Rate};
use crate::source::Source;
use crate::table::{Key, Kind, Need, Resource};

/// A checked value and its place.
#[derive(Debug)]
pub(crate) struct Item<'n> {
    pub node: &'n Node,
    pub value: Value<'n>,
}

/// A value of a kind.
#[derive(Debug)]
pub(crate) enum Value<'n> {
    Text(&'n str),
    Integer(i64),
    Choice(&'static str),
    Network(ipnet::IpNet),
    Rate(Rate),
    Flag(bool),
    /// Ranges of rule ids, both ends included.
    RuleIds(Vec<(u64, u64)>),
    List(Vec<Item<'n>>),
    Map(Vec<(&'n Node, &'n str, Item<'n>)>),
    Fields(Fields<'n>),
    Action(&'static ActionKind, Fields<'n>),
}

/// A checked mapping with known keys.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    pub node: &'n Node,
    resource: &'static Resource,
    found: Vec<(&'static Key, &'n Node, Option<Item<'n>>)>,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there and right.
    pub fn get(&self, name: &str) -> Option<&Item<'n>> {
        debug_assert!(self.resource.key(name).is_some(), "{name} is no key of {}", self.resource.name);
        self.found.iter().find(|(key, _, _)| key.name == name)?.2.as_ref()
    }

    /// The node of a key, whether or not its value is right.
    pub fn key_node(&self, name: &str) -> Option<&'n Node> {
        self.found.iter().find(|(key, _, _)| key.name == name).map(|(_, node, _)| *node)
    }

    /// Whether none of the keys is there, not even misspelt, which has been reported.
    pub fn lacks(&self, names: &[&str]) -> bool {
        let pairs = if let NodeKind::Mapping(pairs) = &self.node.kind { pairs.as_slice() } else { &[] };
        let meant = |name: &str| {
            let known = || self.resource.keys.iter().map(|key| key.name);
            pairs.iter().filter_map(|(key, _)| key.as_scalar()).any(|key| nearest(&key.text, known()) == Some(name))
        };
        names.iter().all(|name| self.key_node(name).is_none() && !meant(name))
    }

    /// A text, word or file.
    pub fn text(&self, name: &str) -> Option<&'n str> {
        match self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An integer.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)?.value {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// A choice.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name)?.value {
            Value::Choice(choice) => Some(choice),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// The items of a list; none if it is missing.
    pub fn items(&self, name: &str) -> &[Item<'n>] {
        match self.get(name).map(|item| &item.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// A mapping of names; none if it is missing.
    pub fn map(&self, name: &str) -> &[(&'n Node, &'n str, Item<'n>)] {
        match self.get(name).map(|item| &item.value) {
            Some(Value::Map(pairs)) => pairs,
            _ => &[],
        }
    }

    /// A mapping with known keys.
    pub fn fields(&self, name: &str) -> Option<&Fields<'n>> {
        self.get(name)?.as_fields()
    }
}

impl<'n> Item<'n> {
    /// The mapping, if it is one.
    pub fn as_fields(&self) -> Option<&Fields<'n>> {
        if let Value::Fields(fields) = &self.value { Some(fields) } else { None }
    }
}

/// The checker.
pub(crate) struct Checker<'c> {
    pub source: &'c Source,
    pub reporter: &'c mut Reporter,
}

impl Checker<'_> {
    /// The node as a value of that kind, or `None` after reporting why not.
    pub fn check<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: &str) -> Option<Item<'n>> {
        if self.reporter.is_full() {
            return None;
        }
        let value = match kind {
            Kind::Resource(resource) => self.resource(node, resource).map(Value::Fields),
            Kind::List(inner, needs_one) => self.list(node, inner, *needs_one, what),
            Kind::Map(names, inner) => self.map(node, names, inner, what),
            Kind::Action => self.action(node),
            Kind::RuleIds => self.rule_ids(node, kind, what),
            _ => self.leaf(node, kind, what),
        };
        value.map(|value| Item { node, value })
    }

    fn fault(&mut self, node: &Node, message: String, hint: Option<String>) {
        self.reporter.at(self.source, node.at, message, hint);
    }

    /// A mapping with known keys, or the short form.
    pub fn resource<'n>(&mut self, node: &'n Node, resource: &'static Resource) -> Option<Fields<'n>> {
        let pairs = match (&node.kind, resource.short) {
            (NodeKind::Mapping(pairs), _) => pairs,
            (NodeKind::Scalar(_), Some(short)) if !node.is_null() => {
                let key = resource.key(short).expect("the short form is a key");
                let item = self.check(node, &key.kind, &format!("`{short}` of {}", resource.article));
                return Some(Fields { node, resource, found: vec![(key, node, item)] });
            }
            _ => {
                let keys: Vec<&str> = resource.keys.iter().map(|key| key.name).collect();
                let message = format!("expected {} (a mapping), found {}", resource.article, node.describe());
                self.fault(node, message, Some(format!("its keys are {}", keys.join(", "))));
                return None;
            }
        };
        let mut fields = Fields { node, resource, found: Vec::with_capacity(pairs.len()) };
        for (name, value) in pairs {
            if let Some(key) = self.key(name, resource, &fields) {
                let item = self.check(value, &key.kind, &format!("`{}` of {}", key.name, resource.article));
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
    }

    fn key(&mut self, name: &Node, resource: &'static Resource, seen: &Fields<'_>) -> Option<&'static Key> {
        let Some(Scalar { text, .. }) = name.as_scalar() else {
            self.fault(name, format!("expected a key of {}, found {}", resource.article, name.describe()), None);
            return None;
        };
        let Some(key) = resource.key(text) else {
            let hint = unknown_hint(text, resource.keys.iter().map(|key| key.name), "its keys are");
            self.fault(name, format!("unknown key {} in {}", quoted(text), resource.article), Some(hint));
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

    fn list<'n>(&mut self, node: &'n Node, inner: &'static Kind, needs_one: bool, what: &str) -> Option<Value<'n>> {
        let NodeKind::Sequence(items) = &node.kind else {
            let message = format!("expected a list for {what}, found {}", node.describe());
            let hint = (!node.is_null()).then(|| "write `[...]`, or one item a line after `- `".to_owned());
            self.fault(node, message, hint);
            return None;
        };
        if needs_one && items.is_empty() {
            self.fault(node, format!("expected at least one item in {what}, found an empty list"), None);
            return None;
        }
        let what = format!("an item of {what}");
        Some(Value::List(items.iter().filter_map(|item| self.check(item, inner, &what)).collect()))
    }

    /// One id or range, or a list of them.
    fn rule_ids<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: &str) -> Option<Value<'n>> {
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

    fn map<'n>(&mut self, node: &'n Node, names: &'static Kind, inner: &'static Kind, what: &str) -> Option<Value<'n>> {
        let NodeKind::Mapping(pairs) = &node.kind else {
            let message = format!("expected a mapping of names for {what}, found {}", node.describe());
            self.fault(node, message, None);
            return None;
        };
        let mut seen = HashSet::new();
        let mut checked = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let Some(Value::Text(text)) = self.leaf(name, names, &format!("a name in {what}")) else { continue };
            let same = if matches!(names, Kind::HeaderName) { text.to_ascii_lowercase() } else { text.to_owned() };
            if !seen.insert(same) {
                self.fault(name, format!("{} is given twice in {what}", quoted(text)), None);
                continue;
            }
            if let Some(item) = self.check(value, inner, &format!("{} in {what}", quoted(text))) {
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

    fn leaf<'n>(&mut self, node: &'n Node, kind: &'static Kind, what: &str) -> Option<Value<'n>> {
        match leaf::check(node, kind) {
            Ok(value) => Some(value),
            Err(fault) => {
                let message = format!("expected {} for {what}, found {}", kind.describe(), fault.found);
                self.fault(node, message, fault.hint);
                None
            }
        }
    }
}

/// `did you mean ...`, or else all there are.
pub(crate) fn unknown_hint<'k>(written: &str, known: impl Iterator<Item = &'k str> + Clone, all: &str) -> String {
    match nearest(written, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{all} {}", known.collect::<Vec<_>>().join(", ")),
    }
}
