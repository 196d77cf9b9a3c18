//! CRS's own regression cases against a real nginx.
//!
//! The driver that CRS uses sends one case, looks into the log, and sends the next: 2,400 cases
//! take half an hour, most of it waiting for logs. Here all cases are sent, nginx is ended, which
//! flushes every buffer, and only then are the logs read. Rules that count across requests would
//! disturb each other that way; CRS 3.3.4 has none that is on by default.

pub mod case;
pub mod engine;
mod judge;
mod report;
mod send;
mod wire;
mod yaml;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use case::{Case, Stage};
use engine::{Engine, EngineReport, RuleSource};
use report::Report;

use weir_measure::error::MeasureError;
use weir_measure::nginx;
use weir_measure::site::{Site, write_results};

/// Where CRS's cases lie beside the repository.
const CASES: &str = "../shared/crs-3.3.4";

/// What an engine answers that blocks; nginx and the origin have no reason to.
const FORBIDDEN: u16 = 403;
/// Paranoia level if none is asked for: that of CRS's own CI.
const PARANOIA: u8 = 4;

/// Arguments of the scenario.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Conformance")]
pub struct ConformanceArguments {
    /// The engine to ask
    #[arg(long, value_enum, default_value = "weir")]
    pub engine: Engine,
    /// CRS's regression cases, or a checkout of CRS 4, whose rules are then those to test
    #[arg(long, env = "CRS_TESTS", value_name = "DIRECTORY", default_value = CASES)]
    pub cases: PathBuf,
    /// albedo, the origin that CRS 4's cases need (`make conformance` installs it)
    #[arg(long, env = "ALBEDO", value_name = "FILE")]
    pub albedo: Option<PathBuf>,
    /// Only cases about these rules (942100) or with these titles (942100-3)
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    pub id: Vec<String>,
    /// CRS's paranoia level (default: 4; of the differential 2)
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub paranoia: Option<u8>,
    /// Failures with the case's description and request
    #[arg(long)]
    pub verbose: bool,
}

/// Runs the cases. `Ok(false)` if one fails, or if the engine did not only detect.
pub fn run(site: &Site, arguments: &ConformanceArguments, output: Option<&Path>) -> Result<bool, MeasureError> {
    if !arguments.cases.exists() {
        println!("CRS: skipped, {} is not there (CRS_TESTS names another place)", arguments.cases.display());
        return Ok(true);
    }
    let mut cases = case::load(&arguments.cases)?;
    cases.retain(|case| wanted(case, &arguments.id));
    if cases.is_empty() {
        return Err(MeasureError::Usage(format!("no case is about {}", arguments.id.join(", "))));
    }
    let report = ask(site, arguments, &cases)?;
    print!("{}", report.text(arguments.verbose));
    write_results(output, &report)?;
    Ok(report.failed == 0 && report.blocked == 0)
}

fn wanted(case: &Case, ids: &[String]) -> bool {
    ids.is_empty() || ids.iter().any(|id| *id == case.title || *id == case.rule.to_string())
}

fn ask(site: &Site, arguments: &ConformanceArguments, cases: &[Case]) -> Result<Report, MeasureError> {
    let paranoia = arguments.paranoia.unwrap_or(PARANOIA);
    let is_checkout = case::is_checkout(&arguments.cases);
    let (rules, _origin) = match &arguments.albedo {
        Some(program) if is_checkout => {
            let directory = std::fs::canonicalize(&arguments.cases).map_err(MeasureError::file(&arguments.cases))?;
            (RuleSource::checkout(&directory), engine::start_albedo(site, program)?)
        }
        None if is_checkout => {
            let message = "the cases of CRS 4 need albedo; `make conformance` installs it, --albedo names it";
            return Err(MeasureError::Missing(message.into()));
        }
        _ => (RuleSource::packaged(), nginx::start_origin(site)?),
    };
    let server = arguments.engine.start(site, &rules, paranoia)?;
    let begun = Instant::now();
    let stages: Vec<&Stage> = cases.iter().flat_map(|case| &case.stages).collect();
    let answers = send::all(server.port, &stages)?;
    let directory = server.directory.clone();
    server.quit()?;
    let said = arguments.engine.said(&directory)?;
    let silent = EngineReport::default();
    let mut results = answers.iter().map(|answer| (answer, said.get(&answer.port).unwrap_or(&silent)));
    let mut failures = Vec::new();
    for case in cases {
        let own: Vec<_> = results.by_ref().take(case.stages.len()).collect();
        if let Err(failure) = judge::case(case, &own) {
            failures.push(*failure);
        }
    }
    Ok(Report {
        engine: arguments.engine.name().into(),
        paranoia,
        passed: cases.len() - failures.len(),
        failed: failures.len(),
        refused_by_nginx: failures.iter().filter(|failure| failure.refused_by_nginx.is_some()).count(),
        blocked: answers.iter().filter(|answer| answer.status == Some(FORBIDDEN)).count(),
        seconds: begun.elapsed().as_secs_f64(),
        failures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_measure::placement::Placement;
    use weir_measure::site::write;

    /// One case that bare nginx passes, one that it fails, and one that it refuses by itself.
    const CASES: &str = "meta: {enabled: true}\ntests:\n\
        - {test_title: 1-1, stages: [{stage: {input: {headers: {Host: x}}, output: {no_log_contains: 'id \"1\"'}}}]}\n\
        - {test_title: 1-2, stages: [{stage: {input: {headers: {Host: x}}, output: {log_contains: 'id \"1\"'}}}]}\n\
        - {test_title: 1-3, stages: [{stage: {input: {method: '|GET'}, output: {log_contains: 'id \"1\"'}}}]}\n";

    #[test]
    fn cases_go_through_nginx_and_come_back_judged() {
        let directory = tempfile::tempdir().unwrap();
        write(&directory.path().join("cases/GROUP/1.yaml"), CASES).unwrap();
        let (_, modules) = nginx::describe().unwrap();
        let site = Site::create(Placement::default(), None, modules).unwrap();
        let arguments = ConformanceArguments {
            engine: Engine::Nginx,
            cases: directory.path().join("cases"),
            albedo: None,
            id: Vec::new(),
            paranoia: None,
            verbose: false,
        };
        let report = ask(&site, &arguments, &case::load(&arguments.cases).unwrap()).unwrap();
        let failed: Vec<_> =
            report.failures.iter().map(|it| (it.title.as_str(), it.refused_by_nginx.is_some())).collect();
        assert_eq!((report.passed, failed), (1, vec![("1-2", false), ("1-3", true)]), "{}", report.text(true));
        let output = directory.path().join("report.json");
        assert!(
            !run(&site, &ConformanceArguments { id: vec!["1-2".into()], ..arguments.clone() }, Some(&output)).unwrap()
        );
        assert!(std::fs::read_to_string(output).unwrap().contains("\"title\": \"1-2\""));
        let absent = ConformanceArguments { cases: directory.path().join("none"), ..arguments };
        assert!(run(&site, &absent, None).unwrap(), "what is not there is skipped");
    }
}
