//! The scenario `inspect`: what it costs to ask a remote detector about requests.
//!
//! The RS of a commercial WAF asked two services in sequence about every request, although most requests needed none. Here
//! 0, 50 and 100 % of the requests are asked about, by nginx's `auth_request`, by Weir, and by a gateway in Lua. No path
//! comes twice.

mod report;
mod service;
mod slow;
mod variants;

use std::rc::Rc;

use crate::choice::{self, Skipped};
use crate::rounds::{self, Contender, Schedule};
use crate::turn::{self, Turn};
use report::{InspectResults, InspectRow};
use service::Services;
use variants::{ASKS_NONE, AUTH_REQUEST, BASELINE, Terms, VARIANTS, Variant};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx;
use weir_measure::site::Site;
use weir_measure::statistics::Summary;
use weir_measure::wrk::Traffic;

/// Shares of requests that are asked about, in percent, and their loads.
const SHARES: [(u8, &str); 3] = [(0, "asked-0"), (50, "asked-50"), (100, "asked-100")];
/// Requests do not pass without an answer, so that a run fails in which one is missing.
const TERMS: Terms = Terms { deadline_ms: 1000, passes: false };

/// Measures the chosen rows (all if `only` is empty).
pub fn run(site: &Site, only: &[String], schedule: Schedule, host: Host) -> Result<InspectResults, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let services = Services::start(site, "now")?;
    let mut skipped = Skipped::default();
    let (mut of, mut contenders) = (Vec::new(), Vec::new());
    let chosen = chosen(only)?;
    for variant in &chosen {
        for (name, baseline) in rounds::builds(site, variant.name, variant.is_weir(), BASELINE) {
            let server = variant.start(site, &name, services.ports, TERMS);
            let Some(server) = skipped.unless_missing(&name, server)?.map(Rc::new) else { continue };
            variant.check(&name, server.port)?;
            // With nobody to ask, a second service makes no difference.
            for (share, kind) in SHARES.into_iter().filter(|(share, _)| *share > 0 || variant.asks < 2) {
                let traffic = Traffic { kind: Some(kind), ..Traffic::default() };
                let (name, baseline) = (format!("{name}@{share}"), format!("{baseline}@{share}"));
                contenders.push(Contender { name, baseline, server: Rc::clone(&server), traffic });
                of.push((variant, share));
            }
        }
    }
    contenders.iter().try_for_each(|contender| turn::check(site, contender, schedule))?;
    let turns = rounds::turns(site, &contenders, schedule, |_| Ok(()))?;
    let mut rows = Vec::new();
    for (at, mut row) in rounds::rows(&contenders, &turns).into_iter().enumerate() {
        let (variant, share) = of[at];
        (row.syscalls_per_request, row.wakes_per_request) = match turn::syscalls(site, &contenders[at], schedule) {
            Ok([calls, wakes]) => (Some(calls), Some(wakes)),
            Err(MeasureError::Missing(_)) => (None, None),
            Err(error) => return Err(error),
        };
        row.name = row.name.split('@').next().unwrap_or_default().to_owned();
        let against = |other: &str, value: fn(&Turn) -> f64| {
            let other = contenders.iter().position(|it| it.name == format!("{other}@{share}"))?;
            let ratios = turns[at].iter().zip(&turns[other]).map(|(own, other)| value(own) / value(other));
            Summary::of(&ratios.collect::<Vec<_>>()).filter(|_| other != at)
        };
        rows.push(InspectRow {
            share,
            row,
            of_auth_request: against(AUTH_REQUEST, |turn| turn.cpu_us),
            p99_of_auth_request: against(AUTH_REQUEST, |turn| turn.load.p99_us as f64),
            of_weir: variant.is_weir().then(|| against(ASKS_NONE, |turn| turn.cpu_us)).flatten(),
        });
    }
    let two_slow = slow::run(site, &chosen, &mut skipped)?;
    let results = InspectResults { scenario: "inspect".into(), host, rows, two_slow, skipped: skipped.0 };
    print!("{}", results.text());
    Ok(results)
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, MeasureError> {
    choice::chosen(VARIANTS, only, "row", |variant| variant.name, |variant| variant.name == BASELINE)
}
