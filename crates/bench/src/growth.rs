//! Cost against size: rules 10 to 10,000, list 10 to 1,000,000, body nothing to a megabyte.
//!
//! Each group is an interleaved run of its own with bare nginx in it; a body row's baseline is
//! bare nginx with bodies of the same size, because moving a megabyte costs nginx much itself.

use std::rc::Rc;

use crate::policy;
use crate::report::GrowthRow;
use crate::rounds::{self, Contender, Schedule};
use crate::variants::{self, BASELINE};
use weir_measure::addresses;
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::process::Footprint;
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::Traffic;

/// Rules of the rule group.
pub const RULE_COUNTS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Entries of the list group.
pub const LIST_LENGTHS: [usize; 4] = [10, 1_000, 100_000, 1_000_000];
/// Bytes of the body group.
pub const BODY_BYTES: [usize; 5] = [0, 1_000, 10_000, 100_000, 1_000_000];

/// One contender of a group: the row's size, and what is measured.
pub type Sized = (usize, Contender);

/// Runs the three groups and returns Weir's and the body baselines' rows.
pub fn run(site: &Site, schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    let baseline = Rc::new(nginx::start_proxy(site, "growth-nginx", NginxParts::default())?);
    let mut rows = Vec::new();
    for (of, group) in [("rules", rules as fn(&Site) -> Result<Vec<Sized>, MeasureError>), ("list", lists)] {
        let mut sized = group(site)?;
        sized.push((0, contender(BASELINE.into(), BASELINE, &baseline, None)));
        rows.extend(measure(site, of, &sized, schedule)?);
    }
    rows.extend(measure(site, "body", &bodies(site, &baseline)?, schedule)?);
    Ok(rows)
}

/// Measures a group: a row for each contender, with its worker's memory.
pub fn measure(site: &Site, of: &str, sized: &[Sized], schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    eprintln!("growth: {of}");
    let contenders: Vec<Contender> = sized.iter().map(|(_, contender)| contender.clone()).collect();
    let rows = rounds::run(site, &contenders, schedule)?;
    Ok(rows
        .into_iter()
        .zip(sized)
        .map(|(row, (size, contender))| GrowthRow {
            of: of.to_owned(),
            size: *size,
            worker_pss_kib: contender
                .server
                .workers()
                .first()
                .and_then(|&pid| Footprint::of(pid).ok())
                .map(|it| it.pss_kib),
            row,
        })
        .collect())
}

fn rules(site: &Site) -> Result<Vec<Sized>, MeasureError> {
    RULE_COUNTS
        .iter()
        .map(|&count| with_policy(site, &format!("rules-{count}"), count, &policy::many_rules(count), 0))
        .collect()
}

fn lists(site: &Site) -> Result<Vec<Sized>, MeasureError> {
    LIST_LENGTHS
        .iter()
        .map(|&length| with_policy(site, &format!("list-{length}"), length, &policy::list_only(), length))
        .collect()
}

fn with_policy(site: &Site, name: &str, size: usize, text: &str, listed: usize) -> Result<Sized, MeasureError> {
    let path = site.write_policy(name, text, &addresses::list(listed))?;
    let server = Rc::new(variants::start_weir(site, name, &path)?);
    Ok((size, contender(format!("weir-{name}"), BASELINE, &server, None)))
}

fn bodies(site: &Site, baseline: &Rc<Server>) -> Result<Vec<Sized>, MeasureError> {
    let path = site.write_policy("body", &policy::rules_only(), &[])?;
    let server = Rc::new(variants::start_weir(site, "body", &path)?);
    Ok(BODY_BYTES
        .iter()
        .flat_map(|&bytes| {
            let bare = format!("nginx-body-{bytes}");
            let weir = contender(format!("weir-body-{bytes}"), &bare, &server, Some(bytes));
            [(bytes, contender(bare.clone(), &bare, baseline, Some(bytes))), (bytes, weir)]
        })
        .collect())
}

fn contender(name: String, baseline: &str, server: &Rc<Server>, body_bytes: Option<usize>) -> Contender {
    Contender {
        name,
        baseline: baseline.to_owned(),
        server: Rc::clone(server),
        traffic: Traffic { body_bytes, ..Traffic::default() },
    }
}
