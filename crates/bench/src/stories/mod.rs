//! Planted faults: real programs with a known performance problem, measured, and diagnosed by
//! `weir diagnose`.
//!
//! A story is a table of cases. Each case is started, checked and measured in interleaved rounds
//! like any other variant; then it is loaded once more while `weir diagnose`, the command that
//! people type, looks at it from outside. What it says is compared with what was planted, and
//! with silence where nothing was: a false alarm in the healthy case fails the run too.

mod cases;
mod compiled;
mod diagnosis;
mod report;

use std::path::Path;
use std::rc::Rc;

use crate::choice::Skipped;
use crate::rounds::{self, Contender, Schedule};
use crate::{check, turn};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx;
use weir_measure::server::Server;
use weir_measure::site::Site;

use self::cases::{Case, STORIES, Story};
use self::report::{Report, StoryRow};

/// The story of that name.
pub fn of(name: &str) -> &'static Story {
    STORIES.iter().find(|story| story.name == name).expect("every scenario that is a story stands in the table")
}

/// Starts, measures and diagnoses all cases of a story. `profiles` is a directory for a profile of each.
pub fn run(
    site: &Site,
    story: &'static Story,
    only: &[String],
    schedule: Schedule,
    host: Host,
    profiles: Option<&Path>,
) -> Result<Report, MeasureError> {
    let origin = Rc::new(nginx::start_origin(site)?);
    let mut skipped = Skipped::default();
    let (mut cases, mut contenders) = (Vec::new(), Vec::new());
    for case in story.chosen(only)? {
        if let Some(server) = skipped.unless_missing(case.name, case.start(site, &origin))? {
            contenders.push(contender(case, server));
            cases.push(case);
        }
    }
    for contender in &contenders {
        turn::check(site, contender, schedule)?;
    }
    let measured = rounds::run(site, &contenders, schedule)?;
    let mut rows = Vec::new();
    for ((case, contender), row) in cases.iter().zip(&contenders).zip(measured) {
        eprintln!("diagnosing {}", case.name);
        rows.push(StoryRow::new(case, row, diagnosis::take(site, contender, schedule)?));
        if let Some(directory) = profiles {
            diagnosis::profile(site, contender, schedule, directory)?;
        }
    }
    let report = Report::new(story, host, rows, skipped.0);
    print!("{}", report.text());
    Ok(report)
}

fn contender(case: &Case, server: Rc<Server>) -> Contender {
    Contender { name: case.name.into(), baseline: case.baseline.into(), server, traffic: case.traffic }
}

/// A started server that was seen to do its work.
fn checked(name: &str, duty: crate::variants::Duty, server: Server) -> Result<Rc<Server>, MeasureError> {
    check::duty(name, duty, server.port)?;
    Ok(Rc::new(server))
}
