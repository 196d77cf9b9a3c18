//! `weir check --lint`: what the loader of SecLang finds right but dubious.
//!
//! Rules of CRS itself are left alone: their users cannot change them, and what lint would say of
//! them (an idiom that ModSecurity 2 read in another way) would bury what it says of their own.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_policy::Snapshot;
use weir_rules::seclang::ir::{RuleSet, RuleSetEntry};
use weir_rules::seclang::{Diagnostic, OnUnsupported, Options, RuleSource, Severity, load};

use crate::command::rules::written::{self, Texts};
use crate::style::{Stream, Style};
use crate::table::counted;

/// The findings of lint.
#[derive(Default)]
pub(super) struct Findings {
    found: Vec<Diagnostic>,
    /// How many of them are errors.
    pub errors: usize,
    /// Rules that were read.
    pub rules: usize,
}

impl Findings {
    /// Of the rule sets that rules of a policy run.
    pub fn of_policy(snapshot: &Snapshot, texts: &Texts) -> Self {
        let mut findings = Self::default();
        let mut seen: Vec<*const weir_engine::seclang::Program> = Vec::new();
        for action in snapshot
            .specification()
            .policies
            .iter()
            .flat_map(|policy| &policy.selectors)
            .flat_map(|selector| selector.rules.iter().flat_map(|rule| &rule.actions))
        {
            let Some(profile) = action.info().rule_set else { continue };
            let program = std::sync::Arc::as_ptr(profile.program());
            if seen.contains(&program) {
                continue;
            }
            seen.push(program);
            match written::load(profile.program(), true, texts) {
                Ok(loaded) => {
                    let core = core_files(&loaded.set);
                    findings.rules += rules(&loaded.set);
                    findings.add(loaded.warnings.into_iter().filter(|one| !core.contains(&one.file)));
                }
                Err(errors) => findings.add(errors.into_iter()),
            }
        }
        findings
    }

    /// Of files of rules, read in this order.
    pub fn of_files(files: &[PathBuf]) -> Self {
        let roots: Vec<RuleSource> = files.iter().cloned().map(RuleSource::File).collect();
        let options = Options { on_unsupported: OnUnsupported::Error, geo: true, lint: true, ..Options::default() };
        let mut findings = Self::default();
        match load(&roots, &options) {
            Ok(loaded) => {
                findings.rules = rules(&loaded.set);
                findings.add(loaded.warnings.into_iter());
            }
            Err(errors) => findings.add(errors.into_iter()),
        }
        findings
    }

    fn add(&mut self, found: impl Iterator<Item = Diagnostic>) {
        for one in found.filter(|one| !self.found.contains(one)).collect::<Vec<_>>() {
            self.errors += usize::from(one.severity == Severity::Error);
            self.found.push(one);
        }
    }

    /// Shows them, in the order of files and lines.
    pub fn print(&self) {
        let style = Style::of(Stream::Err);
        for one in &self.found {
            let place = format!("{}:{}:{}:", one.file, one.line, one.column);
            let severity = match one.severity {
                Severity::Error => style.red("error"),
                Severity::Warning => style.yellow("warning"),
                Severity::Note => style.dim("note"),
            };
            eprintln!("{place} {severity}: {}", one.message);
            if let Some(hint) = &one.hint {
                eprintln!("  hint: {hint}");
            }
        }
    }

    /// As data.
    pub fn as_value(&self) -> Value {
        let one = |one: &Diagnostic| {
            let severity = match one.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            json!({
                "file": one.file, "line": one.line, "column": one.column, "token": one.token,
                "message": one.message, "hint": one.hint, "severity": severity,
            })
        };
        Value::Array(self.found.iter().map(one).collect())
    }

    /// All in one line.
    pub fn sentence(&self, files: usize) -> String {
        let warnings = self.found.iter().filter(|one| one.severity == Severity::Warning).count();
        let notes = self.found.len() - warnings - self.errors;
        let read = if self.errors > 0 { String::new() } else { format!("{}, ", counted(self.rules as u64, "rule")) };
        format!(
            "{}: {read}{}, {}, {}",
            counted(files as u64, "file"),
            counted(self.errors as u64, "error"),
            counted(warnings as u64, "warning"),
            counted(notes as u64, "note")
        )
    }

    /// 1 for errors, and for warnings if they count.
    pub fn exit_code(&self, strict: bool) -> ExitCode {
        let fails = |one: &Diagnostic| one.severity == Severity::Error || (strict && one.severity == Severity::Warning);
        if self.found.iter().any(fails) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn rules(set: &RuleSet) -> usize {
    set.entries.iter().filter(|entry| matches!(entry, RuleSetEntry::Rule(_))).count()
}

/// Files whose rules say that they are CRS's.
fn core_files(set: &RuleSet) -> Vec<String> {
    let mut files: Vec<u32> = set
        .entries
        .iter()
        .filter_map(|entry| match entry {
            RuleSetEntry::Rule(rule) if rule.version.starts_with("OWASP_CRS") => Some(rule.place.file),
            _ => None,
        })
        .collect();
    files.sort_unstable();
    files.dedup();
    files.iter().filter_map(|file| set.files.get(*file as usize).cloned()).collect()
}
