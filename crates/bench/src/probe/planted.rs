//! The scenario `linkagent`: LinkAgent's Logback plugin, before its optimisation, planted in the probes of the shop, and
//! whether the two commands that people type name it: `weir cost --probe` and `weir ablate --probe`.

use std::process::{Command, Stdio};

use serde::Serialize;
use serde_json::Value;

use super::rows::{Agent, PLANTED, Row};
use super::shop::{Fork, Stores};
use super::{load, warm_up};
use crate::rounds::Schedule;
use crate::weir;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::Site;

/// The row of the shop that is looked at.
const ROW: Row = Row { name: PLANTED, agent: Agent::Planted, load: None, shadow_percent: 0, traces: false };
/// Rounds of the ablation unless `--rounds` says otherwise.
pub const ROUNDS: u32 = 12;
/// Connections unless `--connections` says otherwise. With 200, probes answer so late that a turn of the ablation takes 12
/// seconds instead of 5.
pub const CONNECTIONS: u32 = 16;
/// How long the background load may run; it is ended when both commands have.
const LOAD_SECONDS: u32 = 3600;

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlantedResults {
    /// `linkagent`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// Whether `weir cost --probe` ranks the planted plugin first.
    pub cost_names_it: bool,
    /// Whether `weir ablate --probe` ranks it first, and the rounds can tell its cost from nothing.
    pub ablate_names_it: bool,
    /// Plugins by the ledger, dearest first: nanoseconds in handlers for each order.
    pub cost: Vec<Cost>,
    /// Plugins by ablation, dearest first: microseconds of CPU for each order.
    pub ablate: Vec<Ablated>,
}

/// A row of `weir cost --probe --by plugin --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    plugin: String,
    traffic: String,
    calls: u64,
    ns_per_call: f64,
    ns_per_request: f64,
}

/// A row of `weir ablate --probe --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablated {
    plugin: String,
    cpu_us_per_request: f64,
    low: f64,
    high: f64,
}

impl PlantedResults {
    /// Whether both commands name it.
    pub fn all_right(&self) -> bool {
        self.cost_names_it && self.ablate_names_it
    }
}

/// Starts the shop, loads it, and asks both commands.
pub fn run(site: &Site, schedule: Schedule, host: Host) -> Result<PlantedResults, MeasureError> {
    let stores = Stores::start(site)?;
    let mut fork = Fork::start(site, &stores, &ROW)?;
    fork.prepare(&ROW)?;
    warm_up(site, &fork, &ROW, schedule)?;
    let running = load(site, &fork, &ROW, schedule, LOAD_SECONDS).start()?;
    let probes = ["--probe", "--probe-dir", &fork.registrations().display().to_string()].map(str::to_owned);
    let said = weir(["cost", "--by", "plugin", "--json"].map(str::to_owned).iter().chain(&probes))?;
    print!("{}", weir(["cost", "--by", "plugin"].map(str::to_owned).iter().chain(&probes))?);
    let file = site.path("ablate.json");
    let (rounds, seconds) = (schedule.rounds.to_string(), schedule.seconds.to_string());
    let json = file.display().to_string();
    let own = ["ablate", "--rounds", &rounds, "--seconds", &seconds, "--json", &json].map(str::to_owned);
    print!("{}", weir(own.iter().chain(&probes))?);
    drop(running);
    let text = std::fs::read_to_string(&file).map_err(MeasureError::file(&file))?;
    let (cost, ablate) = (costs(&parsed("weir cost", &said)?), ablated(&parsed("weir ablate", &text)?));
    let results = PlantedResults {
        scenario: PLANTED.into(),
        host,
        cost_names_it: cost.first().is_some_and(|row| row.plugin == PLANTED),
        ablate_names_it: ablate.first().is_some_and(|row| row.plugin == PLANTED && row.low > 0.0),
        cost,
        ablate,
    };
    for (command, named) in [("cost", results.cost_names_it), ("ablate", results.ablate_names_it)] {
        println!("weir {command} --probe {} {PLANTED}", if named { "names" } else { "does NOT name" });
    }
    Ok(results)
}

fn parsed(what: &str, text: &str) -> Result<Value, MeasureError> {
    serde_json::from_str(text).map_err(|error| MeasureError::wrong(what, error.to_string()))
}

fn weir<'a>(arguments: impl Iterator<Item = &'a String>) -> Result<String, MeasureError> {
    let output = Command::new(weir::command()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| MeasureError::program("weir", error.to_string()))?;
    // Interrupted as well, `weir ablate` shows the rounds that are finished.
    check_interrupted()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(MeasureError::program("weir", format!("{}: {text}", output.status)))
    }
}

fn costs(report: &Value) -> Vec<Cost> {
    let rows = report["rows"].as_array().into_iter().flatten();
    rows.filter(|row| row["calls"].as_u64() > Some(0))
        .map(|row| Cost {
            plugin: row["plugin"].as_str().unwrap_or_default().into(),
            traffic: row["traffic"].as_str().unwrap_or_default().into(),
            calls: row["calls"].as_u64().unwrap_or_default(),
            ns_per_call: rounded(&row["ns_per_call"]),
            ns_per_request: rounded(&row["ns_per_request"]),
        })
        .collect()
}

fn ablated(outcome: &Value) -> Vec<Ablated> {
    let parts = outcome["parts"].as_array().into_iter().flatten();
    parts
        .map(|part| Ablated {
            plugin: part["name"].as_str().unwrap_or_default().into(),
            cpu_us_per_request: rounded(&part["cost"]["value"]),
            low: rounded(&part["cost"]["low"]),
            high: rounded(&part["cost"]["high"]),
        })
        .collect()
}

fn rounded(value: &Value) -> f64 {
    (value.as_f64().unwrap_or(f64::NAN) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_read_as_the_commands_write_them() {
        let row = |plugin: &str, calls: u64| json!({"plugin": plugin, "traffic": "business", "calls": calls, "ns_per_call": 12.345, "ns_per_request": 30.0});
        let cost = costs(&json!({"rows": [row("linkagent", 3), row("jdbc", 0)]}));
        assert_eq!(cost.len(), 1);
        assert_eq!((cost[0].plugin.as_str(), cost[0].ns_per_call), ("linkagent", 12.35));
        let interval = json!({"value": 5.0, "low": 4.0, "high": 6.0});
        let parts = ablated(&json!({"parts": [{"name": "linkagent", "cost": interval}]}));
        assert_eq!((parts[0].plugin.as_str(), parts[0].low), ("linkagent", 4.0));
    }
}
