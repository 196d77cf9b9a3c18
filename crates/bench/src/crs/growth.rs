//! What the Core Rule Set costs as bodies and sites grow.
//!
//! Bodies: the form of the load with longer values, bare nginx beside Weir at every size, because
//! moving a megabyte costs nginx much itself. Sites: one nginx, one rule set, up to 200 hosts with
//! their own settings and exclusions; the load goes round them.

use std::rc::Rc;

use super::Running;
use super::variants::{BASELINE, USUAL, sites_policy, weir};
use crate::growth::{Sized, measure};
use crate::report::GrowthRow;
use crate::rounds::{Contender, Schedule};
use crate::turn;
use weir_measure::error::MeasureError;
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::Traffic;

/// Bytes of the body group.
const BODY_BYTES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// Sites of the sites group.
const SITES: [usize; 4] = [1, 10, 50, 200];
/// Rounds: fewer, because the differences looked for are large.
const ROUNDS: u32 = 3;

/// Runs both groups.
pub fn run(site: &Site, running: &[Running], schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    let schedule = Schedule { rounds: schedule.rounds.min(ROUNDS), ..schedule };
    let server = |name: &str| running.iter().find(|row| row.name == name).map(|row| Rc::clone(&row.server));
    let (Some(bare), Some(usual)) = (server(BASELINE), server(USUAL)) else { return Ok(Vec::new()) };
    let mut rows = measured(site, "body", &bodies(&bare, &usual), schedule)?;
    rows.extend(measured(site, "sites", &sites(site, &bare)?, schedule)?);
    Ok(rows)
}

fn measured(site: &Site, of: &str, sized: &[Sized], schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    sized.iter().try_for_each(|(_, contender)| turn::check(site, contender, schedule))?;
    measure(site, of, sized, schedule)
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

fn sites(site: &Site, bare: &Rc<Server>) -> Result<Vec<Sized>, MeasureError> {
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
