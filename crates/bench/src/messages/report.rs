//! `bench/results/messages.json`, and the same as a table.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::contender::Turn;
use super::rows::{Floor, Row};
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// A line: medians over rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessagesRow {
    /// The row.
    pub name: String,
    /// Median time from the publisher's write to a subscriber's read, microseconds; there and back in the row `worker`.
    pub p50_us: Option<f64>,
    /// 99th percentile of the same.
    pub p99_us: Option<f64>,
    /// Deliveries per second.
    pub per_second: Option<f64>,
    /// CPU time of the server's processes for a delivery, microseconds.
    pub cpu_us_per_delivery: Option<f64>,
    /// The floor in the same rounds, microseconds: its median time, or, of a fan-out, its CPU time for a delivery,
    /// or, of data beside messages, the 99th percentile without them.
    pub floor_us: Option<f64>,
    /// `p50_us`, or, of a fan-out, `cpu_us_per_delivery`, or, of data, `p99_us`, by the floor of the same round.
    pub ratio: Option<f64>,
    /// Smallest ratio of a round.
    pub ratio_min: Option<f64>,
    /// Largest ratio of a round.
    pub ratio_max: Option<f64>,
    /// Deliveries for a second of CPU time, by those of nchan in the same round.
    pub of_nchan: Option<f64>,
    /// Memory of the server's processes, without pages of files, for a subscriber that has got nothing yet.
    pub memory_bytes_per_idle_subscriber: Option<f64>,
    /// Subscribers of a message.
    pub subscribers: usize,
    /// Deliveries in all rounds.
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
pub struct MessagesResults {
    /// `messages`.
    pub scenario: String,
    /// The machine.
    pub host: Host,
    /// The table.
    pub rows: Vec<MessagesRow>,
}

/// What a row had in one round: its turn, and the floor just before.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The turn.
    pub turn: Turn,
    /// The floor.
    pub floor: Turn,
}

/// The figure that is compared with the floor.
fn gauge(floor: Option<Floor>, turn: &Turn) -> f64 {
    match floor {
        Some(Floor::Writes) => turn.cpu_us.unwrap_or(f64::NAN),
        Some(Floor::Quiet) => turn.figures.p99_us,
        Some(Floor::Bells | Floor::Other | Floor::Same) | None => turn.figures.p50_us,
    }
}

impl MessagesRow {
    /// A row of all its rounds; `nchan` are those of nchan.
    #[must_use]
    pub fn of(row: &Row, rounds: &[Measured], nchan: Option<&[Measured]>) -> Self {
        let summary = |values: Vec<f64>| Summary::of(&values);
        let median = |value: &dyn Fn(&Measured) -> f64| Some(summary(rounds.iter().map(value).collect())?.median);
        let ratio = summary(rounds.iter().map(|it| gauge(row.floor, &it.turn) / gauge(row.floor, &it.floor)).collect());
        let of_nchan = nchan.map(|nchan| {
            let pairs = rounds.iter().zip(nchan);
            pairs.filter_map(|(own, other)| Some(other.turn.cpu_us? / own.turn.cpu_us?)).collect()
        });
        Self {
            name: row.name.to_owned(),
            note: row.note.to_owned(),
            p50_us: median(&|it| it.turn.figures.p50_us),
            p99_us: median(&|it| it.turn.figures.p99_us),
            per_second: median(&|it| it.turn.figures.per_second),
            cpu_us_per_delivery: summary(rounds.iter().filter_map(|it| it.turn.cpu_us).collect()).map(|it| it.median),
            floor_us: median(&|it| gauge(row.floor, &it.floor)),
            ratio: ratio.map(|it| it.median),
            ratio_min: ratio.map(|it| it.min),
            ratio_max: ratio.map(|it| it.max),
            of_nchan: of_nchan.and_then(summary).map(|it| it.median),
            samples: rounds.iter().map(|it| it.turn.figures.samples).sum(),
            rounds: rounds.len(),
            ..Self::default()
        }
    }

    /// A row that could not be measured here.
    #[must_use]
    pub fn skipped(row: &Row, reason: String) -> Self {
        Self { name: row.name.to_owned(), note: row.note.to_owned(), skipped: Some(reason), ..Self::default() }
    }
}

impl MessagesResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for row in &mut self.rows {
            let fields = [
                &mut row.p50_us,
                &mut row.p99_us,
                &mut row.per_second,
                &mut row.cpu_us_per_delivery,
                &mut row.floor_us,
                &mut row.ratio,
                &mut row.ratio_min,
                &mut row.ratio_max,
                &mut row.of_nchan,
                &mut row.memory_bytes_per_idle_subscriber,
            ];
            for field in fields.into_iter().flatten() {
                *field = (*field * 1000.0).round() / 1000.0;
            }
        }
        self
    }

    /// The table.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<30} {:>10} {:>10} {:>10} {:>8} {:>9} {:>7} {:>13} {:>8} {:>10}\n",
            "row",
            "p50 us",
            "p99 us",
            "per second",
            "CPU us",
            "floor us",
            "x floor",
            "min - max",
            "x nchan",
            "idle bytes"
        );
        for row in &self.rows {
            if let Some(reason) = &row.skipped {
                let _ = writeln!(text, "{:<30} skipped: {reason}", row.name);
                continue;
            }
            let number = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
            };
            let range = match (row.ratio_min, row.ratio_max) {
                (Some(min), Some(max)) => format!("{min:.2} - {max:.2}"),
                _ => "-".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:<30} {:>10} {:>10} {:>10} {:>8} {:>9} {:>7} {:>13} {:>8} {:>10}",
                row.name,
                number(row.p50_us, 1),
                number(row.p99_us, 1),
                number(row.per_second, 0),
                number(row.cpu_us_per_delivery, 2),
                number(row.floor_us, 2),
                number(row.ratio, 2),
                range,
                number(row.of_nchan, 2),
                number(row.memory_bytes_per_idle_subscriber, 0),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::{NCHAN, ROWS};
    use super::*;
    use crate::events::timings::Figures;

    fn measured(p50_us: f64, cpu_us: f64) -> Measured {
        let figures = Figures { mean_us: p50_us, p50_us, p99_us: p50_us, per_second: 1.0, samples: 7 };
        let floor = Turn { figures: Figures { p50_us: 10.0, ..figures }, cpu_us: Some(2.0) };
        Measured { turn: Turn { figures, cpu_us: Some(cpu_us) }, floor }
    }

    #[test]
    fn paths_are_compared_by_their_time_and_fan_outs_by_their_cpu_time() {
        let row = |name: &str| ROWS.iter().find(|row| row.name == name).unwrap();
        let rounds = [measured(20.0, 4.0), measured(30.0, 6.0), measured(40.0, 5.0)];
        let path = MessagesRow::of(row("socket-other-worker"), &rounds, None);
        assert_eq!((path.p50_us, path.floor_us, path.ratio), (Some(30.0), Some(10.0), Some(3.0)));
        let nchan = [measured(1.0, 8.0); 3];
        let fanout = MessagesRow::of(row(NCHAN), &rounds, Some(&nchan));
        assert_eq!((fanout.ratio, fanout.ratio_max, fanout.of_nchan), (Some(2.5), Some(3.0), Some(1.6)));
        let idle = MessagesRow::of(row("nginx-keepalive"), &[], None);
        assert_eq!((idle.p50_us, idle.ratio, idle.samples), (None, None, 0));
    }

    #[test]
    fn the_table_says_what_was_skipped() {
        let rows = vec![MessagesRow::skipped(&ROWS[0], "not installed".into()), MessagesRow::of(&ROWS[1], &[], None)];
        let results =
            MessagesResults { scenario: "messages".into(), host: Host::here("1", false, String::new()), rows };
        assert!(results.text().contains("worker                         skipped: not installed"), "{}", results.text());
    }
}
