//! The scenario `hostile`: what a request costs that was made to be dear.
//!
//! One nginx with Weir and the Core Rule Set at each paranoia level, with a threshold that no request reaches, so that
//! all of the work is done, and a bare one. A request is sent by itself and its cost is the CPU time of the worker from
//! before it until after its answer; means over a load would hide that the event loop stands still that long.

mod report;
pub mod requests;

use std::time::Duration;

use report::{HostileResults, HostileRow};
use requests::{Hostile, REQUESTS};

use crate::choice;
use crate::crs::variants::{weir, weir_policy};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::http::{Address, Client};
use weir_measure::interrupt::check_interrupted;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::statistics::median;

/// Paranoia levels.
const PARANOIA: [u8; 3] = [1, 2, 4];
/// A score that no request reaches.
const THRESHOLD: u32 = 1_000_000;
/// How often each request is sent; the first time does not count.
const TIMES: u64 = 10;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a worker takes to put away an answered request.
const SETTLE: Duration = Duration::from_millis(3);

/// Runs it. With `only`, these requests.
pub fn run(site: &Site, only: &[String], host: Host) -> Result<HostileResults, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let bare = nginx::start_proxy(site, "nginx", NginxParts::default())?;
    let guarded = PARANOIA
        .iter()
        .map(|&paranoia| {
            let policy = weir_policy(&crate::crs::variants::packaged(paranoia, THRESHOLD)?);
            Ok((
                paranoia,
                weir(site, &format!("weir-pl{paranoia}"), &policy, "weir_apply crs;\n    weir_bounds open;")?,
            ))
        })
        .collect::<Result<Vec<_>, MeasureError>>()?;
    let mut number = 0;
    let mut rows = Vec::new();
    for hostile in choice::chosen(REQUESTS, only, "request", |hostile| hostile.name, |_| false)? {
        eprintln!("{}", hostile.name);
        let (bare_ms, bytes) = cost(&bare, hostile, &mut number)?;
        for (paranoia, server) in &guarded {
            let (ms, _) = cost(server, hostile, &mut number)?;
            rows.push(HostileRow { name: hostile.name.into(), paranoia: *paranoia, bytes, ms, bare_ms });
        }
    }
    let results = HostileResults { scenario: "hostile".into(), host, rows };
    print!("{}", results.text());
    Ok(results)
}

/// Median CPU time of the worker for one request in milliseconds, and the request's length.
fn cost(server: &Server, hostile: &Hostile, number: &mut u64) -> Result<(f64, usize), MeasureError> {
    let mut client = Client::new(Address::local(server.port)).patience(PATIENCE);
    let (mut spent, mut length) = (Vec::new(), 0);
    for time in 0..TIMES {
        check_interrupted()?;
        *number += 1;
        let bytes = hostile.bytes(*number);
        let before = server.cpu()?;
        let answer = client.exchange(&bytes)?;
        std::thread::sleep(SETTLE);
        let ms = server.cpu()?.since(before).run_ns as f64 / 1e6;
        if answer.status != 200 {
            let log = server.error_log();
            return Err(MeasureError::wrong(hostile.name, format!("was answered with {}:\n{log}", answer.status)));
        }
        if time > 0 {
            spent.push(ms);
        }
        length = bytes.len();
    }
    Ok((median(&spent), length))
}
