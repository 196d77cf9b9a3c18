//! The scenario `signature`: what it costs to verify a signature of each request.
//!
//! A gateway in Lua spent three quarters of its CPU time on sorting for such a check. Its rows sort in three ways; Weir's
//! verify with a scheme each, that of the Lua rows among them. No body comes twice in a turn until all have been sent.

mod client;
mod duty;
mod policy;
mod report;
mod requests;
mod variants;

use std::rc::Rc;

use crate::choice::{self, Skipped};
use crate::report::Row;
use crate::rounds::{self, Contender, Schedule};
use crate::turn::{self, Turn};
use report::{SignatureResults, SignatureRow};
use variants::{BASELINE, Engine, VARIANTS, Variant};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx;
use weir_measure::site::{Site, write};
use weir_measure::statistics::Summary;
use weir_measure::wrk::{self, Traffic};

/// Connections of the load, if no other number is asked for.
pub const CONNECTIONS: u32 = 500;
/// The script of the load; its report is that of the other loads.
const SCRIPT: &str = include_str!("../../../../bench/load/signature.lua");

/// Measures the chosen rows (all if `only` is empty), the growth rows only if `grow`.
pub fn run(
    site: &Site,
    only: &[String],
    grow: bool,
    schedule: Schedule,
    host: Host,
) -> Result<SignatureResults, MeasureError> {
    write(&site.path(wrk::FROM_FILE), &format!("{SCRIPT}{}", wrk::report_of(wrk::MIX)))?;
    let _origin = nginx::start_origin(site)?;
    let mut skipped = Skipped::default();
    let (mut running, mut contenders) = (Vec::new(), Vec::new());
    for variant in chosen(only)?.into_iter().filter(|it| grow || it.smaller.is_none() || !only.is_empty()) {
        for (name, baseline) in rounds::builds(site, variant.name, variant.engine == Engine::Weir, BASELINE) {
            let Some(server) = skipped.unless_missing(&name, variant.start(site, &name))? else { continue };
            let traffic = Traffic { requests: Some(variant.client.name), ..Traffic::default() };
            contenders.push(Contender { name, baseline, server: Rc::new(server), traffic });
            running.push(variant);
        }
    }
    let prepare = |index: usize| {
        let (variant, contender): (&Variant, &Contender) = (running[index], &contenders[index]);
        duty::check(&contender.name, variant, contender.server.port)?;
        requests::write(site, variant.client)
    };
    for (index, contender) in contenders.iter().enumerate() {
        prepare(index)?;
        turn::check(site, contender, schedule)?;
    }
    let turns = rounds::turns(site, &contenders, schedule, prepare)?;
    let grown = |index: usize| {
        let smaller = contenders.iter().position(|it| Some(it.name.as_str()) == running[index].smaller)?;
        of_smaller(&turns[index], &turns[smaller])
    };
    let rows = rounds::rows(&contenders, &turns).into_iter().enumerate();
    // A slow row takes requests in batches that last longer than a slice.
    let rows =
        rows.map(|(index, row)| SignatureRow::new(Row { cpu_us_quiet: None, ratio_quiet: None, ..row }, grown(index)));
    let rows = rows.collect();
    let results = SignatureResults { scenario: "signature".into(), host, rows, skipped: skipped.0 };
    print!("{}", results.text());
    Ok(results)
}

/// The CPU time of a row divided by that of another in the same round.
fn of_smaller(own: &[Turn], smaller: &[Turn]) -> Option<Summary> {
    let ratios: Vec<f64> = own.iter().zip(smaller).map(|(own, smaller)| own.cpu_us / smaller.cpu_us).collect();
    Summary::of(&ratios)
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, MeasureError> {
    choice::chosen(VARIANTS, only, "row", |variant| variant.name, |variant| variant.name == BASELINE)
}
