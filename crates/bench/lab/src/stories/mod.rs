//! The stories that `weir diagnose` must tell: planted with real programs, measured, diagnosed.
//!
//! A story is a table of cases. Each case is started, checked and measured in interleaved rounds
//! like any other variant; then it is loaded once more while `weir diagnose`, the command that
//! people type, looks at it from outside. What it says is compared with what was planted, and
//! with silence where nothing was: a diagnosis that cries wolf at the healthy case has failed.

mod cases;
mod compiled;
mod diagnosis;
mod report;

use std::path::Path;
use std::rc::Rc;

use clap::ValueEnum;

use crate::command::Scenario;
use crate::error::LabError;
use crate::report::Host;
use crate::rounds::{self, Contender, Schedule};
use crate::server::Server;
use crate::site::Site;
use crate::{check, nginx, turn};

use self::cases::{Case, STORIES, Story};
use self::report::{Report, StoryRow};

/// The story of a scenario.
pub fn of(scenario: Scenario) -> &'static Story {
    let name = scenario.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    STORIES.iter().find(|story| story.name == name).expect("every scenario that is a story stands in the table")
}

/// Where a story's results go.
#[derive(Clone, Copy, Debug)]
pub struct Files<'f> {
    /// The report as JSON.
    pub results: Option<&'f Path>,
    /// A profile of each case: a directory.
    pub profiles: Option<&'f Path>,
}

/// Plants, measures and diagnoses all cases of a story. `Ok(false)` if a diagnosis was wrong.
pub fn run(
    site: &Site,
    story: &'static Story,
    only: &[String],
    schedule: Schedule,
    host: Host,
    files: Files<'_>,
) -> Result<bool, LabError> {
    let origin = Rc::new(nginx::start_origin(site)?);
    let mut skipped = Vec::new();
    let mut contenders = Vec::new();
    let mut cases: Vec<&'static Case> = Vec::new();
    for case in story.chosen(only)? {
        let server = match case.start(site, &origin) {
            Ok(server) => server,
            Err(LabError::Missing(reason)) => {
                eprintln!("{} is skipped: {reason}", case.name);
                skipped.push(format!("{}: {reason}", case.name));
                continue;
            }
            Err(error) => return Err(error),
        };
        contenders.push(contender(case, server));
        cases.push(case);
    }
    for contender in &contenders {
        turn::check(site, contender, schedule)?;
    }
    let measured = rounds::run(site, &contenders, schedule)?;
    let mut rows = Vec::new();
    for ((case, contender), row) in cases.iter().zip(&contenders).zip(measured) {
        eprintln!("diagnosing {}", case.name);
        rows.push(StoryRow::new(case, row, diagnosis::take(site, contender, schedule)?));
        if let Some(directory) = files.profiles {
            diagnosis::profile(site, contender, schedule, directory)?;
        }
    }
    let report = Report::new(story, host, rows, skipped);
    print!("{}", report.text());
    if let Some(path) = files.results {
        report.write(path)?;
        eprintln!("written to {}", path.display());
    }
    Ok(report.all_right())
}

fn contender(case: &Case, server: Rc<Server>) -> Contender {
    Contender { name: case.name.into(), baseline: case.baseline.into(), server, traffic: case.traffic }
}

/// A started server that was seen to do its work.
fn checked(name: &str, duty: crate::variants::Duty, server: Server) -> Result<Rc<Server>, LabError> {
    check::duty(name, duty, server.port)?;
    Ok(Rc::new(server))
}
