//! The shop under load: its databases, once for a run, and its three services, once for a fork.

use std::ffi::{OsStr, OsString};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::rows::{Agent, PLANTED, Row, whole};
use weir_measure::child::{Child, Launch, installed};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::interrupt::check_interrupted;
use weir_measure::process::{CpuTime, compilers_ns};
use weir_measure::site::{Site, write};
use weir_measure::wrk;

/// How long the databases, or a fork until its first order, may take. A JVM that weaves on a crowded machine is slow.
const START_LIMIT: Duration = Duration::from_secs(300);
/// How often that is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Lines that a service logs for each order: enough for a plugin of the log to be seen.
const LOG_LINES: usize = 10;
/// Options of the JVMs. A compiler's thread that ends takes its CPU time along, which is then part of the whole process's.
const JVM: [&str; 2] = ["-Xmx256m", "-XX:-UseDynamicNumberOfCompilerThreads"];
/// The load's script.
pub const SCRIPT: &str = "load-probe.lua";
/// Mean pause of a connection before an order, in milliseconds: 200 connections then send about 160 orders a second.
const PAUSE_MS: u32 = 1_200;
/// The same with pauses.
pub const PACED: &str = "load-probe-paced.lua";
/// The services, in the order of their start, and their main classes.
const SERVICES: [(&str, &str); 3] = [
    ("stock", "shop.stock.StockApplication"),
    ("order", "shop.order.OrderApplication"),
    ("gateway", "shop.gateway.Gateway"),
];

/// PostgreSQL, with a business and a shadow database for each row, and Redis.
#[derive(Debug)]
pub struct Stores {
    _script: Child,
    postgresql: u16,
    redis: u16,
}

impl Stores {
    /// Starts them. [`MeasureError::Missing`] if one is not installed.
    pub fn start(site: &Site) -> Result<Self, MeasureError> {
        for program in ["java", "psql", "redis-server"] {
            if installed(program).is_none() {
                return Err(MeasureError::Missing(format!("{program} is not installed: run scripts/setup.sh probe")));
            }
        }
        let script = format!("{}{}", include_str!("../../../../bench/load/probe.lua"), wrk::report_of(wrk::MIX));
        write(&site.path(SCRIPT), &script)?;
        write(&site.path(PACED), &format!("PAUSE_MS = {PAUSE_MS}\n{script}"))?;
        // Not below the run's own directory, which the user postgres may not enter.
        let directory = whole(Path::new("probe/shop/target"))?.join("stores");
        let ready = directory.join("stores.env");
        let _ = std::fs::remove_file(&ready);
        let mut script = Child::start(Launch {
            program: OsStr::new("probe/shop/stores.sh"),
            arguments: vec![directory.into()],
            environment: Vec::new(),
            core: None,
            nice: site.placement.nice,
            output: site.path("stores.out"),
        })?;
        wait("the databases", || {
            script.expect_running()?;
            Ok(ready.exists())
        })?;
        let text = std::fs::read_to_string(&ready).map_err(MeasureError::file(&ready))?;
        let port = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
            value.ok_or_else(|| MeasureError::program("stores.sh", format!("wrote no {name}: {text}")))
        };
        Ok(Self { postgresql: port("PG_PORT")?, redis: port("REDIS_PORT")?, _script: script })
    }

    fn url(&self, database: &str) -> String {
        format!("jdbc:postgresql://127.0.0.1:{}/{database}?user=shop", self.postgresql)
    }

    /// Makes the row's databases anew: no fork finds the tables that earlier ones have filled.
    fn empty(&self, row: &Row) -> Result<(), MeasureError> {
        for (database, template) in databases(row).iter().zip(["shop", "shop_shadow"]) {
            self.ask("postgres", &format!("drop database if exists \"{database}\" with (force)"))?;
            self.ask("postgres", &format!("create database \"{database}\" template {template}"))?;
        }
        Ok(())
    }

    /// How many orders have been written to the row's business and shadow databases.
    pub fn orders(&self, row: &Row) -> Result<[u64; 2], MeasureError> {
        let count = |database: &str| {
            let text = self.ask(database, "select last_value from orders_id_seq")?;
            text.trim().parse().map_err(|_| MeasureError::program("psql", text))
        };
        let [business, shadow] = databases(row);
        Ok([count(&business)?, count(&shadow)?])
    }

    fn ask(&self, database: &str, sql: &str) -> Result<String, MeasureError> {
        let port = self.postgresql.to_string();
        let arguments = ["-h", "127.0.0.1", "-p", &port, "-U", "shop", "-Atqc", sql, database];
        let output = Command::new("psql").args(arguments).output();
        let output = output.map_err(|error| MeasureError::program("psql", error.to_string()))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(MeasureError::program("psql", String::from_utf8_lossy(&output.stderr)))
        }
    }
}

/// The row's business and shadow database.
fn databases(row: &Row) -> [String; 2] {
    ["shop", "shadow"].map(|kind| format!("{kind}-{}", row.name))
}

/// The three JVMs of a row.
#[derive(Debug)]
pub struct Fork {
    services: Vec<Child>,
    directory: PathBuf,
    /// Port of the gateway.
    pub gateway: u16,
    /// From the start of the JVMs to the first answered order.
    pub startup: Duration,
}

/// What a probe writes about its local API.
#[derive(Debug, Deserialize)]
struct Endpoint {
    port: u16,
    token: String,
}

impl Fork {
    /// Starts the services with the row's agent and waits for the first order.
    pub fn start(site: &Site, stores: &Stores, row: &Row) -> Result<Self, MeasureError> {
        let jar = whole(Path::new("probe/shop/target/shop.jar"))?;
        let directory = site.directory_of(&format!("probe-{}", row.name))?;
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(directory.join("run")).map_err(MeasureError::file(&directory))?;
        stores.empty(row)?;
        let [database, _] = databases(row);
        let ports = [weir_measure::port::free()?, weir_measure::port::free()?, weir_measure::port::free()?];
        let config = directory.join("probe.json");
        write(&config, &configuration(stores, ports, row)?)?;
        let mut fork = Self { services: Vec::new(), directory, gateway: ports[2], startup: Duration::ZERO };
        let began = Instant::now();
        for ((name, class), port) in SERVICES.into_iter().zip(ports) {
            let mut arguments = JVM.map(str::to_owned).to_vec();
            arguments.extend(row.agent.options()?);
            arguments.extend([format!("-Dloader.main={class}"), "-jar".into(), jar.display().to_string()]);
            fork.services.push(Child::start(Launch {
                program: OsStr::new("java"),
                arguments: arguments.into_iter().map(OsString::from).collect(),
                environment: vec![
                    ("SHOP_PORT", port.to_string()),
                    ("STOCK_PORT", ports[0].to_string()),
                    ("ORDER_PORT", ports[1].to_string()),
                    ("SHOP_DB", stores.url(&database)),
                    ("SHOP_REDIS", format!("redis://127.0.0.1:{}", stores.redis)),
                    ("SHOP_LOG", fork.directory.join(format!("{name}.log")).display().to_string()),
                    ("SHOP_LOG_LINES", LOG_LINES.to_string()),
                    ("WEIR_PROBE_APP", name.to_owned()),
                    ("WEIR_PROBE_CONFIG", config.display().to_string()),
                    ("WEIR_PROBE_DIR", fork.registrations().display().to_string()),
                ],
                core: None,
                nice: site.placement.nice,
                output: fork.directory.join(format!("{name}.out")),
            })?);
            // One after the other: Dubbo's client of a service that does not listen yet may only try again after a minute.
            fork.wait(row, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        }
        fork.wait(row, |fork| fork.get("/order").is_ok())?;
        fork.startup = began.elapsed();
        Ok(fork)
    }

    fn wait(&mut self, row: &Row, ready: impl Fn(&Self) -> bool) -> Result<(), MeasureError> {
        wait(row.name, || {
            self.services.iter_mut().try_for_each(Child::expect_running)?;
            Ok(ready(self))
        })
    }

    /// Says to each probe what the row wants of it.
    pub fn prepare(&mut self, row: &Row) -> Result<(), MeasureError> {
        let command = match row.agent {
            Agent::Probe(command) => command,
            Agent::Planted => "/v1/arm",
            _ => return Ok(()),
        };
        for service in &self.services {
            let path = self.registrations().join(format!("{}.json", service.id()));
            let text = std::fs::read_to_string(&path).map_err(MeasureError::file(&path))?;
            let Endpoint { port, token } = serde_json::from_str(&text)
                .map_err(|error| MeasureError::wrong(row.name, format!("{}: {error}", path.display())))?;
            let head = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n");
            let answer =
                Client::new(Address::local(port)).exchange(format!("POST {command} HTTP/1.1\r\n{head}").as_bytes())?;
            if !(200..300).contains(&answer.status) {
                let why = String::from_utf8_lossy(&answer.body).into_owned();
                return Err(MeasureError::wrong(row.name, format!("{command}: {} {why}", answer.status)));
            }
        }
        Ok(())
    }

    /// Where its probes register.
    pub fn registrations(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// CPU time of the services so far, less their JIT compilers', in nanoseconds.
    pub fn cpu_ns(&self) -> Result<u64, MeasureError> {
        self.services.iter().try_fold(0, |sum, it| {
            let all = CpuTime::of(it.id())?;
            Ok(sum + (all.user_ns + all.system_ns).saturating_sub(compilers_ns(it.id())?))
        })
    }

    /// Bytes that their live threads have allocated.
    pub fn allocated(&self) -> Result<u64, MeasureError> {
        let text = self.get("/allocated")?;
        text.trim().parse().map_err(|_| MeasureError::wrong("the shop", format!("/allocated: {text}")))
    }

    /// The last warning or error in each service's log.
    pub fn said(&self) -> String {
        let last = |(name, _)| {
            let text = std::fs::read_to_string(self.directory.join(format!("{name}.log"))).unwrap_or_default();
            let line = text.lines().rfind(|line| line.contains(" ERROR ") || line.contains(" WARN "))?.to_owned();
            Some(format!("{name}.log: {line}"))
        };
        SERVICES.into_iter().filter_map(last).collect::<Vec<_>>().join("; ")
    }

    /// Sees whether LinkAgent redirects a shadow order's log lines.
    pub fn check(&mut self, row: &Row) -> Result<(), MeasureError> {
        if let Agent::Link(_) = row.agent {
            let bytes = "GET /order HTTP/1.1\r\nHost: localhost\r\nbaggage: weir.shadow=1\r\n\r\n";
            Client::new(Address::local(self.gateway)).exchange(bytes.as_bytes())?;
            let lines = std::fs::read_to_string(self.directory.join("order.log.shadow")).unwrap_or_default();
            if lines.lines().count() != LOG_LINES {
                let message = format!("the log of one shadow order should have {LOG_LINES} lines, but has: {lines:?}");
                return Err(MeasureError::wrong(row.name, message));
            }
        }
        Ok(())
    }

    fn get(&self, path: &str) -> Result<String, MeasureError> {
        let answer = Client::new(Address::local(self.gateway)).exchange(&request("GET", path, "localhost", "", ""))?;
        match answer.status {
            200 => Ok(String::from_utf8_lossy(&answer.body).into_owned()),
            status => Err(MeasureError::wrong("the shop", format!("{path} was answered with {status}"))),
        }
    }
}

/// The probe's file.
fn configuration(stores: &Stores, [stock, order, _]: [u16; 3], row: &Row) -> Result<String, MeasureError> {
    let [business, shadow] = databases(row).map(|database| stores.url(&database));
    let shadow = serde_json::json!({"url": shadow, "user": "shop", "password": ""});
    // Logback opens no file twice, and the planted plugin writes to `.shadow`.
    let (plugins, suffix) = match row.agent {
        Agent::Planted => {
            (serde_json::json!({PLANTED: whole(Path::new("probe/peers/target/linkagent.jar"))?}), ".shadow-probe")
        }
        _ => (serde_json::json!({}), ".shadow"),
    };
    let document = serde_json::json!({"plugins": plugins, "shadow": {
        "jdbc": [{"business": business, "shadow": shadow}],
        "logback": {"suffix": suffix},
        "redis": {"prefix": "shadow:"},
        "kafka": {"prefix": "shadow-"},
        "allow": [format!("127.0.0.1:{order}"), format!("127.0.0.1:{stock}")],
    }});
    Ok(document.to_string())
}

fn wait(what: &str, mut ready: impl FnMut() -> Result<bool, MeasureError>) -> Result<(), MeasureError> {
    let deadline = Instant::now() + START_LIMIT;
    while !ready()? {
        check_interrupted()?;
        if Instant::now() > deadline {
            return Err(MeasureError::program(what, format!("not ready after {START_LIMIT:?}")));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}
