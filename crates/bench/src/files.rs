//! The scenario `files`: what large files cost a gateway that names them, in memory and in time.
//!
//! Two gateways with eight workers each and the same policy stand side by side. Of one, the list has a million addresses
//! and the geographic database 60 MB; of the other, both are tiny. Changes alternate between them, so the difference is
//! what the large files add to a change that does not concern them.

use std::fmt::Write as _;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_measure::addresses;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::interrupt::check_interrupted;
use weir_measure::process::Footprint;
use weir_measure::site::Site;
use weir_measure::statistics::median;
use weir_policy::mmdb;

use crate::events::policy::PolicySize;
use crate::events::stage::Stage;
use crate::events::weir::{Weir, transact};
use crate::rounds::Schedule;

/// Workers of each gateway.
const WORKERS: usize = 8;
/// Addresses of the large list.
const ENTRIES: usize = 1_000_000;
/// Networks of the large database, each with some 45 nodes of its own.
const NETWORKS: u64 = 170_000;
/// Changes of each kind in a round.
const CHANGES: u64 = 20;

/// What was measured.
#[derive(Debug, Serialize)]
pub struct FilesResults {
    scenario: String,
    host: Host,
    list_entries: usize,
    list_bytes: u64,
    database_bytes: u64,
    workers: usize,
    rows: Vec<FilesRow>,
}

/// One gateway.
#[derive(Debug, Serialize)]
struct FilesRow {
    name: String,
    /// Proportional set size of control, KiB.
    control_pss_kib: u64,
    /// Of all workers together, KiB.
    workers_pss_kib: u64,
    /// The part of it that is not of mapped files: heaps, stacks, shared memory.
    workers_own_kib: u64,
    /// Median time of a change of a route until all workers have it, milliseconds.
    route_ms: f64,
    /// Of a change of a policy beside the files, which is compiled.
    policy_ms: f64,
    /// Of a refresh of the list with another line.
    list_refresh_ms: f64,
    /// Of a refresh of the database with another network.
    database_refresh_ms: f64,
}

struct Case {
    name: &'static str,
    weir: Weir,
    list: PathBuf,
    database: PathBuf,
    entries: usize,
    networks: u64,
    times: [Vec<f64>; 4],
    next: u64,
}

/// Runs it.
pub fn run(site: &Site, schedule: Schedule, host: Host) -> Result<FilesResults, MeasureError> {
    let stage = Stage::new(site);
    let mut cases =
        [Case::start(&stage, "files-small", 10, 10)?, Case::start(&stage, "files-large", ENTRIES, NETWORKS)?];
    for round in 0..u64::from(schedule.rounds) {
        check_interrupted()?;
        eprintln!("round {} of {}", round + 1, schedule.rounds);
        for case in &mut cases {
            case.refresh()?;
        }
        for _ in 0..CHANGES {
            for case in &mut cases {
                case.change()?;
            }
        }
    }
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    let large = &cases[1];
    let results = FilesResults {
        scenario: "files".into(),
        host,
        list_entries: ENTRIES,
        list_bytes: bytes(&large.list),
        database_bytes: bytes(&large.database),
        workers: WORKERS,
        rows: cases.iter().map(Case::row).collect::<Result<_, _>>()?,
    };
    print!("{}", results.text());
    Ok(results)
}

impl Case {
    fn start(stage: &Stage<'_>, name: &'static str, entries: usize, networks: u64) -> Result<Self, MeasureError> {
        let weir = Weir::start_empty(stage, name, PolicySize { members: 0, sites: 0, routes: 0 }, WORKERS)?;
        let directory = stage.site.directory_of(name)?;
        let (list, database) = (directory.join("list.txt"), directory.join("geo.mmdb"));
        let case = Self { name, weir, list, database, entries, networks, times: Default::default(), next: 0 };
        case.write_list()?;
        case.write_database()?;
        let body = serde_json::json!({"changes": [
            {"method": "PUT", "path": "/settings", "body": {"geo": {"country": case.database, "refresh": "manual"}}},
            {"method": "PUT", "path": "/lists/big", "body": {"kind": "addresses", "file": case.list, "refresh": "manual"}},
            {"method": "PUT", "path": "/policies/waf", "body": case.policy()},
            {"method": "PUT", "path": "/sites/all", "body": {"hosts": ["*"], "policies": ["waf"]}},
            {"method": "PUT", "path": "/routes/all", "body": case.route()},
        ]});
        transact(&mut case.weir.client(), &body.to_string())?;
        Ok(case)
    }

    fn policy(&self) -> serde_json::Value {
        let path = format!("http.request.uri.path eq \"/{}\"", self.next);
        serde_json::json!({"rules": [
            {"id": "listed", "when": "ip.src in $big", "action": "block"},
            {"id": "abroad", "when": "ip.src.country eq \"KP\"", "action": "block"},
            {"id": "path", "when": path, "action": "block"},
        ]})
    }

    fn route(&self) -> serde_json::Value {
        serde_json::json!({"site": "all", "priority": self.next % 1_000, "respond": {"status": 200, "body": "ok"}})
    }

    fn write_list(&self) -> Result<(), MeasureError> {
        let mut text = format!("10.{}.{}.0/24\n", self.next / 256 % 256, self.next % 256);
        for address in addresses::list(self.entries) {
            let _ = writeln!(text, "{address}");
        }
        weir_measure::site::write(&self.list, &text)
    }

    fn write_database(&self) -> Result<(), MeasureError> {
        let mut writer = mmdb::Writer::new("Bench-Country");
        // Multiples of an odd number spread over all networks.
        let network = |n: u64| Ipv6Addr::from_bits(u128::from((n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 64);
        for n in (0..self.networks).chain([self.networks + self.next]) {
            let country = addresses::country(n as u32).map(char::from).iter().collect();
            let record = mmdb::Record { country, continent: "EU".into(), asnum: 0 };
            let network = format!("{}/64", network(n)).parse();
            writer.insert(network.map_err(|error| MeasureError::wrong(self.name, format!("{error}")))?, record);
        }
        writer.write(&self.database).map_err(MeasureError::file(&self.database))
    }

    fn change(&mut self) -> Result<(), MeasureError> {
        self.next += 1;
        self.time(0, &serde_json::json!([{"method": "PUT", "path": "/routes/all", "body": self.route()}]), None)?;
        self.time(1, &serde_json::json!([{"method": "PUT", "path": "/policies/waf", "body": self.policy()}]), None)
    }

    fn refresh(&mut self) -> Result<(), MeasureError> {
        self.next += 1;
        self.write_list()?;
        self.time(2, &serde_json::json!([]), Some("/lists/big"))?;
        self.write_database()?;
        self.time(3, &serde_json::json!([]), Some("/settings"))
    }

    fn time(&mut self, kind: usize, changes: &serde_json::Value, refresh: Option<&str>) -> Result<(), MeasureError> {
        // A file that was written just now is read once it has been at rest for a moment.
        std::thread::sleep(Duration::from_millis(if refresh.is_some() { 100 } else { 1 }));
        let refreshed: Vec<&str> = refresh.into_iter().collect();
        let body = serde_json::json!({"changes": changes, "refresh": refreshed}).to_string();
        let began = Instant::now();
        transact(&mut self.weir.client(), &body)?;
        self.times[kind].push(began.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }

    fn row(&self) -> Result<FilesRow, MeasureError> {
        let workers: Vec<Footprint> =
            self.weir.nginx.workers().into_iter().map(Footprint::of).collect::<Result<_, _>>()?;
        let [route_ms, policy_ms, list_refresh_ms, database_refresh_ms] =
            [0, 1, 2, 3].map(|kind: usize| (median(&self.times[kind]) * 100.0).round() / 100.0);
        Ok(FilesRow {
            name: self.name.into(),
            control_pss_kib: Footprint::of(self.weir.control_pid())?.pss_kib,
            workers_pss_kib: workers.iter().map(|worker| worker.pss_kib).sum(),
            workers_own_kib: workers.iter().map(|worker| worker.pss_own_kib).sum(),
            route_ms,
            policy_ms,
            list_refresh_ms,
            database_refresh_ms,
        })
    }
}

impl FilesResults {
    fn text(&self) -> String {
        let mib = |kib: u64| kib as f64 / 1024.0;
        let mut text = format!(
            "{} entries ({:.1} MiB) and a database of {:.1} MiB, {} workers\n\
             gateway       control MiB  workers MiB  without files  route ms  policy ms  list ms  database ms\n",
            self.list_entries,
            mib(self.list_bytes / 1024),
            mib(self.database_bytes / 1024),
            self.workers
        );
        for row in &self.rows {
            let _ = writeln!(
                text,
                "{:<12} {:>12.1} {:>12.1} {:>14.1} {:>9.2} {:>10.2} {:>8.1} {:>12.1}",
                row.name,
                mib(row.control_pss_kib),
                mib(row.workers_pss_kib),
                mib(row.workers_own_kib),
                row.route_ms,
                row.policy_ms,
                row.list_refresh_ms,
                row.database_refresh_ms
            );
        }
        text
    }
}
