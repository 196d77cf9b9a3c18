//! The scenario `rs`: all variants of the table, checked, then measured in rounds.

use std::rc::Rc;

use crate::check;
use crate::error::LabError;
use crate::report::Row;
use crate::rounds::{self, Contender, Schedule};
use crate::server::Server;
use crate::site::Site;
use crate::variants::{BASELINE, VARIANTS, Variant};
use crate::wrk::Traffic;

/// Starts the chosen variants (all if `only` is empty), checks that they do their work, and
/// measures them. The second value says what was skipped and why.
pub fn run(
    site: &Site,
    origin: &Rc<Server>,
    only: &[String],
    schedule: Schedule,
) -> Result<(Vec<Row>, Vec<String>), LabError> {
    let mut skipped = Vec::new();
    let mut contenders = Vec::new();
    for variant in chosen(only)? {
        if let Some(reason) = variant.missing(site) {
            eprintln!("{} is skipped: {reason}", variant.name);
            skipped.push(format!("{}: {reason}", variant.name));
            continue;
        }
        let server = match variant.start(site)? {
            Some(server) => Rc::new(server),
            None => Rc::clone(origin),
        };
        check::duty(variant.name, variant.duty, server.port)?;
        contenders.push(Contender {
            name: variant.name.to_owned(),
            baseline: BASELINE.to_owned(),
            server,
            traffic: Traffic::default(),
        });
    }
    Ok((rounds::run(site, &contenders, schedule)?, skipped))
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, LabError> {
    let known = |name: &String| VARIANTS.iter().any(|variant| variant.name == name);
    if let Some(unknown) = only.iter().find(|name| !known(name)) {
        let names: Vec<&str> = VARIANTS.iter().map(|variant| variant.name).collect();
        return Err(LabError::Usage(format!("no variant is named {unknown}; there are {}", names.join(", "))));
    }
    let wanted = |variant: &&Variant| {
        only.is_empty() || variant.name == BASELINE || only.iter().any(|name| name == variant.name)
    };
    Ok(VARIANTS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_keeps_the_baseline_and_refuses_unknown_names() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            chosen(&only).map(|all| all.iter().map(|variant| variant.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["weir-rs"]).unwrap(), ["nginx", "weir-rs"]);
        assert_eq!(names(&[]).unwrap().len(), VARIANTS.len());
        assert!(names(&["lua"]).unwrap_err().to_string().contains("lua-before"));
    }
}
