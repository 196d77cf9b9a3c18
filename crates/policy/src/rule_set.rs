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

use std::path::Path;
use std::sync::Arc;

use weir_engine::RuleIndex;
use weir_engine::seclang::{Program, RuleInfo};
use weir_gateway::frame_digest;
use weir_gateway::resource::ResourceKind;
use weir_rules::seclang::{Options, RuleSource};

pub(crate) use exclusion::exclusions;
pub(crate) use files::{expand, is_wild};
pub use needs::RuleSetNeeds;

use crate::action::sec_lang;
use crate::build::Builder;
use crate::error::DocumentPosition;
use crate::source::file_of;
use crate::{PolicyError, RuleLabel};

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
        let program = match cache::load(key, roots, options, self.files) {
            Ok(loaded) => {
                self.uses(&loaded.paths);
                self.digest.add(&loaded.digest);
                self.programs.needs.add(loaded.needs);
                loaded.warnings.iter().for_each(|warning| self.reporter.warn(warning.clone()));
                let first = RuleIndex(self.programs.own_rules + self.programs.labels.len() as u32);
                self.label(&loaded.program, plugin, frame_digest(&loaded.digest));
                Some((loaded.program, first))
            }
            Err(errors) => {
                self.report(errors);
                None
            }
        };
        self.programs.used.push(Used { key, program: program.clone() });
        program
    }

    /// Rule sets that no policy runs are compiled once and dropped: a broken one is told now, and not to
    /// whoever first uses it.
    pub fn check_unused_sets(&mut self) {
        let is_unused = |(name, _): &(&String, _)| !self.used_sets.contains(*name);
        let mut unused: Vec<(String, Vec<RuleSource>, usize)> = self
            .rule_sets
            .iter()
            .filter(is_unused)
            .map(|(name, (roots, source))| (name.clone(), roots.clone(), *source))
            .collect();
        unused.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (id, roots, source) in unused {
            self.enter(source);
            let position = DocumentPosition { kind: ResourceKind::RuleSets, id, pointer: String::new() };
            self.reporter.context = self.source.document.is_some().then_some(position);
            let options = Options { geo: self.has_countries(), ..Options::default() };
            match cache::load(cache::key(&roots, &options), &roots, &options, self.files) {
                Ok(loaded) => self.uses(&loaded.paths),
                Err(errors) => self.report(errors),
            }
        }
    }

    /// Whether `@geoLookup` has a database.
    pub fn has_countries(&self) -> bool {
        self.databases.contains(&"country")
    }

    /// Warns of a rule in a rule set. What the message says must not be content of its file.
    pub fn warn_of_rule(&mut self, program: &Program, rule: &RuleInfo, message: &str, hint: String) {
        let file = program.files().get(rule.place.file as usize).map_or("", String::as_str);
        let (line, mut message) = (rule.place.line, format!("rule {}: {message}", rule.id));
        let (mut name, mut at) = (file.to_owned(), line);
        let document = self.set_of(file).or_else(|| self.reporter.context.clone());
        // In a document, lines of files are not shown: the message says the place.
        if let Some(DocumentPosition { kind, id, .. }) = &document
            && file != sec_lang::named(id)
        {
            (name, at, message) = (file_of(*kind, id), 0, format!("{file}, line {line}: {message}"));
        }
        let (file, hint) = (name, Some(hint));
        self.reporter.warn(PolicyError { file, line: at, column: 0, message, hint, excerpt: String::new(), document });
    }

    /// Reports what is wrong with rules: with those of a named set as its fault, whoever runs it.
    fn report(&mut self, errors: Vec<PolicyError>) {
        for mut error in errors {
            error.document = self.set_of(&error.file);
            self.reporter.push(error);
        }
    }

    /// The document of the named set that a text or file belongs to.
    fn set_of(&self, file: &str) -> Option<DocumentPosition> {
        self.source.document.as_ref()?;
        let key = |source: &RuleSource| match source {
            RuleSource::Text { name, .. } => (name == file).then_some("/rules"),
            RuleSource::File(path) => (*path == *Path::new(file)).then_some("/files"),
        };
        let mut named = self.rule_sets.iter().filter_map(|(name, all)| Some((name, all.0.iter().find_map(key)?)));
        let (id, pointer) = named.next()?;
        Some(DocumentPosition { kind: ResourceKind::RuleSets, id: id.clone(), pointer: pointer.to_owned() })
    }

    fn label(&mut self, program: &Program, plugin: &'static str, content: u64) {
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
            content,
        });
        self.programs.labels.extend(labels);
    }
}

/// The severity's name, as in SecLang.
fn severity(rule: &RuleInfo) -> Option<&'static str> {
    const NAMES: [&str; 8] = ["EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"];
    NAMES.get(usize::from(rule.severity?)).copied()
}
