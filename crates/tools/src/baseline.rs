//! `weir baseline`: facts of a day when all was well, kept and compared.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use weir_diagnose::baseline::Comparison;
use weir_diagnose::baseline::store::{BaselineEntry, Store, StoreError};
use weir_diagnose::facts::{Facts, Options};

use super::diagnose::target::pid_of;
use weir_cli::arguments::{Baseline, BaselinePlace, Watching};
use weir_cli::table::{self, Align, counted};
use weir_measure::interrupt;

use crate::answered;
use weir_cli::{Failure, moment};

/// Something changed in the context.
const CHANGED: u8 = 3;

pub(crate) fn run(runtime: &Path, baseline: &Baseline) -> Result<ExitCode, Failure> {
    match baseline {
        Baseline::Save { name, target, watch, replace, place } => {
            let store = store(place)?;
            let facts = watched(runtime, target, watch)?;
            let path = store.save(name, &facts, *replace).map_err(stored)?;
            println!("baseline {name}: {} ({})", summary(&facts), path.display());
            remarks(&facts);
            Ok(ExitCode::SUCCESS)
        }
        Baseline::Compare { name, target, watch, json, place } => {
            let store = store(place)?;
            let old = store.load(name).map_err(stored)?;
            let new =
                if store.has(target) { store.load(target).map_err(stored)? } else { watched(runtime, target, watch)? };
            let comparison = Comparison::of(&old, &new);
            if *json {
                let value = json!({ "same_context": comparison.same_context(), "comparison": comparison });
                println!("{}", serde_json::to_string_pretty(&value).map_err(Failure::new)?);
            } else {
                print!("{}", comparison.text());
                remarks(&new);
            }
            Ok(if comparison.same_context() { ExitCode::SUCCESS } else { ExitCode::from(CHANGED) })
        }
        Baseline::List { json, place } => list(&store(place)?, *json),
        Baseline::Delete { name, place } => {
            store(place)?.delete(name).map_err(stored)?;
            println!("deleted baseline {name}");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A failure of the store, with what to do about it.
fn stored(error: StoreError) -> Failure {
    let hint = match &error {
        StoreError::Exists(_) => "--replace overwrites it",
        StoreError::Missing { .. } => "weir baseline list shows the existing ones",
        StoreError::Name(_) | StoreError::File { .. } | StoreError::Broken { .. } => return Failure::new(error),
    };
    Failure::new(error).hint(hint)
}

/// The directory for data of users (XDG Base Directory Specification).
fn store(place: &BaselinePlace) -> Result<Store, Failure> {
    if let Some(dir) = &place.dir {
        return Ok(Store::at(dir));
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.ok_or_else(|| Failure::new("neither XDG_DATA_HOME nor HOME is set").hint("use --dir DIR"))?;
    Ok(Store::at(data.join("weir/baselines")))
}

fn watched(runtime: &Path, target: &str, watch: &Watching) -> Result<Facts, Failure> {
    let pid = match target.parse() {
        Ok(pid) => pid,
        Err(_) => pid_of(target)?,
    };
    let options = Options {
        duration: Duration::from_secs(watch.seconds),
        frequency_hz: watch.hz,
        profile: !watch.no_profile,
        requests_from: watch.requests_from.clone(),
        requests: watch.requests,
    };
    answered::collect(runtime, pid, &options, interrupt::catch_once()).map_err(Failure::new)
}

fn summary(facts: &Facts) -> String {
    let process = facts.process.as_ref();
    let mut parts = vec![format!("process {}", process.map_or(0, |process| process.pid))];
    if let Some(nginx) = &facts.nginx {
        let files = nginx.configuration.files.len() as u64;
        parts.push(format!("{} {} with {}", nginx.flavour, nginx.version, counted(files, "configuration file")));
    }
    if let Some(profile) = &facts.profile {
        parts.push(counted(profile.health.samples, "sample"));
    }
    if let Some(requests) = facts.requests {
        let cost = facts.cpu_us_per_request().map_or(String::new(), |us| format!(" at {us:.1} us of CPU"));
        parts.push(format!("{}{cost}", counted(requests, "request")));
    }
    parts.join(", ")
}

fn remarks(facts: &Facts) {
    for remark in &facts.remarks {
        eprintln!("note: {remark}");
    }
}

fn list(store: &Store, json: bool) -> Result<ExitCode, Failure> {
    let listed = store.list().map_err(stored)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&listed).map_err(Failure::new)?);
    } else if listed.is_empty() {
        println!("no baselines in {}", store.dir().display());
    } else {
        let row = |one: &BaselineEntry| vec![one.name.clone(), moment::utc(one.written_ms), table::grouped(one.bytes)];
        let columns = [("NAME", Align::Left), ("WRITTEN", Align::Left), ("BYTES", Align::Right)];
        print!("{}", table::render(&columns, &listed.iter().map(row).collect::<Vec<_>>()));
    }
    Ok(ExitCode::SUCCESS)
}
