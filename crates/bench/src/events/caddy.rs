//! Caddy's admin API: a PATCH of one upstream's address, answered when the whole new
//! configuration runs. It closes the connection with every change, because the admin endpoint is
//! made anew too; over TCP, as it comes, because on a Unix socket it refuses connections meanwhile.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::contender::{Contender, Turn};
use super::stage::Stage;
use super::timings::Timings;
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, Retry, request};
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::write;

/// How long it may take to its first answer.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(50);

/// How many there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 10_000.0;

struct Caddy {
    _child: Child,
    client: Client,
    requests: [Vec<u8>; 2],
    next: usize,
}

/// Starts it with so many routes.
pub fn start(stage: &Stage<'_>, name: &'static str, routes: usize) -> Result<Box<dyn Contender>, MeasureError> {
    let program = stage.needs("caddy")?;
    let directory = stage.site.directory_of(name)?;
    let admin = weir_measure::port::free()?;
    let file = directory.join("caddy.json");
    let text = configuration(weir_measure::port::free()?, routes, &format!("127.0.0.1:{admin}"));
    write(&file, &text.to_string())?;
    let home = directory.to_string_lossy().into_owned();
    let mut child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: vec!["run".into(), "--config".into(), file.into_os_string()],
        environment: ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"].map(|name| (name, home.clone())).to_vec(),
        core: None,
        nice: stage.site.placement.nice,
        output: directory.join("caddy.out"),
    })?;
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect(("127.0.0.1", admin)).is_err() {
        child.expect_running()?;
        if Instant::now() > deadline {
            return Err(MeasureError::program(
                "caddy",
                format!("no admin API after {START_LIMIT:?}: {}", child.said()),
            ));
        }
        std::thread::sleep(POLL);
    }
    // Which route: one in the middle. Two addresses by turns, so that each request changes something.
    let path = format!("/config/apps/http/servers/s/routes/{}/handle/0/upstreams/0/dial", routes / 2);
    let host = format!("127.0.0.1:{admin}");
    let requests =
        ["\"127.0.0.1:2\"", "\"127.0.0.1:3\""].map(|body| request("PATCH", &path, &host, "application/json", body));
    let client = Client::new(Address::local(admin)).retry(Retry::Always);
    Ok(Box::new(Caddy { _child: child, client, requests, next: 0 }))
}

impl Contender for Caddy {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            check_interrupted()?;
            self.next += 1;
            let before = Instant::now();
            let answer = self.client.exchange(&self.requests[self.next % self.requests.len()])?;
            timings.push(before.elapsed());
            if answer.status != 200 {
                let words = String::from_utf8_lossy(&answer.body).into_owned();
                return Err(MeasureError::wrong("caddy", format!("answered {}: {words:.500}", answer.status)));
            }
        }
        timings.end().map(Turn::from).ok_or_else(|| MeasureError::wrong("caddy", "answered nothing in its time"))
    }
}

fn configuration(port: u16, routes: usize, admin: &str) -> Value {
    let route = |number: usize| {
        json!({
            "match": [{"path": [format!("/r{number}/*")]}],
            "handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": "127.0.0.1:1"}]}],
        })
    };
    json!({
        "admin": {"listen": admin, "config": {"persist": false}},
        "logging": {"logs": {"default": {"level": "ERROR"}}},
        "apps": {"http": {"servers": {"s": {
            "listen": [format!("127.0.0.1:{port}")],
            "automatic_https": {"disable": true},
            "routes": (0..routes).map(route).collect::<Vec<_>>(),
        }}}},
    })
}
