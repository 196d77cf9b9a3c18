//! The same page in other ways: over 1,024 connections, over HTTP/2, and at a given rate.
//!
//! In a closed loop the faster variant keeps its peers awake, and the slower one has to wake them. An equal rate lessens
//! this; what is left of it shows in the wake-ups, which are counted too.

use std::rc::Rc;

use super::counted;
use super::variants::{BASELINE, USUAL, packaged, weir, weir_policy};
use crate::report::GrowthRow;
use crate::rounds::{Contender, Schedule};
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::{Generator, Traffic};

/// A way of asking.
struct Way {
    /// Its name in the results, and the number that goes with it.
    of: &'static str,
    size: u32,
    connections: u32,
    generator: Generator,
}

/// The table; `size` is the number of connections, of streams, or of requests per second.
const WAYS: &[Way] = &[
    Way { of: "connections", size: 1024, connections: 1024, generator: Generator::Wrk },
    Way { of: "http2", size: 8, connections: 16, generator: Generator::H2load { streams: Some(8), rate: None } },
    rate(1_000),
    rate(4_000),
    rate(12_000),
];

const fn rate(size: u32) -> Way {
    Way { of: "rate", size, connections: 64, generator: Generator::H2load { streams: None, rate: Some(size) } }
}

/// Runs all of them with bare nginx and the usual row.
pub fn run(site: &Site, schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    let port = || weir_measure::port::free();
    let (bare_port, weir_port) = (port()?, port()?);
    let listen = |port: u16| format!("listen 127.0.0.1:{port} http2;\n");
    let bare = NginxParts { server: format!("    {}", listen(bare_port)), ..NginxParts::default() };
    let bare = Rc::new(nginx::start_proxy(site, "nginx-transport", bare)?);
    let apply = format!("weir_apply crs;\n    {}", listen(weir_port));
    let usual = Rc::new(weir(site, "weir-transport", &weir_policy(&packaged(1, 5)?), &apply)?);
    let mut rows = Vec::new();
    for Way { of, size, connections, generator } in WAYS {
        eprintln!("{of} {size}");
        let schedule = Schedule { connections: *connections, ..schedule };
        let contender = |name: &str, server: &Rc<Server>, http2_port| Contender {
            name: name.to_owned(),
            baseline: BASELINE.to_owned(),
            server: Rc::clone(server),
            traffic: Traffic {
                kind: Some("get"),
                generator: *generator,
                port: matches!(generator, Generator::H2load { streams: Some(_), .. }).then_some(http2_port),
                ..Traffic::default()
            },
        };
        let contenders = [contender(BASELINE, &bare, bare_port), contender(USUAL, &usual, weir_port)];
        let measured = counted(site, &contenders, schedule)?;
        rows.extend(measured.into_iter().map(|row| GrowthRow {
            of: (*of).to_owned(),
            size: *size as usize,
            worker_pss_kib: None,
            row,
        }));
    }
    Ok(rows)
}
