//! Weir as its users run it: nginx with two workers and a gateway, and control beside it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::answered::applied;
use super::nginx::{self, Directives};
use super::policy::{self, Document, LOAD_CHUNK, MemberPlacement, PolicySize};
use super::seats::Seats;
use super::stage::Stage;
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::interrupt::check_interrupted;
use weir_measure::server::Server;

/// How long control may take to its first answer.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to answer: a transaction of thousands of routes takes seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(20);

/// A running gateway.
pub struct Weir {
    /// nginx, which goes first.
    pub nginx: Server,
    control: std::cell::RefCell<Child>,
    runtime: PathBuf,
    /// Socket of the control daemon.
    pub socket: PathBuf,
    /// Port of the gateway.
    pub port: u16,
    /// Size of its policy.
    pub size: PolicySize,
    /// The cores of the processes.
    pub seats: Seats,
    next: Cell<u64>,
}

impl Weir {
    /// Starts both and loads a policy of that size, whose members lie there.
    pub fn start(
        stage: &Stage<'_>,
        name: &str,
        size: PolicySize,
        place: MemberPlacement,
    ) -> Result<Self, MeasureError> {
        let weir = Self::start_empty(stage, name, size, 0)?;
        weir.load(&policy::documents(size, place))?;
        Ok(weir)
    }

    /// Starts both without a policy, with so many workers; 0 for two.
    pub fn start_empty(stage: &Stage<'_>, name: &str, size: PolicySize, workers: usize) -> Result<Self, MeasureError> {
        let runtime = runtime(stage, name)?;
        let port = weir_measure::port::free()?;
        let nginx = start_nginx(stage, name, port, &[], workers)?;
        let directory = stage.site.directory_of(name)?;
        let (control, socket) = control(stage.seats.hub, stage.site.placement.nice, &directory, &runtime)?;
        let control = std::cell::RefCell::new(control);
        Ok(Self { nginx, control, runtime, socket, port, size, seats: stage.seats, next: Cell::new(0) })
    }

    /// Process id of control.
    #[must_use]
    pub fn control_pid(&self) -> u32 {
        self.control.borrow().id()
    }

    /// A client of its API.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.address()).patience(PATIENCE)
    }

    /// Address of its API.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::Unix(self.socket.clone())
    }

    /// Number of the next change: no two rows make the same one.
    pub fn next(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    /// The longest time that a change has held a worker's event loop since the last call, microseconds.
    pub fn take_held_us(&self) -> Result<f64, MeasureError> {
        let region = newest_region(&self.runtime)?;
        let longest = region.slots().map(weir_bus::Slot::take_held_ns).max();
        Ok(longest.unwrap_or(0) as f64 / 1e3)
    }

    fn load(&self, documents: &[Document]) -> Result<(), MeasureError> {
        let mut client = self.client();
        for chunk in documents.chunks(LOAD_CHUNK) {
            transact(&mut client, &policy::put(chunk))?;
        }
        Ok(())
    }
}

/// Starts control with its files below a directory, and waits until it answers on its socket.
pub fn control(
    core: Option<usize>,
    nice: i32,
    directory: &Path,
    runtime: &Path,
) -> Result<(Child, PathBuf), MeasureError> {
    let socket = directory.join("control.sock");
    let paths = [("--state", directory.join("state")), ("--socket", socket.clone()), ("--files", directory.to_owned())];
    let mut arguments = vec!["--runtime".into(), runtime.as_os_str().to_owned(), "control".into()];
    paths.into_iter().for_each(|(name, path)| arguments.extend([name.into(), path.into_os_string()]));
    let mut control = Child::start(Launch {
        program: crate::weir::command()?.as_os_str(),
        arguments,
        environment: Vec::new(),
        core,
        nice,
        output: directory.join("control.out"),
    })?;
    let deadline = Instant::now() + START_LIMIT;
    let question = request("GET", "/healthz", "control", "", "");
    loop {
        check_interrupted()?;
        control.expect_running()?;
        let ask = || Client::new(Address::Unix(socket.clone())).patience(PATIENCE).exchange(&question);
        match socket.exists().then(ask) {
            Some(Ok(answer)) if answer.status == 200 => return Ok((control, socket)),
            Some(Ok(_) | Err(_)) | None => {}
        }
        if Instant::now() > deadline {
            let words = format!("does not answer on its socket within {START_LIMIT:?}: {}", control.said());
            return Err(MeasureError::program("weir control", words));
        }
        std::thread::sleep(POLL);
    }
}

/// Posts a transaction; it must be live in all workers.
pub fn transact(client: &mut Client, body: &str) -> Result<Duration, MeasureError> {
    let request = request("POST", "/api/v1/transactions", "control", "application/json", body);
    let before = Instant::now();
    let answer = client.exchange(&request)?;
    let took = before.elapsed();
    applied(&answer).map_err(|message| MeasureError::wrong("weir", message))?;
    Ok(took)
}

/// The directory that workers and control meet in, private to us as nginx wants it.
pub fn runtime(stage: &Stage<'_>, name: &str) -> Result<PathBuf, MeasureError> {
    stage.site.directory_of(&format!("{name}/run"))
}

/// nginx with the module and one server that is a gateway, which tells worker and revision in a header.
pub fn start_nginx(
    stage: &Stage<'_>,
    name: &str,
    port: u16,
    environment: &[(&'static str, String)],
    workers: usize,
) -> Result<Server, MeasureError> {
    stage.site.weir_module()?;
    let http = format!(
        "  weir_runtime {};\n  server {{\n    listen 127.0.0.1:{port} reuseport;\n    weir_gateway on;\n\
         \x20   add_header X-Weir \"$weir_worker $weir_gateway_revision\" always;\n  }}\n",
        runtime(stage, name)?.display()
    );
    let environment_names = environment.iter().map(|(name, _)| format!("env {name};\n"));
    let main = environment_names.chain([stage.seats.directive().to_owned()]).collect();
    nginx::start(stage.site, name, port, environment, &Directives { main, http, workers, ..Directives::default() })
}

/// The region of the running nginx.
pub fn newest_region(runtime: &std::path::Path) -> Result<weir_bus::Region, MeasureError> {
    let failed =
        |error: &dyn std::fmt::Display| MeasureError::program("bus", format!("{}: {error}", runtime.display()));
    let all = weir_bus::Region::list(runtime).map_err(|error| failed(&error))?;
    let newest = all.last().ok_or_else(|| failed(&"nginx has made no region there"))?;
    weir_bus::Region::open(runtime, *newest).map_err(|error| failed(&error))
}
