//! `bench/results/probe.json`, and the same as a table.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::rows::{BASELINE, ROWS, Row};
use super::{Measured, Round};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// How much more a request must allocate for a row to count as tracing.
const TRACED: f64 = 1.01;

/// A row: medians over the forks. A ratio is to the fork without an agent in the same round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeRow {
    /// Its name.
    pub name: &'static str,
    /// CPU time per order of all three JVMs.
    pub cpu_ratio: f64,
    /// Lower end of the 95 % interval of the median.
    pub cpu_ratio_low: f64,
    /// Upper end of it.
    pub cpu_ratio_high: f64,
    /// 99th percentile of the response time.
    pub p99_ratio: f64,
    /// Bytes allocated per order, in all three JVMs.
    pub bytes_per_request: f64,
    /// Time from the start of the JVMs to the first answered order.
    pub startup_ratio: f64,
    /// CPU time per order, microseconds.
    pub cpu_us_per_request: f64,
    /// Orders per second.
    pub rps: f64,
    /// Forks.
    pub forks: usize,
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeResults {
    /// `probe`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// The comparison.
    pub rows: Vec<ProbeRow>,
    /// The single forks: what the rows are made of, and what a later run can add to.
    pub(super) rounds: Vec<Round>,
    /// Rows that could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl ProbeRow {
    /// Boils the forks of a row down, beside those without an agent. `None` if there are none.
    pub(super) fn of(name: &'static str, rounds: &[Round]) -> Option<Self> {
        let pairs: Vec<(Measured, Measured)> =
            rounds.iter().filter_map(|round| Some((*round.get(name)?, *round.get(BASELINE)?))).collect();
        let of =
            |value: &dyn Fn(&(Measured, Measured)) -> f64| Summary::of(&pairs.iter().map(value).collect::<Vec<_>>());
        let ratio = |value: fn(&Measured) -> f64| of(&|(own, base)| value(own) / value(base));
        let median = |value: fn(&Measured) -> f64| of(&|(own, _)| value(own)).map(|summary| summary.median);
        let cpu = of(&|(own, _)| own.cpu_ratio)?;
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        Some(Self {
            name,
            cpu_ratio: rounded(cpu.median),
            cpu_ratio_low: rounded(cpu.low),
            cpu_ratio_high: rounded(cpu.high),
            p99_ratio: rounded(ratio(|it| it.p99_us)?.median),
            bytes_per_request: median(|it| it.bytes)?.round(),
            startup_ratio: rounded(ratio(|it| it.startup_s)?.median),
            cpu_us_per_request: median(|it| it.cpu_us)?.round(),
            rps: median(|it| it.rate)?.round(),
            forks: pairs.len(),
        })
    }
}

/// The rounds of an earlier run.
pub(super) fn rounds(file: &Path) -> Result<Vec<Round>, MeasureError> {
    #[derive(Deserialize)]
    struct Earlier {
        rounds: Vec<Round>,
    }
    let text = std::fs::read_to_string(file).map_err(MeasureError::file(file))?;
    let earlier: Earlier = serde_json::from_str(&text)
        .map_err(|error| MeasureError::wrong("--resume", format!("{}: {error}", file.display())))?;
    Ok(earlier.rounds)
}

impl ProbeResults {
    /// Whether each row that is to follow every request has done so.
    pub(super) fn check(&self) -> Result<(), MeasureError> {
        let bytes = |name| self.rows.iter().find(|row| row.name == name).map(|row| row.bytes_per_request);
        let base = bytes(BASELINE).unwrap_or_default();
        let traces = |row: &Row| bytes(row.name).is_none_or(|bytes| bytes >= base * TRACED);
        match ROWS.iter().find(|row| row.traces && !traces(row)) {
            Some(row) => Err(MeasureError::wrong(row.name, "allocates as little as no agent: it does not trace")),
            None => Ok(()),
        }
    }

    /// A line for each row.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<18} {:>7} {:>17} {:>8} {:>10} {:>9} {:>9} {:>7}\n",
            "agent", "CPU", "95 %", "p99", "bytes/req", "start-up", "CPU us", "req/s"
        );
        for row in &self.rows {
            let interval = format!("{:.3} - {:.3}", row.cpu_ratio_low, row.cpu_ratio_high);
            let _ = writeln!(
                text,
                "{:<18} {:>7.3} {interval:>17} {:>8.3} {:>10.0} {:>9.3} {:>9.0} {:>7.0}",
                row.name,
                row.cpu_ratio,
                row.p99_ratio,
                row.bytes_per_request,
                row.startup_ratio,
                row.cpu_us_per_request,
                row.rps
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let fork = |cpu_us: f64, cpu_ratio: f64| Measured {
            startup_s: 2.0,
            cpu_us,
            cpu_ratio,
            p99_us: 10.0 * cpu_us,
            bytes: 500.0,
            rate: 1e6 / cpu_us,
        };
        let round =
            |base, own| Round::from([("none".into(), fork(base, 1.0)), ("armed".into(), fork(own, own / base))]);
        let mut rounds = vec![round(100.0, 110.0), round(200.0, 220.0), round(400.0, 480.0)];
        rounds.push(Round::from([("none".into(), fork(100.0, 1.0))])); // of a run without that row
        let row = ProbeRow::of("armed", &rounds).unwrap();
        assert_eq!((row.cpu_ratio, row.cpu_ratio_low, row.cpu_ratio_high), (1.1, 1.1, 1.2));
        assert_eq!((row.p99_ratio, row.startup_ratio, row.bytes_per_request, row.forks), (1.1, 1.0, 500.0, 3));
        assert_eq!(row.cpu_us_per_request, 220.0);
        assert_eq!(ProbeRow::of("silent", &rounds), None);
    }
}
