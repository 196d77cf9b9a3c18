//! `bench/results/events.json`, and the same as a table.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::contender::Turn;
use super::timings::Figures;
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// A line: medians over rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventRow {
    /// The row.
    pub name: String,
    /// Mean time of an event in a round, microseconds.
    pub mean_us: Option<f64>,
    /// Median time of an event, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<f64>,
    /// Events per second.
    pub per_second: Option<f64>,
    /// Mean time of the bare wake-ups that such an event needs, microseconds.
    pub floor_us: Option<f64>,
    /// 99th percentile of the same.
    pub floor_p99_us: Option<f64>,
    /// `mean_us` by `floor_us` of the same round.
    pub ratio: Option<f64>,
    /// Smallest ratio of a round.
    pub ratio_min: Option<f64>,
    /// Largest ratio of a round.
    pub ratio_max: Option<f64>,
    /// Median time by the floor's median time of the same round.
    pub ratio_p50: Option<f64>,
    /// Longest time that a worker's event loop was held by a change, in any round, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_us: Option<f64>,
    /// Mean of the slowest worker's own time of a change, as the answers say, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_us: Option<f64>,
    /// Mean time to the first answer of the new configuration, microseconds; `mean_us` is to the last
    /// of the old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_new_us: Option<f64>,
    /// Messages that did not arrive, in all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Data requests that failed, in all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Changes per second beside the data traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes_per_second: Option<f64>,
    /// `p99_us` by that of the quiet row in the same round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_by_quiet: Option<f64>,
    /// Answered changes that were looked for in every worker, and were there, in all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// Events in all rounds.
    pub samples: u64,
    /// Rounds.
    pub rounds: usize,
    /// Description of the row.
    pub note: String,
    /// The reason why it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// The file of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventResults {
    /// `events`.
    pub scenario: String,
    /// The machine.
    pub host: Host,
    /// The table.
    pub rows: Vec<EventRow>,
}

/// What a row had in one round: its turn, and the floor just before.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The turn.
    pub turn: Turn,
    /// The floor.
    pub floor: Figures,
}

impl EventRow {
    /// A row of all its rounds; `quiet` are those of the row that its 99th percentile is compared with.
    #[must_use]
    pub fn of(name: &str, note: &str, rounds: &[Measured], quiet: Option<&[Measured]>) -> Self {
        let median = |value: &dyn Fn(&Measured) -> f64| {
            Summary::of(&rounds.iter().map(value).collect::<Vec<_>>()).map(|summary| summary.median)
        };
        let some = |value: &dyn Fn(&Turn) -> Option<f64>| {
            Summary::of(&rounds.iter().filter_map(|it| value(&it.turn)).collect::<Vec<_>>())
        };
        let sum = |value: &dyn Fn(&Turn) -> Option<u64>| {
            rounds.iter().filter_map(|it| value(&it.turn)).fold(None, |sum, one| Some(sum.unwrap_or(0) + one))
        };
        let ratios: Vec<f64> = rounds.iter().map(|it| it.turn.figures.mean_us / it.floor.mean_us).collect();
        let ratio = Summary::of(&ratios);
        let by_quiet = quiet.map(|quiet| {
            rounds.iter().zip(quiet).map(|(own, quiet)| own.turn.figures.p99_us / quiet.turn.figures.p99_us)
        });
        Self {
            name: name.to_owned(),
            mean_us: median(&|it| it.turn.figures.mean_us),
            p50_us: median(&|it| it.turn.figures.p50_us),
            p99_us: median(&|it| it.turn.figures.p99_us),
            per_second: median(&|it| it.turn.figures.per_second),
            floor_us: median(&|it| it.floor.mean_us),
            floor_p99_us: median(&|it| it.floor.p99_us),
            ratio: ratio.map(|it| it.median),
            ratio_min: ratio.map(|it| it.min),
            ratio_max: ratio.map(|it| it.max),
            ratio_p50: median(&|it| it.turn.figures.p50_us / it.floor.p50_us),
            held_us: some(&|turn| turn.held_us).map(|it| it.max),
            worker_us: some(&|turn| turn.worker_us).map(|it| it.median),
            first_new_us: some(&|turn| turn.first_new_us).map(|it| it.median),
            lost: sum(&|turn| turn.lost),
            failed: sum(&|turn| turn.failed),
            changes_per_second: some(&|turn| turn.changes_per_second).map(|it| it.median),
            p99_by_quiet: by_quiet.and_then(|all| Summary::of(&all.collect::<Vec<_>>())).map(|it| it.median),
            checked: sum(&|turn| turn.checked),
            samples: rounds.iter().map(|it| it.turn.figures.samples).sum(),
            rounds: rounds.len(),
            note: note.to_owned(),
            skipped: None,
        }
    }

    /// A row that could not be measured here.
    #[must_use]
    pub fn skipped(name: &str, note: &str, reason: String) -> Self {
        Self { name: name.to_owned(), note: note.to_owned(), skipped: Some(reason), ..Self::default() }
    }

    fn round(&mut self) {
        let fields = [
            &mut self.mean_us,
            &mut self.p50_us,
            &mut self.p99_us,
            &mut self.per_second,
            &mut self.floor_us,
            &mut self.floor_p99_us,
            &mut self.ratio,
            &mut self.ratio_min,
            &mut self.ratio_max,
            &mut self.ratio_p50,
            &mut self.held_us,
            &mut self.worker_us,
            &mut self.first_new_us,
            &mut self.changes_per_second,
            &mut self.p99_by_quiet,
        ];
        for field in fields.into_iter().flatten() {
            *field = (*field * 1000.0).round() / 1000.0;
        }
    }

    /// What only some rows have, in words.
    fn extras(&self) -> String {
        let figures = [
            ("held", self.held_us, "us"),
            ("in the worker", self.worker_us, "us"),
            ("first new", self.first_new_us, "us"),
            ("lost", self.lost.map(|count| count as f64), ""),
            ("failed", self.failed.map(|count| count as f64), ""),
            ("changes", self.changes_per_second, "/s"),
            ("checked live", self.checked.map(|count| count as f64), ""),
        ];
        let mut words: Vec<String> = figures
            .iter()
            .filter_map(|(what, value, unit)| value.map(|value| format!("{what} {value:.0}{unit}")))
            .collect();
        words.extend(self.p99_by_quiet.map(|ratio| format!("p99 {ratio:.2} x quiet")));
        words.join(", ")
    }
}

impl EventResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        self.rows.iter_mut().for_each(EventRow::round);
        self
    }

    /// The table.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<24} {:>11} {:>11} {:>11} {:>10} {:>8} {:>15}  {}\n",
            "row", "per second", "mean us", "p99 us", "floor us", "x floor", "min - max", "and"
        );
        for row in &self.rows {
            if let Some(reason) = &row.skipped {
                let _ = writeln!(text, "{:<24} skipped: {reason}", row.name);
                continue;
            }
            let number = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
            };
            let range = match (row.ratio_min, row.ratio_max) {
                (Some(min), Some(max)) => format!("{min:.2} - {max:.2}"),
                _ => "-".to_owned(),
            };
            // Ten million messages a second are tenths of a microsecond each.
            let digits = if row.mean_us.is_some_and(|mean| mean < 10.0) { 3 } else { 1 };
            let line = format!(
                "{:<24} {:>11} {:>11} {:>11} {:>10} {:>8} {:>15}  {}",
                row.name,
                number(row.per_second, 0),
                number(row.mean_us, digits),
                number(row.p99_us, digits),
                number(row.floor_us, digits),
                number(row.ratio, 2),
                range,
                row.extras()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(mean_us: f64, floor_us: f64, held_us: f64) -> Measured {
        let figures = |mean_us| Figures {
            mean_us,
            p50_us: mean_us,
            p99_us: 2.0 * mean_us,
            per_second: 1e6 / mean_us,
            samples: 7,
        };
        let turn = Turn { held_us: Some(held_us), lost: Some(1), ..Turn::from(figures(mean_us)) };
        Measured { turn, floor: figures(floor_us) }
    }

    #[test]
    fn a_row_has_medians_of_rounds_ratios_within_a_round_and_the_worst_hold() {
        let rounds = [measured(100.0, 80.0, 5.0), measured(300.0, 200.0, 9.0), measured(120.0, 80.0, 7.0)];
        let row = EventRow::of("change-1", "a change", &rounds, Some(&[rounds[0]; 3]));
        assert_eq!((row.mean_us, row.floor_us, row.ratio), (Some(120.0), Some(80.0), Some(1.5)));
        assert_eq!((row.held_us, row.lost, row.samples, row.rounds), (Some(9.0), Some(3), 21, 3));
        assert_eq!(row.p99_by_quiet, Some(1.2));
    }

    #[test]
    fn file_and_table_have_every_row_and_say_what_was_skipped() {
        let rows = vec![
            EventRow::of("caddy", "", &[measured(1800.00049, 40.0, 0.0)], None),
            EventRow::skipped("mosquitto", "", "not installed".into()),
        ];
        let results = EventResults { scenario: "events".into(), host: Host::here("1", false, String::new()), rows };
        let text = results.text();
        assert!(text.contains("mosquitto                skipped: not installed"), "{text}");
        assert!(text.contains("caddy ") && text.contains("45.00"), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.json");
        weir_measure::site::write_json(&path, &results.rounded()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(value["rows"][0]["mean_us"], 1800.0);
        assert_eq!(value["rows"][1]["mean_us"], serde_json::Value::Null);
        assert_eq!(value["rows"][1]["skipped"], "not installed");
    }
}
