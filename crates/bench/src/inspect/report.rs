//! `bench/results/inspect.json`, and the same as a table.

use std::fmt::Write as _;

use serde::Serialize;

use super::slow::SlowRow;
use crate::report::{Row, table};
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectRow {
    /// How many of a hundred requests are asked about.
    pub share: u8,
    /// The measurement.
    #[serde(flatten)]
    pub row: Row,
    /// CPU time divided by that of `auth-request` with the same share in the same round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_auth_request: Option<Summary>,
    /// 99th percentile of the response time divided likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_of_auth_request: Option<Summary>,
    /// CPU time divided by that of `weir`, which has no inspectors, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_weir: Option<Summary>,
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectResults {
    /// `inspect`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// The comparison.
    pub rows: Vec<InspectRow>,
    /// Two slow services.
    #[serde(rename = "two-slow")]
    pub two_slow: Vec<SlowRow>,
    /// Rows that could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

fn round(value: &mut f64) {
    *value = (*value * 1e3).round() / 1e3;
}

impl InspectResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for it in &mut self.rows {
            it.row.round();
            let summaries = [&mut it.of_auth_request, &mut it.p99_of_auth_request, &mut it.of_weir];
            for Summary { median, min, max, low, high, .. } in summaries.into_iter().flatten() {
                [median, min, max, low, high].into_iter().for_each(round);
            }
        }
        self.two_slow.iter_mut().flat_map(|row| [&mut row.added_ms, &mut row.longest_ms]).for_each(round);
        self
    }

    /// A table for each share, with a line for each ratio to another row, and one of the slow services.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut shares: Vec<u8> = self.rows.iter().map(|it| it.share).collect();
        shares.sort_unstable();
        shares.dedup();
        for share in shares {
            let rows = || self.rows.iter().filter(move |it| it.share == share);
            let _ = writeln!(text, "\n{share} % of the requests are asked about:");
            text += &table(rows().map(|it| &it.row));
            for it in rows() {
                let ratios = [
                    ("CPU of auth-request's", &it.of_auth_request),
                    ("p99 of auth-request's", &it.p99_of_auth_request),
                    ("CPU of weir's", &it.of_weir),
                ];
                for (what, ratio) in ratios {
                    let Some(Summary { median, low, high, .. }) = ratio else { continue };
                    let _ = writeln!(text, "{:<20} {median:.3} ({low:.3} - {high:.3}) {what}", it.row.name);
                }
            }
        }
        let _ = writeln!(text, "\ntwo services of 80 ms:");
        for SlowRow { name, case, added_ms, longest_ms, requests } in &self.two_slow {
            let _ =
                writeln!(text, "{name:<20} {case:<10} adds {added_ms:.2} ms, longest {longest_ms:.2} of {requests}");
        }
        text
    }
}
