//! Named lists as the checker sees them: their names and element types.

use crate::ValueType;

/// Element type of a named list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// IP addresses and networks.
    Addresses,
    /// Byte strings, compared whole.
    Strings,
    /// Integers.
    Integers,
}

impl ListKind {
    /// Type of the values that the list can be searched for.
    #[must_use]
    pub fn ty(self) -> ValueType {
        match self {
            Self::Addresses => ValueType::Ip,
            Self::Strings => ValueType::Bytes,
            Self::Integers => ValueType::Int,
        }
    }

    /// The plural noun for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::Strings => "strings",
            Self::Integers => "integers",
        }
    }
}

/// The named lists that expressions may refer to.
pub trait ListKinds {
    /// Element type of the list `name`, if it exists.
    fn kind(&self, name: &str) -> Option<ListKind>;
    /// Names of all lists, for suggestions.
    fn names(&self) -> Vec<String>;
}

/// An environment without named lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLists;

impl ListKinds for NoLists {
    fn kind(&self, _name: &str) -> Option<ListKind> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<S: std::hash::BuildHasher> ListKinds for std::collections::HashMap<String, ListKind, S> {
    fn kind(&self, name: &str) -> Option<ListKind> {
        self.get(name).copied()
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

impl ListKinds for std::collections::BTreeMap<String, ListKind> {
    fn kind(&self, name: &str) -> Option<ListKind> {
        self.get(name).copied()
    }

    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}
