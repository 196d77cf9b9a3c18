//! The same parts by instructions instead of time: what does not depend on the machine's mood.
//!
//! `weir replay` runs the engine as a worker does, without nginx. Valgrind counts its instructions
//! twice, with few and with many repetitions of each request; the difference is what the repetitions
//! took, without start, compilation and first visits. Instructions are not time (a cache miss is one
//! of them), so this says which part does more work and not how many microseconds that is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::design::Design;
use super::estimate::Round;
use super::mix;
use super::own_nginx::variant_of;
use super::part::Part;
use weir_measure::error::MeasureError;
use weir_measure::site::{Site, write};

/// Repetitions of each request in the two runs.
const REPEATS: (u64, u64) = (1, 9);
/// Requests of the mix that are replayed: instructions do not vary, so a quarter is as good.
const REQUESTS: usize = 64;
/// The line of valgrind's summary.
const MARK: &str = "refs:";

/// Counts instructions per request of each variant: one round, exact.
pub fn round(
    site: &Site,
    weir: &Path,
    document: &Value,
    parts: &[Part],
    design: &Design,
    requests: Vec<Vec<u8>>,
) -> Result<Round, MeasureError> {
    let requests: Vec<Vec<u8>> = requests.into_iter().take(REQUESTS).collect();
    let file = site.path("requests.http");
    std::fs::write(&file, requests.concat()).map_err(MeasureError::file(&file))?;
    let count = requests.len() as u64;
    let mut round = Round::new();
    for (variant, on) in design.variants().iter().enumerate() {
        eprintln!("{}/{}  {}", variant + 1, design.variants().len(), design.name(variant, parts));
        let policy = site.path(&format!("instructions-{variant}.json"));
        write(&policy, &variant_of(document, parts, on).to_string())?;
        let run = |repeats: u64| counted(weir, &policy, &file, repeats);
        let (few, many) = (run(REPEATS.0)?, run(REPEATS.1)?);
        let per_request = many.saturating_sub(few) as f64 / ((REPEATS.1 - REPEATS.0) * count) as f64;
        round.push((variant, per_request));
    }
    Ok(round)
}

/// The requests to replay: the mix, or a log's.
pub fn requests(log: Option<&PathBuf>) -> Result<Vec<Vec<u8>>, MeasureError> {
    log.map_or_else(|| Ok(mix::requests()), |log| super::access_log::read(log).map(|found| found.requests))
}

/// Instructions of one run.
fn counted(weir: &Path, policy: &Path, requests: &Path, repeats: u64) -> Result<u64, MeasureError> {
    weir_measure::interrupt::check_interrupted()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]).arg(weir).arg("replay");
    command.arg(requests).arg("--policy").arg(policy).args(["--json", "--repeat", &repeats.to_string()]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            MeasureError::Missing("valgrind is not installed: `apt-get install valgrind` does it".into())
        }
        _ => MeasureError::program("valgrind", error.to_string()),
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    match parse(&said).filter(|_| output.status.success()) {
        Some(count) => Ok(count),
        None => Err(MeasureError::program("valgrind", format!("{}\n{}", output.status, said.trim_end()))),
    }
}

/// `==7== I   refs:      1,234`
fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains(MARK) && line.contains(" I "))?;
    line.split(MARK).nth(1)?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valgrinds_summary_is_read() {
        assert_eq!(parse("==7== \n==7== I   refs:      1,234,567\n"), Some(1_234_567));
        assert_eq!(parse("==7== I refs:  12\n"), Some(12));
        assert_eq!(parse("valgrind: weir: command not found"), None);
    }
}
