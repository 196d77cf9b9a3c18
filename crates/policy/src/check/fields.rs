//! What the checker makes: values of their kinds, each with its place.

use weir_gateway::resource::ResourceKind;

use crate::action::ActionKind;
use crate::document::{Kind as NodeKind, Node};
use crate::leaf::Rate;
use crate::table::{Key, Kind, Resource};

/// A checked value and its place.
#[derive(Debug)]
pub struct Item<'n> {
    /// Where it stands.
    pub node: &'n Node,
    /// The value.
    pub value: Value<'n>,
}

/// A value of a kind.
#[derive(Debug)]
pub enum Value<'n> {
    /// A text, word, id, path or expression.
    Text(&'n str),
    /// A number.
    Integer(i64),
    /// One of the names that the table lists.
    Choice(&'static str),
    /// An address is a network of one.
    Network(ipnet::IpNet),
    /// Requests in a period.
    Rate(Rate),
    /// `true` or `false`.
    Flag(bool),
    /// Ranges of rule ids, both ends included.
    RuleIds(Vec<(u64, u64)>),
    /// A time.
    Milliseconds(u64),
    /// A size.
    Bytes(u64),
    /// A share.
    Per10000(u32),
    /// A range of status codes, both ends included.
    Statuses(u16, u16),
    /// The items that are right.
    List(Vec<Item<'n>>),
    /// The entries that are right: the node of the name, the name, the value.
    Map(Vec<(&'n Node, &'n str, Item<'n>)>),
    /// A mapping with known keys.
    Fields(Fields<'n>),
    /// An action with its parameters.
    Action(&'static ActionKind, Fields<'n>),
}

/// A checked mapping with known keys.
#[derive(Debug)]
pub struct Fields<'n> {
    /// Where it stands.
    pub node: &'n Node,
    pub(super) resource: &'static Resource,
    pub(super) found: Vec<(&'static Key, &'n Node, Option<Item<'n>>)>,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there and right.
    pub fn get(&self, name: &str) -> Option<&Item<'n>> {
        debug_assert!(self.resource.key(name).is_some(), "{name} is no key of {}", self.resource.name);
        self.found.iter().find(|(key, _, _)| key.name == name)?.2.as_ref()
    }

    /// The values that name a resource, each with the kind of resource.
    pub fn references(&self) -> impl Iterator<Item = (ResourceKind, &Item<'n>)> {
        let named = self.found.iter().filter_map(|(key, _, item)| match (&key.kind, item) {
            (Kind::Id(kind), Some(item)) => Some((*kind, std::slice::from_ref(item))),
            (Kind::List(Kind::Id(kind), _), Some(Item { value: Value::List(items), .. })) => Some((*kind, &items[..])),
            _ => None,
        });
        named.flat_map(|(kind, items)| items.iter().map(move |item| (kind, item)))
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
            pairs
                .iter()
                .filter_map(|(key, _)| key.as_scalar())
                .any(|key| weir_rules::nearest(&key.text, known()) == Some(name))
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

    /// The texts of a list.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let text = |item: &Item<'_>| match item.value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        };
        self.items(name).iter().filter_map(text).collect()
    }

    /// A time.
    pub fn milliseconds(&self, name: &str) -> Option<u64> {
        match self.get(name)?.value {
            Value::Milliseconds(ms) => Some(ms),
            _ => None,
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
