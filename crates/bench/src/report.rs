//! Results as JSON for machines and as a table for people.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use weir_measure::host::Host;

/// One line of a comparison: medians over rounds, and what surrounds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The contender.
    pub name: String,
    /// CPU of the process under test per request, microseconds.
    pub cpu_us_per_request: f64,
    /// That, divided by the baseline's of the same round.
    pub ratio: Option<f64>,
    /// Requests per second.
    pub rps: f64,
    /// Median response time, microseconds.
    pub p50_us: f64,
    /// 99th percentile of the response time, microseconds.
    pub p99_us: f64,
    /// CPU of the cheapest round.
    pub cpu_us_min: f64,
    /// CPU of the dearest round.
    pub cpu_us_max: f64,
    /// Smallest ratio of a round.
    pub ratio_min: Option<f64>,
    /// Largest ratio of a round.
    pub ratio_max: Option<f64>,
    /// Lower end of the 95 % interval of the median ratio.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Lower quartile of the CPU per request over all tenths of a second, microseconds.
    pub cpu_us_quiet: Option<f64>,
    /// That, divided by the baseline's: the second opinion on a crowded machine.
    pub ratio_quiet: Option<f64>,
    /// User time per request from ticks, microseconds.
    pub user_us: f64,
    /// System time per request from ticks, microseconds.
    pub system_us: f64,
    /// System calls per request, counted in a run of their own, where that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syscalls_per_request: Option<f64>,
    /// How often per request the workers woke another process, counted in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes_per_request: Option<f64>,
    /// Share of the time that the process under test waited for its core: noise.
    pub waiting_share: f64,
    /// Requests over all measured turns.
    pub requests: u64,
    /// Rounds.
    pub rounds: usize,
}

/// A growth row: a row and the number that grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthRow {
    /// What grows: `rules`, `list` or `body`.
    pub of: String,
    /// How many rules, entries or bytes.
    pub size: usize,
    /// Bytes of memory (proportional set size) of the worker, where it was read.
    pub worker_pss_kib: Option<u64>,
    /// The measurement.
    #[serde(flatten)]
    pub row: Row,
}

/// What `bench/results/SCENARIO.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the scenario.
    pub scenario: String,
    /// The machine.
    pub host: Host,
    /// The comparison.
    pub rows: Vec<Row>,
    /// Cost against the size of the policy and of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<GrowthRow>,
    /// Variants that could not be measured here, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl Results {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        self.rows.iter_mut().chain(self.growth.iter_mut().map(|growth| &mut growth.row)).for_each(Row::round);
        self
    }
}

impl Row {
    /// Three decimals are more than any of it is good for.
    pub fn round(&mut self) {
        let fields = [
            Some(&mut self.cpu_us_per_request),
            self.ratio.as_mut(),
            Some(&mut self.rps),
            Some(&mut self.p50_us),
            Some(&mut self.p99_us),
            Some(&mut self.cpu_us_min),
            Some(&mut self.cpu_us_max),
            self.ratio_min.as_mut(),
            self.ratio_max.as_mut(),
            self.ratio_low.as_mut(),
            self.ratio_high.as_mut(),
            self.cpu_us_quiet.as_mut(),
            self.ratio_quiet.as_mut(),
            Some(&mut self.user_us),
            Some(&mut self.system_us),
            self.syscalls_per_request.as_mut(),
            self.wakes_per_request.as_mut(),
            Some(&mut self.waiting_share),
        ];
        for field in fields.into_iter().flatten() {
            *field = (*field * 1000.0).round() / 1000.0;
        }
    }
}

/// The rows as a table.
#[must_use]
pub fn table<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let mut text = format!(
        "{:<20} {:>10} {:>17} {:>8} {:>15} {:>9} {:>8} {:>8} {:>6} {:>6} {:>9} {:>8} {:>8} {:>6}\n",
        "variant",
        "CPU us/req",
        "min - max",
        "ratio",
        "min - max",
        "quiet",
        "user us",
        "sys us",
        "calls",
        "wakes",
        "req/s",
        "p50 us",
        "p99 us",
        "wait"
    );
    for row in rows {
        let ratio = row.ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"));
        let range =
            row.ratio_min.zip(row.ratio_max).map_or_else(|| "-".into(), |(min, max)| format!("{min:.2} - {max:.2}"));
        let quiet = row.ratio_quiet.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"));
        let [calls, wakes] = [row.syscalls_per_request, row.wakes_per_request]
            .map(|count| count.map_or_else(|| "-".into(), |count| format!("{count:.2}")));
        let _ = writeln!(
            text,
            "{:<20} {:>10.2} {:>17} {:>8} {:>15} {:>9} {:>8.2} {:>8.2} {:>6} {:>6} {:>9.0} {:>8.0} {:>8.0} {:>5.0}%",
            row.name,
            row.cpu_us_per_request,
            format!("{:.2} - {:.2}", row.cpu_us_min, row.cpu_us_max),
            ratio,
            range,
            quiet,
            row.user_us,
            row.system_us,
            calls,
            wakes,
            row.rps,
            row.p50_us,
            row.p99_us,
            row.waiting_share * 100.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_measure::site::write_json;

    const ROW: &str = r#"{"name":"nginx","cpu_us_per_request":12.34567,"ratio":1.0,"rps":50000.12345,"p50_us":1.0,
        "p99_us":2.0,"cpu_us_min":1.0,"cpu_us_max":1.0,"ratio_min":null,"ratio_max":null,"ratio_low":null,
        "ratio_high":null,"cpu_us_quiet":null,"ratio_quiet":0.98765,"user_us":1.0,"system_us":1.0,"waiting_share":0.1,
        "requests":1,"rounds":1}"#;

    #[test]
    fn the_file_has_the_promised_shape_and_rounded_numbers() {
        let row: Row = serde_json::from_str(ROW).unwrap();
        let growth = GrowthRow { of: "rules".into(), size: 10, worker_pss_kib: None, row: row.clone() };
        let host = Host::here("1.22.1", true, String::new());
        let results = Results { scenario: "rs".into(), host, rows: vec![row], growth: vec![growth], skipped: vec![] };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results/rs.json");
        write_json(&path, &results.rounded()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\n  \"scenario\": \"rs\",\n  \"host\""), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["rows"][0]["cpu_us_per_request"], 12.346);
        assert_eq!(value["rows"][0]["ratio_quiet"], 0.988);
        assert_eq!((&value["growth"][0]["of"], &value["growth"][0]["name"]), (&"rules".into(), &"nginx".into()));
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap().rows[0].name, "nginx");
    }

    #[test]
    fn a_table_has_a_line_for_every_row_and_a_dash_where_nothing_was_measured() {
        let row: Row = serde_json::from_str(ROW).unwrap();
        let text = table([&row, &Row { name: "weir-rs".into(), ratio: None, ..row.clone() }]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().nth(2).unwrap().starts_with("weir-rs "));
        assert!(text.contains(" - "));
    }
}
