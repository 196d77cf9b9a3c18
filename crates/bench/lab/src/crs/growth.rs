//! What the Core Rule Set costs as bodies and sites grow.
//!
//! Bodies: the form of the load with longer values, bare nginx beside Weir at every size, because
//! moving a megabyte costs nginx much itself. Sites: one nginx, one rule set, up to 200 hosts with
//! their own settings and exclusions; the load goes round them.

use std::rc::Rc;

use super::variants::{BASELINE, USUAL, Variant, sites_policy, weir};
use crate::error::LabError;
use crate::process::Footprint;
use crate::report::GrowthRow;
use crate::rounds::{self, Contender, Schedule};
use crate::server::Server;
use crate::site::Site;
use crate::turn;
use crate::wrk::Traffic;

/// Bytes of the body group.
const BODY_BYTES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Sites of the sites group.
const SITES: [usize; 4] = [1, 10, 50, 200];
/// Rounds: fewer, because the differences looked for are large.
const ROUNDS: u32 = 3;

/// One contender of a group: the row's size, and what is measured.
type Sized = (usize, Contender);

/// Runs both groups.
pub fn run(site: &Site, running: &[(&Variant, Rc<Server>)], schedule: Schedule) -> Result<Vec<GrowthRow>, LabError> {
    let schedule = Schedule { rounds: schedule.rounds.min(ROUNDS), ..schedule };
    let server =
        |name: &str| running.iter().find(|(variant, _)| variant.name == name).map(|(_, server)| Rc::clone(server));
    let (Some(bare), Some(usual)) = (server(BASELINE), server(USUAL)) else { return Ok(Vec::new()) };
    let mut rows = measure(site, "body", &bodies(&bare, &usual), schedule)?;
    rows.extend(measure(site, "sites", &sites(site, &bare)?, schedule)?);
    Ok(rows)
}

fn measure(site: &Site, of: &str, sized: &[Sized], schedule: Schedule) -> Result<Vec<GrowthRow>, LabError> {
    eprintln!("growth: {of}");
    let contenders: Vec<Contender> = sized.iter().map(|(_, contender)| contender.clone()).collect();
    contenders.iter().try_for_each(|contender| turn::check(site, contender, schedule))?;
    let rows = rounds::run(site, &contenders, schedule)?;
    let memory = |server: &Server| Some(Footprint::of(*server.workers().first()?).ok()?.pss_kib);
    Ok(rows
        .into_iter()
        .zip(sized)
        .map(|(row, (size, contender))| GrowthRow {
            of: of.to_owned(),
            size: *size,
            worker_pss_kib: memory(&contender.server),
            row,
        })
        .collect())
}

fn bodies(bare: &Rc<Server>, usual: &Rc<Server>) -> Vec<Sized> {
    BODY_BYTES
        .iter()
        .flat_map(|&bytes| {
            let traffic = Traffic { kind: Some("form"), body_bytes: Some(bytes), ..Traffic::default() };
            let baseline = format!("nginx-body-{bytes}");
            [(baseline.clone(), bare), (format!("{USUAL}-body-{bytes}"), usual)].map(|(name, server)| {
                (bytes, Contender { name, baseline: baseline.clone(), server: Rc::clone(server), traffic })
            })
        })
        .collect()
}

fn sites(site: &Site, bare: &Rc<Server>) -> Result<Vec<Sized>, LabError> {
    let form = Traffic { kind: Some("form"), ..Traffic::default() };
    let contender =
        |name: String, server: Rc<Server>, traffic| Contender { name, baseline: BASELINE.to_owned(), server, traffic };
    let mut all = vec![(0, contender(BASELINE.to_owned(), Rc::clone(bare), form))];
    for count in SITES {
        let name = format!("weir-sites-{count}");
        let server = Rc::new(weir(site, &name, &sites_policy(count), "weir_apply crs;")?);
        all.push((count, contender(name, server, Traffic { sites: Some(count), ..form })));
    }
    Ok(all)
}
