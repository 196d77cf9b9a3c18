//! SecLang, the rule language of ModSecurity and the OWASP Core Rule Set.
//!
//! Files to drafts ([`reader`], `statement`, `action`), drafts to chains (`chain`), removals and
//! updates applied (`resolve`), defaults merged (`lower`): a [`RuleSet`](ir::RuleSet), in which
//! everything that does not depend on a request is decided. The reference is ModSecurity v3.0.9;
//! the tables say what of it Weir has.

mod action;
mod actions;
mod chain;
mod control;
mod cursor;
mod diagnostic;
mod draft;
mod effect;
pub mod ir;
mod limits;
mod lint;
mod lower;
mod macros;
mod operator;
pub mod pattern;
mod phrases;
mod reader;
mod reference;
mod resolve;
mod selector;
mod setting;
mod source;
mod statement;
mod table;

use std::path::PathBuf;

pub use diagnostic::{Diagnostic, OnUnsupported, Severity};
pub use limits::Limits;
pub use reference::reference;
pub use source::{Disk, Files, Memory};

use diagnostic::Report;
use ir::RuleSet;
use reader::Reader;

/// Where rules come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A file, or a pattern of names (`*`, `?`, `[...]`), read in their order.
    File(PathBuf),
    /// A text, such as settings that a policy adds between setup and rules.
    Text {
        /// What errors call it.
        name: String,
        /// SecLang.
        text: String,
    },
}

/// How rules are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What becomes of rules that need something that Weir lacks.
    pub on_unsupported: OnUnsupported,
    /// Whether to look for what is right by the language but probably not what was meant.
    pub lint: bool,
    /// Whether the policy names a geographic database, so that `@geoLookup` can find something.
    pub geo: bool,
    /// Bounds.
    pub limits: Limits,
}

/// Rules, and what is worth knowing of them.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The rules.
    pub set: RuleSet,
    /// Warnings and notes, in the order of files and lines.
    pub warnings: Vec<Diagnostic>,
}

/// Loads rules from files.
///
/// # Errors
/// All that is wrong, in the order of files and lines, warnings included; nothing is loaded then.
pub fn load(roots: &[Root], options: &Options) -> Result<Loaded, Vec<Diagnostic>> {
    load_from(roots, options, &Disk)
}

/// Loads rules from files that are elsewhere.
///
/// # Errors
/// As [`load`].
pub fn load_from(roots: &[Root], options: &Options, files: &dyn Files) -> Result<Loaded, Vec<Diagnostic>> {
    let mut reader = Reader::new(files, Report::new(options.limits, options.on_unsupported), options.geo);
    for root in roots {
        match root {
            Root::File(path) => reader.root_file(path),
            Root::Text { name, text } => reader.root_text(name, text),
        }
    }
    let Reader { mut report, draft, .. } = reader;
    let mut steps = chain::join(draft.items, &mut report);
    let defaults = lower::defaults(&draft.defaults);
    if options.lint {
        lint::check(&steps, &defaults, &mut report);
    }
    let idle = resolve::apply(&mut steps, &draft.removals, &draft.updates, &mut report);
    if options.lint {
        idle.into_iter().for_each(|(spot, message)| report.warn(spot, "", message, None));
    }
    if report.failed() {
        return Err(report.finish().0);
    }
    let entries = lower::entries(steps, &defaults, draft.settings.unicode_map.is_some(), &report);
    let (warnings, texts) = report.finish();
    let files = texts.into_iter().map(|text| text.name).collect();
    Ok(Loaded { set: RuleSet { entries, settings: draft.settings, files }, warnings })
}
