//! The services that the gateways ask, each a process of its own beside the origin.

use std::ffi::OsString;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::Site;

/// The words with which a path makes the first and the second service refuse.
pub const WORDS: [&str; 2] = ["/refused-by-first", "/refused-by-second"];
/// How long a service may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How often that is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Two services: a side engine and a semantic cluster, where a gateway asks both.
#[derive(Debug)]
pub struct Services {
    /// Their ports.
    pub ports: [u16; 2],
    _processes: [Child; 2],
}

impl Services {
    /// Starts them. `when` they answer is `now`, `never`, or a number of milliseconds.
    pub fn start(site: &Site, when: &str) -> Result<Self, MeasureError> {
        let ports = [weir_measure::port::free()?, weir_measure::port::free()?];
        let start = |at: usize| process(site, ports[at], when, WORDS[at]);
        Ok(Self { ports, _processes: [start(0)?, start(1)?] })
    }
}

fn process(site: &Site, port: u16, when: &str, word: &str) -> Result<Child, MeasureError> {
    let program = std::env::current_exe().map_err(MeasureError::file("/proc/self/exe"))?;
    let program = program.with_file_name("weir-bench-inspector");
    let mut child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: [port.to_string().as_str(), when, word].map(OsString::from).into(),
        environment: Vec::new(),
        core: site.placement.load,
        nice: site.placement.nice,
        output: site.path(&format!("inspector-{port}.out")),
    })?;
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        check_interrupted()?;
        child.expect_running()?;
        if Instant::now() > deadline {
            return Err(MeasureError::program("weir-bench-inspector", format!("no port after {START_LIMIT:?}")));
        }
        std::thread::sleep(POLL);
    }
    Ok(child)
}
