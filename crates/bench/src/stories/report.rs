//! A story's results: the cost of each case, and its diagnosis.

use std::fmt::Write as _;

use serde::Serialize;

use super::cases::{Case, Story};
use super::diagnosis::{Diagnosis, Finding};
use crate::report::Row;
use weir_measure::host::Host;

/// A case in the results.
#[derive(Clone, Debug, Serialize)]
pub struct StoryRow {
    /// Its name.
    pub case: String,
    /// Requests per second, median over the rounds.
    pub rps: f64,
    /// That, divided by the healthy case's.
    pub rps_ratio: Option<f64>,
    /// CPU of the process under test per request in microseconds, median over the rounds.
    pub cpu_us_per_request: f64,
    /// That, divided by the healthy case's of the same round.
    pub ratio: Option<f64>,
    /// The planted fault.
    pub planted: String,
    /// Ids of the rules that fired.
    pub diagnoses: Vec<String>,
    /// Ids of the rules that had to fire and did not.
    pub missed: Vec<String>,
    /// Ids of the rules that fired where nothing was planted.
    pub false_alarms: Vec<String>,
    /// The findings of the diagnosis.
    pub findings: Vec<Finding>,
    /// The measurement.
    pub measured: Row,
}

/// What `bench/results/STORY.json` holds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Its heading.
    pub title: String,
    /// The machine.
    pub host: Host,
    /// The cases.
    pub rows: Vec<StoryRow>,
    /// Cases that could not be planted here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl StoryRow {
    /// Judges a diagnosis.
    pub fn new(case: &Case, mut measured: Row, diagnosis: Diagnosis) -> Self {
        measured.round();
        let diagnoses: Vec<String> = diagnosis.findings.iter().map(|finding| finding.rule.clone()).collect();
        let planted = |id: &str| case.expected.contains(&id);
        Self {
            case: case.name.into(),
            rps: measured.rps,
            rps_ratio: None,
            cpu_us_per_request: measured.cpu_us_per_request,
            ratio: measured.ratio,
            planted: case.planted.into(),
            missed: case
                .expected
                .iter()
                .filter(|id| !diagnoses.iter().any(|has| has == **id))
                .map(ToString::to_string)
                .collect(),
            false_alarms: diagnoses.iter().filter(|id| case.only && !planted(id)).cloned().collect(),
            findings: diagnosis.findings,
            diagnoses,
            measured,
        }
    }

    fn is_right(&self) -> bool {
        self.missed.is_empty() && self.false_alarms.is_empty()
    }
}

impl Report {
    /// Of all rows; the first row whose ratio is its own is the healthy one.
    pub fn new(story: &Story, host: Host, mut rows: Vec<StoryRow>, skipped: Vec<String>) -> Self {
        let healthy = rows.iter().find(|row| row.ratio == Some(1.0)).map(|row| row.rps);
        for row in &mut rows {
            row.rps_ratio = healthy.map(|healthy| (row.rps / healthy * 1000.0).round() / 1000.0);
        }
        Self { scenario: story.name.into(), title: story.title.into(), host, rows, skipped }
    }

    /// Whether every diagnosis said what was planted, and nothing of the healthy cases.
    pub fn all_right(&self) -> bool {
        self.rows.iter().all(StoryRow::is_right)
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        let _ = writeln!(
            text,
            "{:<14} {:>9} {:>7} {:>11} {:>7}  diagnosis",
            "case", "req/s", "ratio", "CPU us/req", "ratio"
        );
        for row in &self.rows {
            let ratio = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2}"));
            let (rate, cpu) = (ratio(row.rps_ratio), ratio(row.ratio));
            let ids = if row.diagnoses.is_empty() { "nothing found".into() } else { row.diagnoses.join(", ") };
            let _ = writeln!(
                text,
                "{:<14} {:>9.0} {rate:>7} {:>11.2} {cpu:>7}  {ids}",
                row.case, row.rps, row.cpu_us_per_request
            );
        }
        for row in &self.rows {
            let _ = write!(text, "\n{}: {}\n", row.case, row.planted);
            for finding in &row.findings {
                let _ = writeln!(text, "  {}: {}", finding.rule, finding.sentence);
                if let Some(evidence) = finding.shown() {
                    let _ = writeln!(text, "      {evidence}");
                }
            }
            for id in &row.missed {
                let _ = writeln!(text, "  MISSED: {id}");
            }
            for id in &row.false_alarms {
                let _ = writeln!(text, "  FALSE ALARM: {id}");
            }
            if row.findings.is_empty() && row.missed.is_empty() {
                text.push_str("  nothing found\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::STORIES;
    use super::*;

    fn rows(said: &[(&str, &[&str])]) -> Vec<StoryRow> {
        let cases = STORIES[1].chosen(&[]).unwrap();
        let row = |(name, ids): &(&str, &[&str])| {
            let finding =
                |id: &&str| Finding { rule: (*id).into(), sentence: "Something.".into(), evidence: Vec::new() };
            let case = cases.iter().find(|case| case.name == *name).unwrap();
            let measured =
                Row { rps: 20_000.0, ratio: Some(if *name == "keepalive" { 1.0 } else { 2.0 }), ..Row::default() };
            StoryRow::new(case, measured, Diagnosis { findings: ids.iter().map(finding).collect() })
        };
        said.iter().map(row).collect()
    }

    fn report(rows: Vec<StoryRow>) -> Report {
        Report::new(&STORIES[1], Host::here("1.22.1", true, String::new()), rows, Vec::new())
    }

    #[test]
    fn what_was_planted_must_be_said_and_nothing_of_the_healthy() {
        let good =
            report(rows(&[("keepalive", &[]), ("no-keepalive", &["upstream-no-keepalive", "access-log-unbuffered"])]));
        assert!(good.all_right());
        assert!(good.text().contains("nothing found"));
        let missed = report(rows(&[("keepalive", &[]), ("O1", &["build-unoptimised"])]));
        assert!(!missed.all_right());
        assert!(missed.text().contains("MISSED: build-no-tail-calls"), "{}", missed.text());
        let wolf = report(rows(&[("keepalive", &["upstream-no-keepalive"])]));
        assert!(!wolf.all_right());
        assert!(wolf.text().contains("FALSE ALARM: upstream-no-keepalive"));
    }
}
