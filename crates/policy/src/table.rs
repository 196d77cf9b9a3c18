//! Everything a policy file may contain: one table.
//!
//! The walker that checks a file ([`crate::check`]), the JSON Schema and the reference page are
//! all made from these rows, so they cannot disagree. A new key is one row here and its use in
//! the resource's builder; a new action is one file in `action/` with its own row.

mod consumer;
pub mod form;
mod inspector;
mod kind;
mod paths;
mod resources;

pub use consumer::{CONSUMER, CONSUMER_TABLES, CREDENTIAL, SECRET};
pub use form::Form;
pub use inspector::{INSPECTOR, INSPECTOR_TABLES};
pub use kind::{Kind, Word};
pub use paths::absolute;
pub use resources::{
    CLIENT_ADDRESS, CLIENT_ADDRESS_KEY, EXCLUSION, GEO, GEO_KEY, LIST, MODE, POLICY, POLICY_DOCUMENT, ROOT, RULE,
    RULE_SET_DOCUMENT, RULES, SELECTOR, SELECTORS,
};
pub use weir_gateway::resource::MAX_ID_BYTES;

/// A mapping with known keys.
#[derive(Debug)]
pub struct Resource {
    /// Its name, as in `$defs` of the schema and in titles: `policy`, `rate_limit`.
    pub name: &'static str,
    /// What it is called in messages: `a policy`.
    pub article: &'static str,
    /// Meaning, in a sentence or two.
    pub doc: &'static str,
    /// Its keys, in the order of the reference page.
    pub keys: &'static [Key],
    /// The key whose value may be written instead of the whole mapping.
    pub short: Option<&'static str>,
    /// Keys of which exactly one must be there; empty if there is no such choice.
    pub one_of: &'static [&'static str],
}

/// A key of a resource.
#[derive(Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Whether it must be there.
    pub need: Need,
    /// Meaning, in a sentence or two.
    pub doc: &'static str,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Required,
    /// Without it, this holds; in words.
    Default(&'static str),
    /// Without it, this holds, as if it were written.
    Value(&'static str),
}

impl Need {
    /// What holds without the key, for people.
    pub fn default(self) -> Option<&'static str> {
        match self {
            Self::Required => None,
            Self::Default(text) | Self::Value(text) => Some(text),
        }
    }
}

impl Resource {
    /// The key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}
