//! What the checker needs to know of named lists: which there are, and what is in them.

use crate::Type;

/// What a named list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Addresses and networks.
    Addresses,
    /// Byte strings, compared whole.
    Strings,
    /// Integers.
    Integers,
}

impl ListKind {
    /// Type of the values that can be looked up in it.
    #[must_use]
    pub fn ty(self) -> Type {
        match self {
            Self::Addresses => Type::Ip,
            Self::Strings => Type::Bytes,
            Self::Integers => Type::Int,
        }
    }

    /// What it holds, in words.
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
    /// What the list `name` holds, if there is one.
    fn kind(&self, name: &str) -> Option<ListKind>;
    /// Names of all lists, for suggestions.
    fn names(&self) -> Vec<String>;
}

/// No lists at all.
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
