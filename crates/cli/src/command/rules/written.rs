//! A rule as it was written, after removals and updates: what the compiled program no longer has.
//!
//! Programs keep no text, because two hundred sites share them for years and nobody asks. So the
//! files are read again here. A file that another one includes is among the program's files too;
//! it is read once, where the first of them names it. Rules within a policy are its texts.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_engine::seclang::Program;
use weir_rules::seclang::ir::{Rule, RuleSetEntry};
use weir_rules::seclang::{Diagnostic, Disk, Files, LoadedRules, OnUnsupported, Options, RuleSource, load_from};

/// Texts of named rule sets, by what errors call them: `rule_sets/own`.
pub(crate) type Texts = BTreeMap<String, String>;

/// The texts among named rule sets.
pub(crate) fn texts<'v>(sets: impl Iterator<Item = (&'v str, &'v Value)>) -> Texts {
    sets.filter_map(|(id, set)| Some((format!("rule_sets/{id}"), set["rules"].as_str()?.to_owned()))).collect()
}

/// The rule of that id. `None` if the files have changed under us.
pub(super) fn rule(program: &Program, id: u64, texts: &Texts) -> Option<Rule> {
    let set = load(program, false, texts).ok()?.set;
    set.entries.into_iter().find_map(|entry| match entry {
        RuleSetEntry::Rule(rule) if rule.id == id => Some(*rule),
        _ => None,
    })
}

/// Reads a program's files again.
///
/// # Errors
/// If they have changed meanwhile and are wrong now.
pub(crate) fn load(program: &Program, lint: bool, texts: &Texts) -> Result<LoadedRules, Vec<Diagnostic>> {
    let root = |name: &String| match texts.get(name) {
        Some(text) => Some(RuleSource::Text { name: name.clone(), text: text.clone() }),
        None => Some(PathBuf::from(name)).filter(|path| path.is_file()).map(RuleSource::File),
    };
    let roots: Vec<RuleSource> = program.files().iter().filter_map(root).collect();
    let files =
        roots.iter().filter_map(|root| if let RuleSource::File(path) = root { Some(path.clone()) } else { None });
    let once = Once { roots: files.collect(), seen: RefCell::default() };
    // A set that is in use has been checked: what it lacks here was left out there as well.
    let options = Options { on_unsupported: OnUnsupported::Warn, geo: true, lint, ..Options::default() };
    load_from(&roots, &options, &once)
}

/// The disk, on which a file of rules is empty once it has been read.
struct Once {
    roots: HashSet<PathBuf>,
    seen: RefCell<HashSet<PathBuf>>,
}

impl Files for Once {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        // Files of phrases are none of the roots and may be read by many rules.
        if self.roots.contains(path) && !self.seen.borrow_mut().insert(self.identity(path)) {
            return Ok(Vec::new());
        }
        Disk.read(path, limit)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        Disk.list(directory)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        Disk.identity(path)
    }
}
