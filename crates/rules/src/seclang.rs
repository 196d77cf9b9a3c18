//! SecLang, the rule language of ModSecurity and the OWASP Core Rule Set.
//!
//! Files are read to drafts ([`reader`], `statement`, `action`), drafts are joined to chains
//! (`chain`), removals and updates applied (`resolve`), defaults merged (`lower`). The result is a
//! [`RuleSet`](ir::RuleSet), in which everything that does not depend on a request is decided. The
//! reference is ModSecurity v3.0.9; the tables state which parts of it Weir supports.

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
pub use source::{Disk, Files, Memory, plain};

use diagnostic::Report;
use ir::RuleSet;
use reader::Reader;

/// A source of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// A file, or a pattern of file names (`*`, `?`, `[...]`), read in the order of their names.
    File(PathBuf),
    /// Inline text, such as settings that a policy adds between setup and rules.
    Text {
        /// The name used in errors.
        name: String,
        /// The SecLang text.
        text: String,
    },
}

/// Options for loading rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Treatment of rules that need a feature that Weir lacks.
    pub on_unsupported: OnUnsupported,
    /// Whether to warn about rules that are valid but probably not what the author meant.
    pub lint: bool,
    /// Whether the policy configures a geographic database, so that `@geoLookup` can match.
    pub geo: bool,
    /// Limits on the input.
    pub limits: Limits,
}

/// Loaded rules with their warnings.
#[derive(Clone, Debug)]
pub struct LoadedRules {
    /// The rules.
    pub set: RuleSet,
    /// Warnings and notes, in the order of files and lines.
    pub warnings: Vec<Diagnostic>,
}

/// Loads rules from files.
///
/// # Errors
/// All problems, warnings included, in the order of files and lines; nothing is loaded then.
pub fn load(roots: &[RuleSource], options: &Options) -> Result<LoadedRules, Vec<Diagnostic>> {
    load_from(roots, options, &Disk)
}

/// Loads rules through `files` instead of the file system.
///
/// # Errors
/// As [`load`].
pub fn load_from(roots: &[RuleSource], options: &Options, files: &dyn Files) -> Result<LoadedRules, Vec<Diagnostic>> {
    let mut reader = Reader::new(files, Report::new(options.limits, options.on_unsupported), options.geo);
    for root in roots {
        match root {
            RuleSource::File(path) => reader.root_file(path),
            RuleSource::Text { name, text } => reader.root_text(name, text),
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
    Ok(LoadedRules { set: RuleSet { entries, settings: draft.settings, files }, warnings })
}
