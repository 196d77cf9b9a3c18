//! The vocabulary of the language, one table for each word class. Parser, hints, lint and the
//! reference page are derived from them, so that they always agree.
//!
//! Every word of ModSecurity v3's reference manual is listed, also those that Weir lacks: a known
//! word gets a reason, an unknown one a suggestion.

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
    /// Spelling; case-insensitive.
    pub name: &'static str,
    /// Alternative spellings.
    pub aliases: &'static [&'static str],
    /// Description: one sentence without its full stop.
    pub meaning: &'static str,
    /// Support in Weir.
    pub status: Status,
    /// Data for the parser.
    pub kind: K,
}

/// Support for a word in Weir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Behaves as in ModSecurity v3.
    Supported,
    /// Accepted without effect, for this reason.
    NoEffect(&'static str),
    /// Without effect until another setting enables it.
    OffByDefault(&'static str),
    /// An error, for this reason.
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

    /// Link to its description in the reference manual of ModSecurity v3.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{MANUAL}#{}", self.name.to_ascii_lowercase())
    }
}

/// The reference manual of ModSecurity v3.
pub const MANUAL: &str = "https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x)";

/// The row of this name, ignoring case.
pub(super) fn find<K: Copy>(rows: &'static [Row<K>], name: &str) -> Option<&'static Row<K>> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    rows.iter().find(|row| is(&row.name) || row.aliases.iter().any(is))
}

/// "did you mean ...?", if a similar name exists.
pub(super) fn guess<K: Copy>(rows: &'static [Row<K>], name: &str) -> Option<String> {
    let names = rows.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied();
    suggest::nearest(name, names).map(|near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests;
