//! The course of a soak.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::drive::Soak;
use super::gateway::{self, Gateway};
use super::verdict::{Finding, Weighing, compare, compare_rss};
use crate::variants;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::process::Footprint;
use weir_measure::server::Server;
use weir_measure::site::{Site, write_results};

/// Requests of a whole soak.
const REQUESTS: u64 = 3_000_000;
/// Reloads of a whole soak.
const RELOADS: u32 = 200;
/// Changes of the gateway in a generation.
const CHANGES: u64 = 2;
/// The first weighing comes after one part in this many.
const FIRST_PART: u32 = 10;
/// But not before this many reloads: until then two generations of the policy have not yet
/// found their places in the master's heap.
const FIRST_RELOADS: u32 = 8;
/// The last generation serves this many times a generation's share, is weighed, and serves
/// twice as many more.
const LONG_LIFE: u64 = 10;
/// Large blocks of malloc are mapped, and the end of the heap goes back to the system, so that what is resident is what
/// is in use. glibc by itself raises both thresholds to the largest block ever freed: after a reload that is a
/// geographic database of 10 MB, and from then on the heap grows to the most that requests ever had at a time, with
/// gaps, by megabytes over a million requests while not a byte leaks.
const MALLOC: &str = "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072";

#[derive(Serialize)]
struct Record<'r> {
    scenario: &'static str,
    host: Host,
    scale: f64,
    requests: u64,
    reloads: u32,
    changes: u64,
    seconds: f64,
    answers: &'r BTreeMap<String, u64>,
    weights: &'r BTreeMap<&'static str, Weighing>,
    findings: &'r [Finding],
}

/// Runs it; `Ok(false)` if something grew or was answered wrongly.
pub fn run(site: &Site, scale: f64, host: Host, output: Option<&Path>) -> Result<bool, MeasureError> {
    if !(scale > 0.0 && scale <= 100.0) {
        return Err(MeasureError::Usage(format!("--scale {scale}: a number above 0, at most 100")));
    }
    let reloads = ((f64::from(RELOADS) * scale) as u32).max(2 * FIRST_PART);
    let share = ((REQUESTS as f64 * scale) as u64 / u64::from(reloads)).max(1);
    let _origin = nginx::start_origin(site)?;
    let http2_port = weir_measure::port::free()?;
    let gateway_port = weir_measure::port::free()?;
    let server = start(site, http2_port, gateway_port)?;
    let gateway = Gateway::start(site, &server.directory, gateway_port)?;
    let mut soak = Soak::new(&server, site, http2_port, gateway);
    let started = Instant::now();
    let (weights, control) = course(&mut soak, reloads, share)?;
    let mut findings = compare("reloads", &weights["early"], &weights["late"]);
    findings.extend(compare("one worker", &weights["long life, early"], &weights["long life, late"]));
    findings.push(compare_rss("control", &control[0], &control[1]));
    findings.extend(soak.findings());
    let record = Record {
        scenario: "soak",
        host,
        scale,
        requests: soak.requests,
        reloads: soak.reloads,
        changes: soak.gateway.changes,
        seconds: started.elapsed().as_secs_f64().round(),
        answers: &soak.seen.answers,
        weights: &weights,
        findings: &findings,
    };
    conclude(&record, output)
}

/// Prints the findings and the count, and writes the record.
fn conclude(record: &Record<'_>, output: Option<&Path>) -> Result<bool, MeasureError> {
    for finding in record.findings {
        println!("{} {}", if finding.passed { "ok  " } else { "FAIL" }, finding.what);
    }
    let failed = record.findings.iter().filter(|finding| !finding.passed).count();
    println!("{} requests, {} reloads, {} changes", record.requests, record.reloads, record.changes);
    println!("{} passed, {failed} failed", record.findings.len() - failed);
    write_results(output, record)?;
    Ok(failed == 0)
}

/// nginx at four moments, and control at two.
type Weights = (BTreeMap<&'static str, Weighing>, [Footprint; 2]);

/// All generations.
fn course(soak: &mut Soak<'_>, reloads: u32, share: u64) -> Result<Weights, MeasureError> {
    let started = Instant::now();
    let first = (reloads / FIRST_PART).max(FIRST_RELOADS);
    let live = std::io::stderr().is_terminal();
    let mut weights = BTreeMap::new();
    let mut control = Vec::new();
    for generation in 1..=reloads {
        soak.generation(share, CHANGES, true)?;
        if generation == first {
            weights.insert("early", soak.weigh()?);
            control.push(soak.gateway.weigh()?);
        }
        let left = started.elapsed() / generation * (reloads - generation);
        if live || generation % (reloads / 10) == 0 {
            let (start, end) = if live { ("\r\x1b[K", "") } else { ("", "\n") };
            let left = (left.as_secs() / 60, left.as_secs() % 60);
            eprint!(
                "{start}{} requests, {generation} reloads, {} min {:02} s left{end}",
                soak.requests, left.0, left.1
            );
        }
    }
    if live {
        eprintln!();
    }
    weights.insert("late", soak.weigh()?);
    let control = [control[0], soak.gateway.weigh()?];
    soak.generation(share * LONG_LIFE, CHANGES, false)?;
    weights.insert("long life, early", soak.weigh()?);
    soak.generation(share * LONG_LIFE * 2, CHANGES, false)?;
    weights.insert("long life, late", soak.weigh()?);
    Ok((weights, control))
}

fn start(site: &Site, http2_port: u16, gateway_port: u16) -> Result<Server, MeasureError> {
    let mut parts = NginxParts { directory: site.directory_of("soak")?, ..NginxParts::default() };
    variants::weir_soak(site, &mut parts)?;
    parts.server.push_str(&format!("    listen 127.0.0.1:{http2_port} http2;\n"));
    parts.http.push_str(&gateway::server(gateway_port));
    parts.environment.push(("GLIBC_TUNABLES", MALLOC.to_owned()));
    nginx::start_proxy(site, "soak", parts)
}
