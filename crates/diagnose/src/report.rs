//! The evaluation of all rules for one process: findings, and skipped rules.
//!
//! "Nothing found" is meaningful only beside a list of the examined sources, so a diagnosis always
//! contains both, and names each rule that was skipped because a source was missing.

use serde::Serialize;

use crate::facts::Facts;
use crate::finding::Finding;
use crate::rules::{FactSource, RULES, Rule};
use weir_profile::amount::counted;

mod text;

pub(crate) use text::safe;
pub use text::{TextStyle, table, text};

/// The result of a diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// A readable description of the process.
    pub title: String,
    /// Length of the window in seconds; 0 if nothing was watched.
    pub seconds: f64,
    /// Findings: those that explain most CPU time first, then those that do not concern CPU time, by severity.
    pub findings: Vec<Finding>,
    /// The sources of facts.
    pub looked: Vec<SourceStatus>,
    /// Number of evaluated rules.
    pub asked: usize,
    /// Skipped rules, with their missing sources.
    pub not_asked: Vec<SkippedRule>,
    /// Explanations of what could not be read, a sentence each.
    pub remarks: Vec<String>,
}

/// A source of facts and its availability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceStatus {
    /// The source.
    pub source: FactSource,
    /// Whether it was available.
    pub seen: bool,
    /// Its extent: `1,984 samples in 10 s`.
    pub detail: String,
}

/// A skipped rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedRule {
    /// Its id.
    pub rule: &'static str,
    /// The missing sources.
    pub lacks: Vec<FactSource>,
}

/// Evaluates the rules selected by `wanted`.
#[must_use]
pub fn diagnose(facts: &Facts, wanted: impl Fn(&Rule) -> bool) -> Diagnosis {
    let (mut findings, mut not_asked, mut asked) = (Vec::new(), Vec::new(), 0);
    for rule in RULES.iter().filter(|rule| wanted(rule)) {
        let lacks = rule.needs.missing(facts);
        if lacks.is_empty() {
            asked += 1;
            findings.extend((rule.check)(facts));
        } else {
            not_asked.push(SkippedRule { rule: rule.id, lacks });
        }
    }
    findings.sort_by(|one, other| {
        let share = |finding: &Finding| finding.share.unwrap_or(-1.0);
        share(other).total_cmp(&share(one)).then(other.severity.cmp(&one.severity))
    });
    let looked = FactSource::ALL.into_iter().map(|source| looked(facts, source)).collect();
    let mut remarks = facts.remarks.clone();
    if facts.profile.as_ref().is_some_and(|profile| profile.total() == 0) {
        remarks.push(format!(
            "the process used no CPU in {:.0} s: diagnose it again while it is under load",
            facts.seconds
        ));
    }
    Diagnosis { title: title(facts), seconds: facts.seconds, findings, looked, asked, not_asked, remarks }
}

fn title(facts: &Facts) -> String {
    let profiled = facts.profile.as_ref().map(|profile| profile.meta.title.clone()).filter(|title| !title.is_empty());
    let process = facts.process.as_ref().map(|process| {
        let name = process.exe.rsplit('/').next().unwrap_or_default();
        match process.workers.len() {
            0 | 1 => format!("{name} (pid {})", process.pid),
            workers => format!("{name} (pid {} and {workers} workers)", process.pid),
        }
    });
    process.or(profiled).unwrap_or_else(|| "a profile".into())
}

fn looked(facts: &Facts, source: FactSource) -> SourceStatus {
    let samples = |profile: &Option<weir_profile::Profile>| {
        let count: u64 = profile.iter().flat_map(|profile| &profile.samples).map(|sample| sample.count).sum();
        format!("{} in {:.0} s", counted(count, "sample"), facts.seconds)
    };
    let detail = match source {
        FactSource::Profile => samples(&facts.profile),
        FactSource::OffCpu => samples(&facts.off_cpu),
        FactSource::Process => {
            facts.process.as_ref().map_or_else(String::new, |one| counted(one.workers.len() as u64, "process"))
        }
        FactSource::Configuration => facts.nginx.as_ref().map_or_else(String::new, |nginx| {
            let files = counted(nginx.configuration.files.len() as u64, "configuration file");
            format!("{} {}, {files}", nginx.flavour, nginx.version)
        }),
        FactSource::Kernel => {
            facts.kernel.as_ref().map_or_else(String::new, |kernel| format!("Linux {}", kernel.release))
        }
        FactSource::Binaries => counted(facts.binaries.len() as u64, "binary"),
    };
    SourceStatus { source, seen: source.is_in(facts), detail }
}

#[cfg(test)]
mod tests;
