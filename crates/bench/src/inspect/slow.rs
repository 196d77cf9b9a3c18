//! Two slow services: how much longer a request takes about which both are asked.
//!
//! Requests below `/asked/` and others alternate on a few connections, and the difference of the medians is reported: what
//! the way to the origin takes is in both.

use std::time::Instant;

use serde::Serialize;

use super::service::Services;
use super::variants::{Terms, Variant};
use crate::choice::Skipped;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::site::Site;
use weir_measure::statistics::median;

/// How late the services answer, and how long the gateways wait if there is no answer, in milliseconds.
const SLOW_MS: u32 = 80;
/// Connections.
const CONNECTIONS: usize = 4;
/// Rounds among the rows, so that what else the machine does meets all of them.
const ROUNDS: usize = 4;
/// Requests below `/asked/` on each connection in a round.
const REQUESTS: usize = 20;
/// The first ones, which do not count: connections to the services are opened.
const WARM_UP: usize = 4;

/// A case: its name, when the services answer, and for how long they are waited for.
const CASES: [(&str, &str, u32); 2] = [("answered", "80", 1000), ("timed-out", "never", SLOW_MS)];

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowRow {
    /// The variant.
    pub name: String,
    /// `answered` after 80 ms, or `timed-out` after as long.
    pub case: &'static str,
    /// How much longer requests take than those about which nobody is asked: difference of the medians, milliseconds.
    pub added_ms: f64,
    /// The longest that one took, milliseconds.
    pub longest_ms: f64,
    /// How many there were.
    pub requests: usize,
}

/// Measures the variants that ask two services.
pub fn run(site: &Site, variants: &[&Variant], skipped: &mut Skipped) -> Result<Vec<SlowRow>, MeasureError> {
    let mut rows = Vec::new();
    for (case, when, deadline_ms) in CASES {
        let services = Services::start(site, when)?;
        let terms = Terms { deadline_ms, passes: true };
        let mut running = Vec::new();
        for variant in variants.iter().filter(|variant| variant.asks == 2) {
            let name = format!("{}-{case}", variant.name);
            let server = variant.start(site, &name, services.ports, terms);
            let Some(server) = skipped.unless_missing(&name, server)? else { continue };
            running.push((variant.name, server, Vec::new(), Vec::new()));
        }
        for round in 1..=ROUNDS {
            eprintln!("two slow services, {case}: round {round}/{ROUNDS}");
            for (_, server, asked, other) in &mut running {
                let times = times(server.port)?;
                asked.extend(times.0);
                other.extend(times.1);
            }
        }
        rows.extend(running.into_iter().map(|(name, _, asked, other)| SlowRow {
            name: name.to_owned(),
            case,
            added_ms: median(&asked) - median(&other),
            longest_ms: asked.iter().copied().fold(0.0, f64::max),
            requests: asked.len(),
        }));
    }
    Ok(rows)
}

/// Milliseconds of requests that ask and of others.
fn times(port: u16) -> Result<(Vec<f64>, Vec<f64>), MeasureError> {
    let one = move || -> Result<(Vec<f64>, Vec<f64>), MeasureError> {
        let mut client = Client::new(Address::local(port));
        let mut took = |path: &str, number: usize| -> Result<f64, MeasureError> {
            let bytes = request("GET", &format!("/{path}/{number}"), "www.example.com", "", "");
            let began = Instant::now();
            let answer = client.exchange(&bytes)?;
            match answer.status {
                200 => Ok(began.elapsed().as_secs_f64() * 1e3),
                status => Err(MeasureError::wrong(path, format!("answered with {status}"))),
            }
        };
        let pairs = (0..REQUESTS).map(|number| Ok((took("asked", number)?, took("other", number)?)));
        let pairs = pairs.collect::<Result<Vec<_>, MeasureError>>()?;
        Ok(pairs.into_iter().skip(WARM_UP).unzip())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().try_fold((Vec::new(), Vec::new()), |(mut asked, mut other), thread| {
            let (more_asked, more_other) = thread.join().expect("a client does not panic")?;
            asked.extend(more_asked);
            other.extend(more_other);
            Ok((asked, other))
        })
    })
}
