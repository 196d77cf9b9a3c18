//! `nginx -s reload` of as many servers as Weir has sites: how long until the first answer of the
//! new configuration, and until the last one of the old. nginx reads everything again, starts new
//! workers, gives them 100 ms, and only then asks the old ones to end: both serve meanwhile.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::contender::{Contender, Turn};
use super::nginx::{self, Directives};
use super::stage::Stage;
use super::timings::Figures;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client};
use weir_measure::interrupt::check_interrupted;
use weir_measure::server::Server;
use weir_measure::site::write;

/// Servers of the configuration, each with a location.
const SERVERS: usize = 1_000;
/// After so long without an answer of the old configuration there will be none.
const SETTLED: Duration = Duration::from_millis(250);
/// Longest duration of a reload.
const LIMIT: Duration = Duration::from_secs(20);
/// Pause between two questions: a reload has two cores to share with us.
const PAUSE: Duration = Duration::from_millis(1);

struct Reload {
    server: Server,
    generation: u64,
}

/// Starts nginx with the first generation of the configuration.
pub fn start(stage: &Stage<'_>, name: &'static str) -> Result<Box<dyn Contender>, MeasureError> {
    let port = weir_measure::port::free()?;
    let server = nginx::start(stage.site, name, port, &[], &block(port, 0))?;
    Ok(Box::new(Reload { server, generation: 0 }))
}

fn block(port: u16, generation: u64) -> Directives {
    let mut http = String::from("  server_names_hash_max_size 16384;\n");
    for number in 0..SERVERS {
        let _ = writeln!(
            http,
            "  server {{ listen 127.0.0.1:{port}; server_name site-{number}.example; \
             location / {{ return 200 \"{generation}\"; }} }}"
        );
    }
    Directives { http, ..Directives::default() }
}

/// When the first new answer came and when the last old one did.
struct ReloadTimes {
    first_new: Duration,
    last_old: Duration,
}

impl Reload {
    fn reload(&mut self) -> Result<ReloadTimes, MeasureError> {
        self.generation += 1;
        let configuration = self.server.directory.join(nginx::CONFIGURATION);
        write(&configuration, &nginx::render(&[], &block(self.server.port, self.generation)))?;
        let mut command = Command::new(weir_measure::nginx::binary());
        command.args(["-s", "reload", "-p"]).arg(&self.server.directory).arg("-c").arg(&configuration);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let mut running =
            command.spawn().map_err(|error| MeasureError::program("nginx -s reload", error.to_string()))?;
        let seen = self.watch(began);
        let status = running.wait().map_err(|error| MeasureError::program("nginx -s reload", error.to_string()))?;
        if !status.success() {
            return Err(MeasureError::program("nginx -s reload", status.to_string()));
        }
        seen
    }

    /// Asks on new connections until the old configuration has ended.
    fn watch(&self, began: Instant) -> Result<ReloadTimes, MeasureError> {
        let host = format!("site-{}.example", SERVERS / 2);
        let question = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes();
        let mut seen = ReloadTimes { first_new: Duration::ZERO, last_old: Duration::ZERO };
        loop {
            check_interrupted()?;
            // One that was accepted by an old worker as it ended is not answered: no answer, no count.
            let answer = Client::new(Address::local(self.server.port)).exchange(&question);
            let now = began.elapsed();
            if let Ok(answer) = answer {
                let new = answer.body == self.generation.to_string().as_bytes();
                match (new, seen.first_new.is_zero()) {
                    (false, _) => seen.last_old = now,
                    (true, true) => seen.first_new = now,
                    (true, false) => {}
                }
            }
            if !seen.first_new.is_zero() && now > seen.last_old.max(seen.first_new) + SETTLED {
                return Ok(seen);
            }
            if now > LIMIT {
                return Err(MeasureError::wrong("nginx-reload", format!("no new answer within {LIMIT:?}")));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Contender for Reload {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let began = Instant::now();
        let (mut live_ns, mut first_us) = (Vec::new(), 0.0);
        while live_ns.is_empty() || began.elapsed() < length {
            let seen = self.reload()?;
            live_ns.push(u64::try_from(seen.last_old.max(seen.first_new).as_nanos()).unwrap_or(u64::MAX));
            first_us += seen.first_new.as_secs_f64() * 1e6;
        }
        let (count, total) = (live_ns.len(), live_ns.iter().sum());
        let figures = Figures::of(live_ns, count as u64, Duration::from_nanos(total));
        let figures = figures.expect("at least one reload was made");
        Ok(Turn { first_new_us: Some(first_us / count as f64), ..Turn::from(figures) })
    }
}
