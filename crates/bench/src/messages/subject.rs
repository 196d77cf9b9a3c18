//! The servers: Weir, nginx with nchan and bare, Mosquitto and NATS, all on a port of 127.0.0.1.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dialect::PATH;
use crate::events::nginx::{self, Directives, WORKERS};
use crate::events::policy::put;
use crate::events::stage::Stage;
use crate::events::weir::{control, runtime, transact};
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client};
use weir_measure::interrupt::check_interrupted;
use weir_measure::server::Server;
use weir_measure::site::write;

/// Connections of a worker: subscribers are not divided evenly.
const CONNECTIONS: u32 = 16_384;
/// How long a broker may take to its port, and nginx to its last worker.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(20);
/// The header field that tells the worker of a connection.
pub const WORKER: &str = "X-Weir";

/// The id of the topics.
pub const SET: &str = "all";

/// A running server.
pub trait Subject {
    /// The processes that do its work.
    fn processes(&self) -> Vec<u32>;
    /// Its port on 127.0.0.1.
    fn port(&self) -> u16;
}

/// nginx; beside a gateway, control.
struct Nginx {
    server: Server,
    _control: Option<Child>,
}

impl Subject for Nginx {
    fn processes(&self) -> Vec<u32> {
        self.server.workers()
    }

    fn port(&self) -> u16 {
        self.server.port
    }
}

struct Broker {
    child: Child,
    port: u16,
}

impl Subject for Broker {
    fn processes(&self) -> Vec<u32> {
        vec![self.child.id()]
    }

    fn port(&self) -> u16 {
        self.port
    }
}

/// A gateway with a route of messages of which nothing is kept; it never pings.
pub fn weir(stage: &Stage<'_>, name: &str) -> Result<Box<dyn Subject>, MeasureError> {
    weir_with(stage, name, &[]).map(|(subject, _)| subject)
}

/// The same with more resources, and its runtime directory.
pub fn weir_with(
    stage: &Stage<'_>,
    name: &str,
    more: &[(String, Value)],
) -> Result<(Box<dyn Subject>, PathBuf), MeasureError> {
    stage.site.weir_module()?;
    let (runtime, directory) = (runtime(stage, name)?, stage.site.directory_of(name)?);
    // Shared memory that nobody uses here is swept once a second, and would count as the subscribers'.
    let zones = ["nonce", "collections", "rate_limit"].map(|name| format!("  weir_{name}_zone 1m;\n")).concat();
    let http = format!("  weir_runtime {};\n{zones}", runtime.display());
    let block = format!("    weir_gateway on;\n    add_header {WORKER} \"$weir_worker\" always;\n");
    let server = start_nginx(stage, name, "", &http, &block)?;
    let (control, socket) = control(stage.seats.hub, stage.site.placement.nice, &directory, &runtime)?;
    let documents = [
        (format!("/topics/{SET}"), json!({"topics": ["#"]})),
        ("/sites/all".to_owned(), json!({"hosts": ["*"]})),
        (
            "/routes/live".to_owned(),
            json!({"site": "all", "path": "/live", "messages": {"topics": SET, "publish": true, "ping": "1h"}}),
        ),
    ];
    transact(&mut Client::new(Address::Unix(socket)), &put(&[&documents, more].concat()))?;
    Ok((Box::new(Nginx { server, _control: Some(control) }), runtime))
}

/// nginx with nchan, as it is configured by default but for the shared memory, which its subscribers need.
pub fn nchan(stage: &Stage<'_>, name: &str) -> Result<Box<dyn Subject>, MeasureError> {
    let module = stage.site.nginx_modules(&["ngx_nchan_module.so"])?.remove(0);
    let block = format!(
        "    location = {PATH} {{\n      nchan_pubsub;\n      nchan_channel_id t;\n\
         \x20     nchan_subscriber_first_message newest;\n    }}\n"
    );
    let main = format!("load_module {};\n", module.display());
    let server = start_nginx(stage, name, &main, "  nchan_shared_memory_size 256m;\n", &block)?;
    Ok(Box::new(Nginx { server, _control: None }))
}

/// nginx alone.
pub fn bare_nginx(stage: &Stage<'_>, name: &str) -> Result<Box<dyn Subject>, MeasureError> {
    let block = "    client_header_timeout 1h;\n    location / { return 200; }\n";
    let server = start_nginx(stage, name, "", "", block)?;
    Ok(Box::new(Nginx { server, _control: None }))
}

fn start_nginx(stage: &Stage<'_>, name: &str, main: &str, http: &str, block: &str) -> Result<Server, MeasureError> {
    let port = weir_measure::port::free()?;
    let main = format!("{main}{}", stage.seats.directive());
    let http = format!("{http}  server {{\n    listen 127.0.0.1:{port} reuseport;\n{block}  }}\n");
    let directives = Directives { main, http, connections: CONNECTIONS, ..Directives::default() };
    let server = nginx::start(stage.site, name, port, &[], &directives)?;
    // It serves as soon as one worker does.
    let deadline = Instant::now() + START_LIMIT;
    while server.workers().len() < WORKERS {
        check_interrupted()?;
        if Instant::now() > deadline {
            return Err(MeasureError::program("nginx", format!("fewer than {WORKERS} workers after {START_LIMIT:?}")));
        }
        std::thread::sleep(POLL);
    }
    Ok(server)
}

/// Mosquitto; it is one process.
pub fn mosquitto(stage: &Stage<'_>, name: &str) -> Result<Box<dyn Subject>, MeasureError> {
    // SAFETY: geteuid only reads a number of the process.
    let user = if unsafe { libc::geteuid() } == 0 { "user root\n" } else { "" };
    let file = stage.site.directory_of(name)?.join("mosquitto.conf");
    broker(stage, "mosquitto", stage.seats.hub, &file, |port| {
        format!("listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type error\n{user}")
    })
}

/// NATS, on both cores; it never pings.
pub fn nats(stage: &Stage<'_>, name: &str) -> Result<Box<dyn Subject>, MeasureError> {
    let file = stage.site.directory_of(name)?.join("nats.conf");
    broker(stage, "nats-server", None, &file, |port| format!("listen: 127.0.0.1:{port}\nping_interval: \"1h\"\n"))
}

fn broker(
    stage: &Stage<'_>,
    name: &str,
    core: Option<usize>,
    file: &Path,
    configuration: impl Fn(u16) -> String,
) -> Result<Box<dyn Subject>, MeasureError> {
    let program = stage.needs(name)?;
    let port = weir_measure::port::free()?;
    write(file, &configuration(port))?;
    let mut child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: vec!["-c".into(), file.as_os_str().to_owned()],
        environment: Vec::new(),
        core,
        nice: stage.site.placement.nice,
        output: file.with_extension("out"),
    })?;
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        check_interrupted()?;
        child.expect_running()?;
        if Instant::now() > deadline {
            let words = format!("no port after {START_LIMIT:?}: {}", child.said());
            return Err(MeasureError::program(name, words));
        }
        std::thread::sleep(POLL);
    }
    Ok(Box::new(Broker { child, port }))
}
