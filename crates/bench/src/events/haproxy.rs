//! HAProxy's runtime socket: `set server` on one connection in interactive mode. It changes a number
//! inside one process, under a lock that its threads share: no process is woken but it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use super::contender::{Contender, Turn};
use super::seats::Seats;
use super::stage::Stage;
use super::timings::Timings;
use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::write;

/// What it prints when it has done a command.
const PROMPT: &[u8] = b"\n> ";
/// How long it may take to its socket, and to an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often readiness is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How many there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 200_000.0;

struct HaProxy {
    _child: Child,
    seats: Seats,
    stream: UnixStream,
    servers: usize,
    next: usize,
}

/// Starts it with one backend of so many servers.
pub fn start(stage: &Stage<'_>, name: &'static str, servers: usize) -> Result<Box<dyn Contender>, MeasureError> {
    let program = stage.needs("haproxy")?;
    let directory = stage.site.directory_of(name)?;
    let (socket, file) = (directory.join("haproxy.sock"), directory.join("haproxy.cfg"));
    let text = format!(
        "global\n  nbthread 1\n  maxconn 1000\n  stats socket {} mode 600 level admin\n  stats timeout 1h\n\n\
         defaults\n  mode http\n  timeout connect 5s\n  timeout client 300s\n  timeout server 300s\n\n\
         frontend entry\n  bind 127.0.0.1:{}\n  default_backend b\n\n\
         backend b\n  balance roundrobin\n  server-template s {servers} 127.0.0.1:1\n",
        socket.display(),
        weir_measure::port::free()?
    );
    write(&file, &text)?;
    let mut child = Child::start(Launch {
        program: program.as_os_str(),
        arguments: vec!["-db".into(), "-f".into(), file.into_os_string()],
        environment: Vec::new(),
        core: stage.seats.hub,
        nice: stage.site.placement.nice,
        output: directory.join("haproxy.out"),
    })?;
    let stream = connect(&mut child, &socket)?;
    let mut started = HaProxy { _child: child, seats: stage.seats, stream, servers, next: 0 };
    started.command("prompt\n")?;
    Ok(Box::new(started))
}

fn connect(child: &mut Child, socket: &Path) -> Result<UnixStream, MeasureError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        child.expect_running()?;
        match UnixStream::connect(socket) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE)).map_err(MeasureError::file(socket))?;
                return Ok(stream);
            }
            Err(error) if Instant::now() > deadline => return Err(MeasureError::file(socket)(error)),
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

impl HaProxy {
    /// Sends a command; what it answers before the next prompt.
    fn command(&mut self, command: &str) -> Result<Vec<u8>, MeasureError> {
        let failed = |error: std::io::Error| MeasureError::program("haproxy", format!("`{}`: {error}", command.trim()));
        self.stream.write_all(command.as_bytes()).map_err(failed)?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 1024]);
        while !answer.ends_with(PROMPT) {
            match self.stream.read(&mut buffer).map_err(failed)? {
                0 => return Err(MeasureError::program("haproxy", "closed its runtime socket")),
                read => answer.extend_from_slice(&buffer[..read]),
            }
        }
        answer.truncate(answer.len() - PROMPT.len());
        Ok(answer)
    }

    fn change(&mut self) -> Result<Duration, MeasureError> {
        self.next += 1;
        let (server, weight) = (self.next % self.servers + 1, self.next % 100 + 1);
        let command = format!("set server b/s{server} weight {weight}\n");
        let before = Instant::now();
        let answer = self.command(&command)?;
        let took = before.elapsed();
        // It says something only if something is wrong.
        match answer.is_empty() {
            true => Ok(took),
            false => Err(MeasureError::wrong("haproxy", String::from_utf8_lossy(&answer).into_owned())),
        }
    }

    fn changes(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            let took = self.change()?;
            timings.push(took);
            check_interrupted()?;
        }
        let (server, weight) = (self.next % self.servers + 1, self.next % 100 + 1);
        let told = self.command(&format!("get weight b/s{server}\n"))?;
        if !told.starts_with(format!("{weight} ").as_bytes()) {
            let told = String::from_utf8_lossy(&told).into_owned();
            return Err(MeasureError::wrong("haproxy", format!("weight {weight} was set, and it says {told}")));
        }
        timings.end().map(Turn::from).ok_or_else(|| MeasureError::wrong("haproxy", "answered nothing in its time"))
    }
}

impl Contender for HaProxy {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        self.seats.as_client(|| self.changes(length))
    }
}
