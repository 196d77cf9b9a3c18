//! All rules asked of one process: what they found, and what could not be asked.
//!
//! "Nothing found" is only worth something beside a list of what was looked at, so a diagnosis always
//! carries both, and names each rule that had to be silent because something was missing.

use serde::Serialize;

use crate::facts::Facts;
use crate::finding::Finding;
use crate::rules::{RULES, Rule, Source};

mod text;

pub(crate) use text::safe;
pub use text::{Look, table, text};

/// What is wrong with a process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What was looked at, as a person would say.
    pub title: String,
    /// Length of the window in seconds; 0: nothing was watched.
    pub seconds: f64,
    /// Findings: those that explain most CPU time first, those that are not about CPU behind them by severity.
    pub findings: Vec<Finding>,
    /// What there was to look at.
    pub looked: Vec<Looked>,
    /// Rules that were asked.
    pub asked: usize,
    /// Rules that could not be asked, with what they lack.
    pub not_asked: Vec<NotAsked>,
    /// What could not be read and why, a sentence each.
    pub remarks: Vec<String>,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// What.
    pub source: Source,
    /// Whether it was there.
    pub seen: bool,
    /// How much of it: `1,984 samples in 10 s`.
    pub detail: String,
}

/// A rule that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotAsked {
    /// Its id.
    pub rule: &'static str,
    /// What it lacks.
    pub lacks: Vec<Source>,
}

/// Asks the rules that pass a test.
#[must_use]
pub fn diagnose(facts: &Facts, wanted: impl Fn(&Rule) -> bool) -> Diagnosis {
    let (mut findings, mut not_asked, mut asked) = (Vec::new(), Vec::new(), 0);
    for rule in RULES.iter().filter(|rule| wanted(rule)) {
        let lacks = rule.needs.missing(facts);
        if lacks.is_empty() {
            asked += 1;
            findings.extend((rule.check)(facts));
        } else {
            not_asked.push(NotAsked { rule: rule.id, lacks });
        }
    }
    findings.sort_by(|one, other| {
        let share = |finding: &Finding| finding.share.unwrap_or(-1.0);
        share(other).total_cmp(&share(one)).then(other.severity.cmp(&one.severity))
    });
    let looked = Source::ALL.into_iter().map(|source| looked(facts, source)).collect();
    let mut remarks = facts.remarks.clone();
    if facts.profile.as_ref().is_some_and(|profile| profile.total() == 0) {
        remarks.push(format!("it was not seen on a CPU in {:.0} s: ask again while it is under load", facts.seconds));
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

fn looked(facts: &Facts, source: Source) -> Looked {
    let samples = |profile: &Option<weir_profile::Profile>| {
        let count: u64 = profile.iter().flat_map(|profile| &profile.samples).map(|sample| sample.count).sum();
        format!("{count} samples in {:.0} s", facts.seconds)
    };
    let detail = match source {
        Source::Profile => samples(&facts.profile),
        Source::OffCpu => samples(&facts.off_cpu),
        Source::Process => {
            facts.process.as_ref().map_or_else(String::new, |one| format!("{} processes", one.workers.len()))
        }
        Source::Configuration => facts.nginx.as_ref().map_or_else(String::new, |nginx| {
            format!("{} {}, {} files of configuration", nginx.flavour, nginx.version, nginx.configuration.files.len())
        }),
        Source::Kernel => facts.kernel.as_ref().map_or_else(String::new, |kernel| format!("Linux {}", kernel.release)),
        Source::Binaries => format!("{} binaries", facts.binaries.len()),
    };
    Looked { source, seen: source.is_in(facts), detail }
}

#[cfg(test)]
mod tests;
