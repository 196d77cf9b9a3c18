//! What the language consists of, one table for each kind of word. Parser, hints, lint and the
//! reference page come from them, so that none of these can know a word that another does not.
//!
//! Every word of ModSecurity v3's reference manual is here, also those that Weir does not have: a
//! known word gets a reason, an unknown one a guess.

pub mod action;
pub mod control;
pub mod directive;
pub mod operator;
pub mod transformation;
pub mod variable;

use crate::suggest;

/// One word.
#[derive(Clone, Copy, Debug)]
pub struct Row<K: Copy + 'static> {
    /// How it is written; case does not matter.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// What it means: one sentence without its full stop.
    pub meaning: &'static str,
    /// Whether Weir has it.
    pub status: Status,
    /// What the parser does with it.
    pub kind: K,
}

/// Whether Weir has a word of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As ModSecurity v3.
    Supported,
    /// Accepted, without a meaning here, for the reason.
    NoEffect(&'static str),
    /// Understood, but does nothing until something else is switched on.
    OffByDefault(&'static str),
    /// An error, for the reason.
    Unsupported(&'static str),
}

impl<K: Copy> Row<K> {
    const fn new(name: &'static str, kind: K, meaning: &'static str) -> Self {
        Self { name, aliases: &[], meaning, status: Status::Supported, kind }
    }

    const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn no_effect(self, why: &'static str) -> Self {
        Self { status: Status::NoEffect(why), ..self }
    }

    const fn off(self, why: &'static str) -> Self {
        Self { status: Status::OffByDefault(why), ..self }
    }

    const fn unsupported(self, why: &'static str) -> Self {
        Self { status: Status::Unsupported(why), ..self }
    }

    /// Where the reference manual of ModSecurity v3 explains it.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{MANUAL}#{}", self.name.to_ascii_lowercase())
    }
}

/// The reference manual of ModSecurity v3.
pub const MANUAL: &str = "https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x)";

/// The row of that name, whatever its case.
pub(super) fn find<K: Copy>(rows: &'static [Row<K>], name: &str) -> Option<&'static Row<K>> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    rows.iter().find(|row| is(&row.name) || row.aliases.iter().any(is))
}

/// "did you mean ...?", if a name is near.
pub(super) fn guess<K: Copy>(rows: &'static [Row<K>], name: &str) -> Option<String> {
    let names = rows.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied();
    suggest::nearest(name, names).map(|near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests;
