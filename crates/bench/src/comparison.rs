//! The scenario `rs`: all variants of the table, checked, then measured in rounds.

use std::rc::Rc;

use crate::check;
use crate::choice::{self, Skipped};
use crate::report::Row;
use crate::rounds::{self, Contender, Schedule};
use crate::variants::{BASELINE, VARIANTS, Variant};
use weir_measure::error::MeasureError;
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::Traffic;

/// Starts the chosen variants (all if `only` is empty), checks that they do their work, and
/// measures them. The second value says what was skipped and why.
pub fn run(
    site: &Site,
    origin: &Rc<Server>,
    only: &[String],
    schedule: Schedule,
) -> Result<(Vec<Row>, Skipped), MeasureError> {
    let mut skipped = Skipped::default();
    let mut contenders = Vec::new();
    for variant in chosen(only)? {
        for (name, baseline) in rounds::builds(site, variant.name, variant.is_weir(), BASELINE) {
            let Some(started) = skipped.unless_missing(&name, variant.start(site, &name))? else { continue };
            let server = started.map_or_else(|| Rc::clone(origin), Rc::new);
            check::duty(&name, variant.duty, server.port)?;
            contenders.push(Contender { name, baseline, server, traffic: Traffic::default() });
        }
    }
    Ok((rounds::run(site, &contenders, schedule)?, skipped))
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, MeasureError> {
    choice::chosen(VARIANTS, only, "variant", |variant| variant.name, |variant| variant.name == BASELINE)
}
