//! SecLang rule sets of a policy: which files, compiled once, used by many.
//!
//! Two hundred sites may use the same Core Rule Set, each with its own paranoia level and
//! exclusions. So what a site says never becomes part of the compiled program: it is a
//! [`weir_engine::seclang::Tuning`] beside it. Programs are found again by content
//! (`cache.rs`), by other policies and after a reload too.

mod cache;
mod exclusion;
mod files;
mod needs;

use std::sync::Arc;

use weir_engine::RuleIndex;
use weir_engine::seclang::{Program, RuleInfo};
use weir_rules::seclang::{Options, RuleSource};

pub(crate) use exclusion::exclusions;
pub(crate) use files::expand;
pub use needs::RuleSetNeeds;

use crate::RuleLabel;
use crate::build::Builder;

/// Programs of one policy file, and the numbers of their rules.
#[derive(Default)]
pub(crate) struct Programs {
    used: Vec<Used>,
    /// Labels of all their rules, in the order of their numbers.
    pub labels: Vec<RuleLabel>,
    /// What they need together.
    pub needs: RuleSetNeeds,
    /// Number of rules of the policy file itself, which come first.
    pub own_rules: u32,
}

/// What is in use, by what was asked for; without a program if it has faults, which were reported.
struct Used {
    key: cache::Key,
    program: Option<(Arc<Program>, RuleIndex)>,
}

impl Builder<'_> {
    /// The program of these files and the number of its first rule, or `None` after reporting what
    /// is wrong with them. Asking again costs nothing.
    pub fn program(
        &mut self,
        roots: &[RuleSource],
        options: &Options,
        plugin: &'static str,
    ) -> Option<(Arc<Program>, RuleIndex)> {
        let key = cache::key(roots, options);
        if let Some(used) = self.programs.used.iter().find(|used| used.key == key) {
            return used.program.clone();
        }
        let program = match cache::load(key, roots, options) {
            Ok(loaded) => {
                self.digest.add(&loaded.digest);
                self.programs.needs.add(loaded.needs);
                loaded.warnings.iter().for_each(|warning| self.reporter.warn(warning.clone()));
                let first = RuleIndex(self.programs.own_rules + self.programs.labels.len() as u32);
                self.label(&loaded.program, plugin);
                Some((loaded.program, first))
            }
            Err(errors) => {
                errors.into_iter().for_each(|error| self.reporter.push(error));
                None
            }
        };
        self.programs.used.push(Used { key, program: program.clone() });
        program
    }

    /// Rule sets that no policy runs are compiled once and dropped: a broken one is told now, and not to
    /// whoever first uses it.
    pub fn check_unused_sets(&mut self) {
        let unused = std::mem::take(&mut self.rule_sets).into_iter().filter(|(name, _)| !self.used_sets.contains(name));
        let mut all: Vec<(String, Vec<RuleSource>)> = unused.collect();
        all.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (_, roots) in all {
            let options = Options { geo: self.has_geo, ..Options::default() };
            let loaded = cache::load(cache::key(&roots, &options), &roots, &options);
            loaded.err().into_iter().flatten().for_each(|error| self.reporter.push(error));
        }
    }

    fn label(&mut self, program: &Program, plugin: &'static str) {
        let files: Vec<Arc<str>> = program.files().iter().map(|file| Arc::from(file.as_str())).collect();
        let (policy, selector) = &self.site;
        let labels = program.rules().iter().map(|rule| RuleLabel {
            policy: policy.clone(),
            selector: selector.clone(),
            id: rule.id.to_string(),
            message: rule.message.clone(),
            line: rule.place.line,
            file: files.get(rule.place.file as usize).cloned(),
            plugin,
            severity: severity(rule),
            tags: rule.tags.clone(),
        });
        self.programs.labels.extend(labels);
    }
}

/// The severity's name, as in SecLang.
fn severity(rule: &RuleInfo) -> Option<&'static str> {
    const NAMES: [&str; 8] = ["EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"];
    NAMES.get(usize::from(rule.severity?)).copied()
}
