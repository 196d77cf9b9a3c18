//! `bench/results/signature.json`, and the same as a table.

use serde::Serialize;

use crate::report::{Row, table};
use weir_measure::host::Host;
use weir_measure::statistics::Summary;

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignatureRow {
    /// The measurement.
    #[serde(flatten)]
    pub row: Row,
    /// Of a growth row: its CPU time divided by that of the same row with 15 selectors in the same round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_15: Option<f64>,
    /// Lower end of the 95 % interval of that median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_15_low: Option<f64>,
    /// Upper end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_15_high: Option<f64>,
}

impl SignatureRow {
    /// A row with the ratios to the one with 15 selectors, if there is one.
    #[must_use]
    pub fn new(row: Row, of_15: Option<Summary>) -> Self {
        let field = |of: fn(&Summary) -> f64| of_15.as_ref().map(of);
        Self {
            row,
            of_15: field(|summary| summary.median),
            of_15_low: field(|summary| summary.low),
            of_15_high: field(|summary| summary.high),
        }
    }
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignatureResults {
    /// `signature`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// The comparison.
    pub rows: Vec<SignatureRow>,
    /// Rows that could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl SignatureResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for it in &mut self.rows {
            it.row.round();
            for value in [&mut it.of_15, &mut it.of_15_low, &mut it.of_15_high].into_iter().flatten() {
                *value = (*value * 1e3).round() / 1e3;
            }
        }
        self
    }

    /// The table, and a line for each growth row.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = table(self.rows.iter().map(|it| &it.row));
        for it in &self.rows {
            if let Some(of_15) = it.of_15 {
                text += &format!("{} costs {of_15:.2} times as much as with 15 selectors\n", it.row.name);
            }
        }
        text
    }
}
