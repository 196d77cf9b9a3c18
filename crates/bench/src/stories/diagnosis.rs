//! `weir diagnose` on a loaded server, run as a user would run it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rounds::{Contender, Schedule};
use crate::{turn, weir};
use weir_measure::child;
use weir_measure::error::MeasureError;
use weir_measure::site::Site;

/// Seconds of the diagnosis.
const SECONDS: u32 = 10;
const SECONDS_TEXT: &str = "10";
/// How much longer the load runs: the diagnosis starts up, and reads what it has seen.
const MARGIN_SECONDS: u32 = 5;

/// The output of `weir diagnose --json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The findings, one for each rule that fired.
    pub findings: Vec<Finding>,
}

/// One finding. Of what the command prints, only what the report quotes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// The problem in a sentence.
    pub sentence: String,
    /// The evidence, as the command prints it.
    #[serde(default)]
    pub evidence: Vec<Value>,
}

impl Finding {
    /// The strongest evidence in one line: a stack, a place in a file, or a figure.
    pub fn shown(&self) -> Option<String> {
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        self.evidence.first().map(|evidence| match evidence["kind"].as_str() {
            Some("stack") => {
                let frames: Vec<&str> =
                    evidence["frames"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                format!("{:.1} %: {}", evidence["share"].as_f64().unwrap_or(0.0) * 100.0, frames.join(" > "))
            }
            Some("place") => format!("{}:{}: {}", text(evidence, "file"), evidence["line"], text(evidence, "text")),
            _ => format!("{}: {}", text(evidence, "name"), text(evidence, "value")),
        })
    }
}

/// Loads a contender and diagnoses it meanwhile.
pub fn take(site: &Site, contender: &Contender, schedule: Schedule) -> Result<Diagnosis, MeasureError> {
    let pid = contender.server.id().to_string();
    let output = under_load(site, contender, schedule, &["diagnose", &pid, "--seconds", SECONDS_TEXT, "--json"])?;
    // Results do not contain paths of this machine.
    let here = std::env::current_dir().unwrap_or_default();
    let text = String::from_utf8_lossy(&output.stdout)
        .replace(site.path("").to_string_lossy().as_ref(), "SITE/")
        .replace(here.to_string_lossy().as_ref(), ".");
    serde_json::from_str(&text).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        MeasureError::program("weir diagnose", format!("{}: no report ({error})\n{said}", output.status))
    })
}

/// Loads a contender and profiles its workers meanwhile, into `CASE.weir.json.gz` of a directory. Requests are those
/// that the origin counts.
pub fn profile(site: &Site, contender: &Contender, schedule: Schedule, directory: &Path) -> Result<(), MeasureError> {
    std::fs::create_dir_all(directory).map_err(MeasureError::file(directory))?;
    let file = directory.join(format!("{}.weir.json.gz", contender.name));
    let status = format!("http://127.0.0.1:{}{}", site.origin_port, weir_measure::nginx::STATUS_PATH);
    let mut arguments: Vec<String> = contender.server.workers().iter().map(u32::to_string).collect();
    arguments.insert(0, "profile".into());
    arguments.extend(["--duration", SECONDS_TEXT, "--requests-from", &status, "-o"].map(String::from));
    arguments.push(file.display().to_string());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = under_load(site, contender, schedule, &arguments)?;
    if output.status.success() {
        return Ok(());
    }
    Err(MeasureError::program("weir profile", String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Runs `weir` while a contender is loaded.
fn under_load(
    site: &Site,
    contender: &Contender,
    schedule: Schedule,
    arguments: &[&str],
) -> Result<Output, MeasureError> {
    let load = turn::load_of(site, contender, Schedule { seconds: SECONDS + MARGIN_SECONDS, ..schedule }, "wrk.out");
    let running = load.start()?;
    let nice = site.placement.nice;
    let mut command = Command::new(weir::command()?);
    command.args(arguments).stdin(Stdio::null());
    if nice != 0 {
        // As urgent as what it looks at, or it would not come to that as long as both cores are taken.
        // SAFETY: the calls are system calls that touch nothing of this process.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                child::be_nice(nice)
            });
        }
    }
    let output =
        command.output().map_err(|error| MeasureError::program(format!("weir {}", arguments[0]), error.to_string()))?;
    let report = running.finish(&mut || Ok(()))?;
    match report.trouble(contender.traffic.refused_percent) {
        None => Ok(output),
        Some(trouble) => Err(MeasureError::wrong(&contender.name, trouble)),
    }
}
