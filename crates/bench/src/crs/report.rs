//! `bench/results/crs.json`, and the same as tables.

use serde::Serialize;

use crate::report::{GrowthRow, Row, table};
use weir_measure::host::Host;

/// A row of one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadRow {
    /// The load, as `bench/load/crs.lua` calls it.
    pub load: String,
    /// The measurement.
    #[serde(flatten)]
    pub row: Row,
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrsResults {
    /// `crs`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// The comparison.
    pub rows: Vec<LoadRow>,
    /// Cost against the size of the body (`of: body`) and the number of sites (`of: sites`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<GrowthRow>,
    /// The page of the load `get` over many connections (`of: connections`), over HTTP/2 (`of: http2`, `size` streams a
    /// connection), and at `size` requests a second (`of: rate`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transports: Vec<GrowthRow>,
    /// Variants that could not be measured here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

impl CrsResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let loads = self.rows.iter_mut().map(|it| &mut it.row);
        let sized = self.growth.iter_mut().chain(&mut self.transports);
        loads.chain(sized.map(|it| &mut it.row)).for_each(Row::round);
        self
    }

    /// A table for each load, with everyone's cost in units of `modsecurity`'s where that ran.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = &self.rows[..];
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|row| row.load == first.load).count();
            let (load, others) = rest.split_at(count);
            rest = others;
            text.push_str(&format!("\n{}\n{}", first.load, table(load.iter().map(|it| &it.row))));
            let Some(peer) = load.iter().find(|it| it.row.name == "modsecurity") else { continue };
            for it in load.iter().filter(|it| it.row.name.starts_with("weir")) {
                let times = peer.row.cpu_us_per_request / it.row.cpu_us_per_request;
                text.push_str(&format!("{} costs 1/{times:.1} of modsecurity\n", it.row.name));
            }
        }
        if !self.growth.is_empty() {
            text.push_str(&format!("\n{}", table(self.growth.iter().map(|it| &it.row))));
        }
        for way in self.transports.chunk_by(|a, b| (&a.of, a.size) == (&b.of, b.size)) {
            text.push_str(&format!("\n{} {}\n{}", way[0].of, way[0].size, table(way.iter().map(|it| &it.row))));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_flat_and_stand_in_a_table_for_each_load() {
        let row = |name: &str, cost: f64| Row { name: name.into(), cpu_us_per_request: cost, ..Row::default() };
        let of = |load: &str, name: &str, cost| LoadRow { load: load.into(), row: row(name, cost) };
        let rows = vec![of("get", "nginx", 10.0), of("form", "modsecurity", 2700.0), of("form", "weir-pl1", 30.00049)];
        let host = Host::here("1", true, String::new());
        let results = CrsResults {
            scenario: "crs".into(),
            host,
            rows,
            growth: Vec::new(),
            transports: Vec::new(),
            skipped: Vec::new(),
        };
        let text = results.text();
        assert!(text.contains("\nget\n") && text.contains("\nform\n"), "{text}");
        assert!(text.contains("weir-pl1 costs 1/90.0 of modsecurity"), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crs.json");
        weir_measure::site::write_json(&path, &results.rounded()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!((&value["rows"][2]["load"], &value["rows"][2]["name"]), (&"form".into(), &"weir-pl1".into()));
        assert_eq!(value["rows"][2]["cpu_us_per_request"], 30.0);
    }
}
