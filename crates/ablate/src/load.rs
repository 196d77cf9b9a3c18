//! What a stage is loaded with: our own driver, `wrk`, `h2load`, or whatever comes anyway.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::driver::{Driver, Slice};
use super::generator::{Generator, Program};
use super::stage::Stage;
use super::{access_log, mix};
use weir_measure::error::MeasureError;
use weir_measure::placement::Placement;
use weir_policy::counted;

/// Share of a slice that is spent on warming up before it, and its bounds in seconds.
const WARM_UP: (f64, f64, f64) = (0.25, 0.03, 1.0);
/// Warm-up of a process that was just started: connections to the origin, caches, automata that are
/// built as they are used. A reference that was warmer than its rivals cost 0.7 us less.
pub const FRESH_WARM_UP: Duration = Duration::from_millis(300);
/// Highest rate of a replay, in requests per second: what one thread can pace.
const MAX_RATE: f64 = 1e6;

/// The load that was chosen on the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LoadChoice {
    /// The request mix of [`mix`], or `GET` of the URL, by our own driver.
    #[default]
    Mix,
    /// `wrk`.
    Wrk,
    /// `h2load`, with HTTP/1.1.
    H2load,
    /// An access log, at a rate per second or as fast as answers come.
    Replay {
        /// The log.
        log: PathBuf,
        /// Requests per second.
        rate: Option<f64>,
    },
    /// Nothing: the gateway has traffic of its own.
    Live,
}

impl FromStr for LoadChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mix" => return Ok(Self::Mix),
            "wrk" => return Ok(Self::Wrk),
            "h2load" => return Ok(Self::H2load),
            "live" => return Ok(Self::Live),
            _ => {}
        }
        let Some(rest) = text.strip_prefix("replay:").filter(|rest| !rest.is_empty()) else {
            return Err("expected mix, wrk, h2load, live or replay:ACCESS_LOG[@RATE]".into());
        };
        let (log, rate) = match rest.rsplit_once('@') {
            // A file's name may have an @; what stands behind the last one is a rate only if it is a number.
            Some((log, rate)) if rate.parse::<f64>().is_ok() && !log.is_empty() => (log, Some(rate)),
            _ => (rest, None),
        };
        let number = |rate: &str| rate.parse::<f64>().ok().filter(|rate| (0.1..=MAX_RATE).contains(rate));
        match rate.map(number) {
            Some(None) => Err(format!("a rate is a number of requests per second from 0.1 to {MAX_RATE}")),
            Some(rate) => Ok(Self::Replay { log: log.into(), rate }),
            None => Ok(Self::Replay { log: log.into(), rate: None }),
        }
    }
}

/// The target of a load, and its size.
#[derive(Clone, Debug)]
pub struct Target {
    /// Host and path of the URL that was given.
    pub url: Option<Url>,
    /// Connections.
    pub connections: usize,
    /// Seconds of a slice.
    pub seconds: f64,
    /// Directory for scripts and output of generators.
    pub directory: PathBuf,
    /// Cores and priority of the processes.
    pub placement: Placement,
}

/// An `http://` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host with the port if it was given.
    pub host: String,
    /// Path and query.
    pub target: String,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("http://") else {
            return Err("a URL begins with http:// here; the load has no TLS".into());
        };
        let (host, target) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if host.is_empty() || rest.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(format!("{text:?} is not a URL such as http://127.0.0.1:8080/"));
        }
        Ok(Self { host: host.to_owned(), target: if target.is_empty() { "/".into() } else { target.to_owned() } })
    }
}

impl Url {
    /// The first address of the host.
    pub fn address(&self) -> Result<std::net::SocketAddr, MeasureError> {
        use std::net::ToSocketAddrs;
        let with_port = if self.host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            self.host.clone()
        } else {
            format!("{}:80", self.host)
        };
        let found =
            with_port.to_socket_addrs().map_err(|error| MeasureError::program(&self.host, error.to_string()))?;
        found.into_iter().next().ok_or_else(|| MeasureError::program(&self.host, "has no address"))
    }

    fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir-ablate\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n", self.target, self.host)
            .into_bytes()
    }
}

/// A load that is ready.
#[derive(Debug)]
pub struct Load {
    source: Source,
    seconds: f64,
}

#[derive(Debug)]
enum Source {
    Driver(Driver),
    Generator(Generator),
    Live,
}

impl Load {
    /// Makes it ready; says what is missing for it.
    pub fn new(choice: &LoadChoice, target: Target) -> Result<Self, MeasureError> {
        let seconds = target.seconds;
        let driver = |requests, rate| Source::Driver(Driver::new(requests, target.connections, rate));
        let source = match choice {
            LoadChoice::Mix => driver(target.url.as_ref().map_or_else(mix::requests, |url| vec![url.request()]), None),
            LoadChoice::Replay { log, rate } => driver(replayed(log)?, *rate),
            LoadChoice::Live => Source::Live,
            LoadChoice::Wrk => Source::Generator(Generator::new(Program::Wrk, target)?),
            LoadChoice::H2load => Source::Generator(Generator::new(Program::H2load, target)?),
        };
        Ok(Self { source, seconds })
    }

    /// Loads the stage for a slice, and measures.
    pub fn slice(&mut self, stage: &mut dyn Stage) -> Result<Slice, MeasureError> {
        let address = stage.address();
        let (share, least, most) = WARM_UP;
        let usual = Duration::from_secs_f64((self.seconds * share).clamp(least, most));
        let warm_up = if stage.take_fresh() { usual.max(FRESH_WARM_UP) } else { usual };
        let length = Duration::from_secs_f64(self.seconds);
        let slice = match &mut self.source {
            Source::Driver(driver) => driver.slice(address, warm_up, length, &mut || stage.cpu_ns())?,
            Source::Generator(generator) => generator.slice(address, &mut || stage.cpu_ns())?,
            Source::Live => live(stage, length)?,
        };
        if slice.requests == 0 {
            return Err(MeasureError::program("load", "no request was answered"));
        }
        Ok(slice)
    }
}

fn replayed(log: &Path) -> Result<Vec<Vec<u8>>, MeasureError> {
    let found = access_log::read(log)?;
    if found.skipped > 0 {
        eprintln!("{}: skipped {} that cannot be replayed", log.display(), counted(found.skipped, "line"));
    }
    Ok(found.requests)
}

/// Waits while others load it.
fn live(stage: &mut dyn Stage, length: Duration) -> Result<Slice, MeasureError> {
    /// How often a wait looks whether it should end.
    const LOOK: Duration = Duration::from_millis(20);
    let counted = |stage: &mut dyn Stage| {
        stage.requests()?.ok_or_else(|| MeasureError::Usage("--load live needs Weir's ledger to count requests".into()))
    };
    // The answer of a busy process may take long, and is of some moment in between.
    let reading = |stage: &mut dyn Stage| {
        let (begun, requests, ended) = (stage.cpu_ns()?, counted(stage)?, stage.cpu_ns()?);
        Ok::<_, MeasureError>((requests, begun.midpoint(ended)))
    };
    let (before, cpu_before) = reading(stage)?;
    let start = std::time::Instant::now();
    while start.elapsed() < length {
        weir_measure::interrupt::check_interrupted()?;
        std::thread::sleep(LOOK.min(length.saturating_sub(start.elapsed())));
    }
    let (after, cpu_after) = reading(stage)?;
    let requests = after.saturating_sub(before);
    if requests == 0 {
        return Err(MeasureError::Missing(
            "no request was counted: traffic is needed (`weir ablate` sends some with --url or --load replay:LOG)"
                .into(),
        ));
    }
    Ok(Slice { requests, refused: 0, cpu_ns: cpu_after.saturating_sub(cpu_before) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_from_the_command_line() {
        let replay = |log: &str, rate| Ok(LoadChoice::Replay { log: log.into(), rate });
        for (text, want) in [
            ("mix", Ok(LoadChoice::Mix)),
            ("wrk", Ok(LoadChoice::Wrk)),
            ("replay:a.log", replay("a.log", None)),
            ("replay:a.log@500", replay("a.log", Some(500.0))),
            ("replay:a@b.log", replay("a@b.log", None)),
            ("replay:a.log@0", Err("a rate is a number of requests per second from 0.1 to 1000000".to_owned())),
            ("replay:", Err("expected mix, wrk, h2load, live or replay:ACCESS_LOG[@RATE]".to_owned())),
            ("ab", Err("expected mix, wrk, h2load, live or replay:ACCESS_LOG[@RATE]".to_owned())),
        ] {
            assert_eq!(text.parse::<LoadChoice>(), want, "{text}");
        }
    }

    #[test]
    fn urls_have_a_host_and_a_target() {
        let url = |host: &str, target: &str| Ok(Url { host: host.into(), target: target.into() });
        assert_eq!("http://127.0.0.1:81".parse::<Url>(), url("127.0.0.1:81", "/"));
        assert_eq!("http://a/b?c".parse::<Url>(), url("a", "/b?c"));
        for bad in ["https://a/", "http://", "a", "http://a/ b"] {
            assert!(bad.parse::<Url>().is_err(), "{bad}");
        }
        assert_eq!("http://127.0.0.1".parse::<Url>().unwrap().address().unwrap().port(), 80);
    }
}
