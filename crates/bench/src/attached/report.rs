//! What being profiled costs, as a table and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::Measured;
use super::profiler::Profiler;
use crate::slices;
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// A condition in the results.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The profiler; `none` and `none-again` are without one.
    pub profiler: String,
    /// CPU of the profiled worker per request in microseconds, median over the rounds.
    pub cpu_us_per_request: f64,
    /// That, divided by the figure without a profiler in the same round; median.
    pub overhead_ratio: f64,
    /// Lower end of the median's 95 % interval.
    pub overhead_low: f64,
    /// Upper end of it.
    pub overhead_high: f64,
    /// The ratio of the quietest quarters of all tenths of a second.
    pub overhead_quiet: Option<f64>,
    /// The profiler's own CPU as a share of one core, median.
    pub own_cpu: Option<f64>,
    /// Its largest resident memory, in MiB.
    pub rss_mb: Option<f64>,
    /// Rounds.
    pub rounds: usize,
    /// Requests over all turns.
    pub requests: u64,
}

/// What `bench/results/profile.json` holds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `profile`.
    pub scenario: String,
    /// The machine.
    pub host: Host,
    /// The conditions.
    pub rows: Vec<Row>,
    /// What could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl Report {
    /// Of all turns; the first profiler is the baseline.
    pub(super) fn new(host: Host, profilers: &[&Profiler], measured: &[Vec<Measured>], skipped: Vec<String>) -> Self {
        let base = &measured[0];
        let rows = profilers.iter().zip(measured).map(|(profiler, turns)| row(profiler.name, turns, base)).collect();
        Self { scenario: "profile".into(), host, rows, skipped }
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<12} {:>10} {:>9} {:>17} {:>9} {:>9} {:>8}\n",
            "profiler", "CPU us/req", "overhead", "95 % interval", "quiet", "own CPU", "RSS MiB"
        );
        for row in &self.rows {
            let dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
            let _ = writeln!(
                text,
                "{:<12} {:>10.2} {:>9.4} {:>17} {:>9} {:>9} {:>8}",
                row.profiler,
                row.cpu_us_per_request,
                row.overhead_ratio,
                format!("{:.4} - {:.4}", row.overhead_low, row.overhead_high),
                dash(row.overhead_quiet.map(|ratio| format!("{ratio:.4}"))),
                dash(row.own_cpu.map(|share| format!("{:.2} %", share * 100.0))),
                dash(row.rss_mb.map(|mib| format!("{mib:.0}")))
            );
        }
        text
    }
}

fn row(name: &str, turns: &[Measured], base: &[Measured]) -> Row {
    let of = |values: Vec<f64>| Summary::of(&values).expect("a schedule has at least one round");
    let cpu = of(turns.iter().map(|one| one.turn.cpu_us).collect());
    let ratio = of(turns.iter().zip(base).map(|(own, base)| own.turn.cpu_us / base.turn.cpu_us).collect());
    let quiet = |turns: &[Measured]| {
        slices::quiet(&turns.iter().flat_map(|one| one.turn.slices.iter().copied()).collect::<Vec<_>>())
    };
    let spent: Vec<_> = turns.iter().filter_map(|one| one.spent).collect();
    let round = |value: f64| (value * 1e5).round() / 1e5;
    Row {
        profiler: name.into(),
        cpu_us_per_request: round(cpu.median),
        overhead_ratio: round(ratio.median),
        overhead_low: round(ratio.low),
        overhead_high: round(ratio.high),
        overhead_quiet: quiet(turns).zip(quiet(base)).map(|(own, base)| round(own / base)),
        own_cpu: Summary::of(&spent.iter().map(|one| one.own_cpu).collect::<Vec<_>>()).map(|own| round(own.median)),
        rss_mb: spent.iter().map(|one| one.rss_mib).max_by(f64::total_cmp).map(round),
        rounds: turns.len(),
        requests: turns.iter().map(|one| one.turn.load.requests).sum(),
    }
}
