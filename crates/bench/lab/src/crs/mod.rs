//! The scenario `crs`: what the Core Rule Set costs in everyone's hands.
//!
//! Every load is a comparison of its own with bare nginx in it. Before it is timed, each variant
//! is sent every variety of the load and must let all pass, or refuse all if they are attacks.

mod coraza;
mod growth;
mod report;
mod variants;

use std::rc::Rc;

use report::{CrsResults, LoadRow};
use variants::{BASELINE, Kind, VARIANTS, Variant};

use crate::error::LabError;
use crate::nginx;
use crate::report::Host;
use crate::rounds::{self, Contender, Schedule};
use crate::server::Server;
use crate::site::Site;
use crate::turn;
use crate::wrk::Traffic;

/// The loads of `bench/load/crs.lua`; the last one is refused by all but bare nginx.
const LOADS: &[&str] = &["get", "form", "json", "upload", ATTACK];
const ATTACK: &str = "attack";

/// Runs all of it. With `only`, these variants and bare nginx; without growth if `growth` says so.
pub fn run(site: &Site, only: &[String], growth: bool, schedule: Schedule, host: Host) -> Result<CrsResults, LabError> {
    let _origin = nginx::start_origin(site)?;
    let mut skipped = Vec::new();
    let mut running = Vec::new();
    for variant in chosen(only)? {
        match variant.start(site) {
            Ok(server) => running.push((variant, Rc::new(server))),
            Err(LabError::Missing(reason)) => {
                eprintln!("{} is skipped: {reason}", variant.name);
                skipped.push(format!("{}: {reason}", variant.name));
            }
            Err(error) => return Err(error),
        }
    }
    let mut rows = Vec::new();
    for load in LOADS {
        eprintln!("load {load}");
        rows.extend(measure(site, load, &running, schedule)?);
    }
    let grown = match growth && running.iter().any(|(variant, _)| variant.name == variants::USUAL) {
        true => growth::run(site, &running, schedule)?,
        false => Vec::new(),
    };
    Ok(CrsResults { scenario: "crs".into(), host, rows, growth: grown, skipped })
}

fn measure(
    site: &Site,
    load: &'static str,
    running: &[(&Variant, Rc<Server>)],
    schedule: Schedule,
) -> Result<Vec<LoadRow>, LabError> {
    let contenders: Vec<Contender> = running
        .iter()
        .map(|(variant, server)| Contender {
            name: variant.name.to_owned(),
            baseline: BASELINE.to_owned(),
            server: Rc::clone(server),
            traffic: Traffic {
                kind: Some(load),
                refused: load == ATTACK && variant.refuses(),
                slow: matches!(variant.kind, Kind::ModSecurity | Kind::Coraza),
                ..Traffic::default()
            },
        })
        .collect();
    contenders.iter().try_for_each(|contender| turn::check(site, contender, schedule))?;
    let rows = rounds::run(site, &contenders, schedule)?;
    Ok(rows.into_iter().map(|row| LoadRow { load: load.to_owned(), row }).collect())
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, LabError> {
    if let Some(unknown) = only.iter().find(|name| !VARIANTS.iter().any(|variant| variant.name == *name)) {
        let names: Vec<&str> = VARIANTS.iter().map(|variant| variant.name).collect();
        return Err(LabError::Usage(format!("no variant is named {unknown}; there are {}", names.join(", "))));
    }
    let wanted =
        |variant: &&Variant| only.is_empty() || variant.name == BASELINE || only.iter().any(|it| it == variant.name);
    Ok(VARIANTS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_keeps_the_baseline_and_refuses_unknown_names() {
        let names: Vec<&str> = chosen(&["coraza".into()]).unwrap().iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["nginx", "coraza"]);
        assert!(chosen(&["weir".into()]).unwrap_err().to_string().contains("weir-pl4"));
    }
}
