//! Values of keys that may be missing: what the table says then, as if it were written.

use super::{Fields, Value};
use crate::document::Node;
use crate::leaf::quantity;
use crate::table::{Key, Kind, Need, Resource};

/// Why no default is missing.
const TESTED: &str = "a test reads the default of every row";

impl<'n> Fields<'n> {
    /// A mapping of which nothing is written.
    pub fn empty(node: &'n Node, resource: &'static Resource) -> Self {
        Self { node, resource, found: Vec::new() }
    }

    /// The row of a key.
    fn row(&self, name: &str) -> &'static Key {
        self.resource.key(name).expect("only keys of the resource are asked for")
    }

    /// What holds without the key.
    fn default(&self, name: &str) -> &'static str {
        match self.row(name).need {
            Need::Value(text) => text,
            Need::Required | Need::Default(_) => "",
        }
    }

    /// A text; empty if it is required and was reported.
    pub fn text_or(&self, name: &str) -> &'n str {
        self.text(name).unwrap_or_else(|| self.default(name))
    }

    /// An integer.
    pub fn integer_or(&self, name: &str) -> i64 {
        self.integer(name).unwrap_or_else(|| self.default(name).parse().expect(TESTED))
    }

    /// An integer that the table bounds to 32 bits.
    pub fn u32_or(&self, name: &str) -> u32 {
        u32::try_from(self.integer_or(name)).expect("the table bounds it")
    }

    /// A status code.
    pub fn status_or(&self, name: &str) -> u16 {
        u16::try_from(self.integer_or(name)).expect("the table bounds it")
    }

    /// A choice.
    pub fn choice_or(&self, name: &str) -> &'static str {
        self.choice(name).unwrap_or_else(|| self.default(name))
    }

    /// `true` or `false`.
    pub fn flag_or(&self, name: &str) -> bool {
        self.flag(name).unwrap_or_else(|| self.default(name) == "true")
    }

    /// A time in ms.
    pub fn ms_or(&self, name: &str) -> u64 {
        match self.get(name).map(|item| &item.value) {
            Some(Value::Milliseconds(ms)) => *ms,
            _ => quantity::duration(self.default(name), 0, u64::MAX).expect(TESTED),
        }
    }

    /// A size in bytes.
    pub fn bytes_or(&self, name: &str) -> u64 {
        match self.get(name).map(|item| &item.value) {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => quantity::size(self.default(name), 0, u64::MAX).expect(TESTED),
        }
    }

    /// A share.
    pub fn per_10000_or(&self, name: &str) -> u32 {
        match self.get(name).map(|item| &item.value) {
            Some(Value::Per10000(parts)) => *parts,
            _ => quantity::per_10000(self.default(name)).expect(TESTED),
        }
    }

    /// A range of status codes.
    pub fn statuses_or(&self, name: &str) -> (u16, u16) {
        match self.get(name).map(|item| &item.value) {
            Some(Value::Statuses(low, high)) => (*low, *high),
            _ => quantity::statuses(self.default(name)).expect(TESTED),
        }
    }

    /// What is under a key, or a mapping of which nothing is written.
    pub fn fields_or<R>(&self, name: &str, read: impl FnOnce(&Fields<'n>) -> R) -> R {
        match (self.fields(name), &self.row(name).kind) {
            (Some(fields), _) => read(fields),
            (None, Kind::Resource(resource) | Kind::Switch(resource)) => read(&Fields::empty(self.node, resource)),
            (None, _) => unreachable!("{name} is no mapping"),
        }
    }

    /// What is under a key that may be switched off.
    pub fn switch<R>(&self, name: &str, read: impl FnOnce(&Fields<'n>) -> R) -> Option<R> {
        let on = self.fields(name).is_some() || self.flag(name).unwrap_or_else(|| self.default(name) == "true");
        on.then(|| self.fields_or(name, read))
    }
}
