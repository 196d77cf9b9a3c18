//! `weir diagnose` on a loaded server, as somebody at a terminal would ask it.

use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::rounds::{Contender, Schedule};
use crate::site::Site;
use crate::turn;

/// How long the diagnosis looks.
const SECONDS: u32 = 5;
/// How much longer the load runs: the diagnosis starts up, and reads what it has seen.
const MARGIN_SECONDS: u32 = 5;

/// What the diagnosis said, as `weir diagnose --json` prints it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Diagnosis {
    /// One for each rule that fired.
    pub findings: Vec<Finding>,
}

/// One finding. Of what the command prints, only what the report quotes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// What is wrong, in a sentence.
    pub sentence: String,
}

/// Loads a contender and diagnoses it meanwhile.
pub fn take(site: &Site, contender: &Contender, schedule: Schedule) -> Result<Diagnosis, LabError> {
    let load = turn::load_of(site, contender, Schedule { seconds: SECONDS + MARGIN_SECONDS, ..schedule }, "wrk.out");
    let running = load.start()?;
    let weir = std::env::current_exe().map_err(LabError::file("/proc/self/exe"))?;
    let output = Command::new(weir)
        .args(["diagnose", &contender.server.id().to_string(), "--seconds", &SECONDS.to_string(), "--json"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LabError::program("weir diagnose", error.to_string()))?;
    let report = running.finish(&mut || Ok(()))?;
    if let Some(trouble) = report.trouble(contender.traffic.refused) {
        return Err(LabError::wrong(&contender.name, trouble));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        LabError::program("weir diagnose", format!("{}: no report ({error})\n{said}", output.status))
    })
}
