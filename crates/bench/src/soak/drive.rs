//! The driver of a soak: sends requests, reloads nginx, weighs its processes, and counts answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::gateway::{self, Gateway};
use super::traffic::{self, Delivery};
use super::verdict::{Finding, Weighing};
use weir_measure::error::MeasureError;
use weir_measure::h2load;
use weir_measure::http::{Address, Client, Retry};
use weir_measure::interrupt::check_interrupted;
use weir_measure::process::Footprint;
use weir_measure::server::Server;
use weir_measure::site::Site;

/// Requests over HTTP/2 in each generation, per hundred.
const HTTP2_PERCENT: u64 = 10;
/// Threads of the client; each has one connection.
const CLIENTS: u64 = 8;
/// How long an old worker may take to finish after a reload.
const RELOAD_LIMIT: Duration = Duration::from_secs(60);
/// How long `h2load` may take.
const HTTP2_LIMIT: Duration = Duration::from_secs(120);
/// Wrong answers that are quoted.
const QUOTED: usize = 10;

/// The answers so far, by kind of request and status.
#[derive(Debug, Default)]
pub struct Answers {
    /// How often each kind got each answer.
    pub answers: BTreeMap<String, u64>,
    wrong: Vec<String>,
    wrong_count: u64,
}

/// A soak under way.
pub struct Soak<'s> {
    server: &'s Server,
    site: &'s Site,
    http2_port: u16,
    /// The gateway.
    pub gateway: Gateway,
    /// Requests answered so far.
    pub requests: u64,
    /// Reloads so far.
    pub reloads: u32,
    /// The answers to the clients so far.
    pub seen: Answers,
}

impl<'s> Soak<'s> {
    /// Before the first request.
    #[must_use]
    pub fn new(server: &'s Server, site: &'s Site, http2_port: u16, gateway: Gateway) -> Self {
        Self { server, site, http2_port, gateway, requests: 0, reloads: 0, seen: Answers::default() }
    }

    /// One generation's share of requests; the reload falls into the middle of the HTTP/1 part, and the changes into the
    /// middle of what is left of it.
    pub fn generation(&mut self, share: u64, changes: u64, reload: bool) -> Result<(), MeasureError> {
        let http2 = share * HTTP2_PERCENT / 100;
        let half = (share - http2) / 2;
        let old = self.server.workers();
        if reload {
            let server = self.server;
            self.mixed(half, |_| server.signal(libc::SIGHUP))?;
            self.await_new_worker(&old)?;
            self.reloads += 1;
        } else {
            self.mixed(half, |_| ())?;
        }
        let mut changed = Ok(());
        self.mixed(share - http2 - half, |gateway| changed = (0..changes).try_for_each(|_| gateway.change()))?;
        changed?;
        self.over_http2(http2)?;
        self.server.empty_logs()
    }

    /// Sends `count` mixed requests from several threads; `meanwhile` is called while they run.
    fn mixed(&mut self, count: u64, meanwhile: impl FnOnce(&mut Gateway)) -> Result<(), MeasureError> {
        check_interrupted()?;
        let (ports, base) = ([self.server.port, self.gateway.port], self.requests);
        let gateway = &mut self.gateway;
        let next = AtomicU64::new(0);
        let seen = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| serve(ports, base, count, &next))).collect();
            while next.load(Ordering::Relaxed) < count / 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            meanwhile(gateway);
            clients.into_iter().map(|client| client.join().expect("a client does not panic")).collect::<Vec<_>>()
        });
        for one in seen {
            self.seen.merge(one);
        }
        self.requests += count;
        Ok(())
    }

    fn over_http2(&mut self, count: u64) -> Result<(), MeasureError> {
        if count == 0 {
            return Ok(());
        }
        let arguments = [
            format!("-n{count}"),
            "-c8".into(),
            "-m8".into(),
            "-HUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0".into(),
            "-HX-Forwarded-For: 20.30.40.50".into(),
            format!("http://127.0.0.1:{}/products/17?page=3", self.http2_port),
        ];
        let [good, ..] = h2load::run(&arguments, self.site.placement, &self.site.path("h2load.out"), HTTP2_LIMIT)?;
        *self.seen.answers.entry("http/2: 200".into()).or_default() += good;
        if good < count {
            self.seen.wrong_count += count - good;
            self.seen.wrong.push(format!("http/2: {} of {count} requests had no answer of class 2", count - good));
        }
        self.requests += count;
        Ok(())
    }

    fn await_new_worker(&self, old: &[u32]) -> Result<(), MeasureError> {
        let deadline = Instant::now() + RELOAD_LIMIT;
        loop {
            check_interrupted()?;
            let all = weir_measure::process::children(self.server.id());
            let replaced =
                all.len() == old.len() && self.server.workers() == all && !all.iter().any(|pid| old.contains(pid));
            if replaced {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(MeasureError::wrong(
                    "soak",
                    format!(
                        "a reload was not over after {RELOAD_LIMIT:?}: workers {old:?} before, children {all:?} now\n{}",
                        self.server.error_log()
                    ),
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Weighs master and worker.
    pub fn weigh(&self) -> Result<Weighing, MeasureError> {
        let worker = *self.server.workers().first().ok_or_else(|| MeasureError::wrong("soak", "there is no worker"))?;
        let runtime = self.server.directory.join("run");
        Ok(Weighing {
            requests: self.requests,
            reloads: self.reloads,
            worker: Footprint::of(worker)?,
            master: Footprint::of(self.server.id())?,
            runtime_files: std::fs::read_dir(&runtime).map_err(MeasureError::file(&runtime))?.count() as u64,
        })
    }

    /// Whether all answers were right and no process crashed.
    pub fn findings(&self) -> Vec<Finding> {
        let log = std::fs::read_to_string(self.server.directory.join("error.log")).unwrap_or_default();
        let crashes: Vec<&str> =
            log.lines().filter(|line| line.contains("exited on signal") || line.contains("panic")).collect();
        let wrong = match self.seen.wrong.is_empty() {
            true => format!("all {} requests were answered correctly", self.requests),
            false => format!(
                "{} requests were answered incorrectly, such as: {}",
                self.seen.wrong_count,
                self.seen.wrong.join("; ")
            ),
        };
        let crashed = match crashes.first() {
            None => "no worker crashed and nothing panicked".to_owned(),
            Some(first) => format!("{} crashes or panics, the first: {first}", crashes.len()),
        };
        vec![Finding::new(self.seen.wrong.is_empty(), wrong), Finding::new(crashes.is_empty(), crashed)]
    }
}

/// One client's part: takes numbers until `count` have been taken.
fn serve([port, gateway_port]: [u16; 2], base: u64, count: u64, next: &AtomicU64) -> Answers {
    let connect = |port| Client::new(Address::local(port)).retry(Retry::Reused);
    let (mut client, mut of_gateway) = (connect(port), connect(gateway_port));
    let mut seen = Answers::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return seen;
        }
        let random = mix(base + number);
        if number.is_multiple_of(gateway::SHARE) {
            let (bytes, right) = gateway::draw(random);
            let answer = of_gateway.exchange(&bytes).map(|answer| answer.status);
            let words = match &answer {
                Ok(status) => format!("gateway: {status}"),
                Err(error) => format!("gateway: {error}"),
            };
            seen.count(words, answer.is_ok_and(|status| status == right));
            continue;
        }
        let kind = traffic::draw(random);
        let answer = send(&mut client, &(kind.bytes)(random >> 32), kind.delivery);
        let words = match &answer {
            Ok(status) => format!("{}: {status}", kind.name),
            Err(error) => format!("{}: {error}", kind.name),
        };
        let right = match answer {
            Ok(status) => kind.right.contains(&status),
            Err(_) => kind.delivery != Delivery::Whole,
        };
        seen.count(words, right);
    }
}

/// The status of the answer; 0 if the server closed without one, or the client hung up.
fn send(client: &mut Client, bytes: &[u8], delivery: Delivery) -> Result<u16, MeasureError> {
    let status = match delivery {
        Delivery::Whole => return client.exchange(bytes).map(|answer| answer.status),
        Delivery::Broken => client.exchange(bytes).map_or(0, |answer| answer.status),
        Delivery::Abandoned => {
            client.send(bytes);
            0
        }
    };
    client.close();
    Ok(status)
}

impl Answers {
    fn count(&mut self, words: String, right: bool) {
        if !right {
            self.wrong_count += 1;
            if self.wrong.len() < QUOTED {
                self.wrong.push(words.clone());
            }
        }
        *self.answers.entry(words).or_default() += 1;
    }

    fn merge(&mut self, other: Self) {
        for (words, count) in other.answers {
            *self.answers.entry(words).or_default() += count;
        }
        self.wrong_count += other.wrong_count;
        let room = QUOTED.saturating_sub(self.wrong.len());
        self.wrong.extend(other.wrong.into_iter().take(room));
    }
}

/// The finaliser of splitmix64: spreads consecutive numbers.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_reports_keep_counts_and_bound_their_quotes() {
        let one = || Answers {
            answers: BTreeMap::from([("get: 200".into(), 2)]),
            wrong: vec!["x".into(); 7],
            wrong_count: 7,
        };
        let mut all = one();
        all.merge(one());
        assert_eq!((all.answers["get: 200"], all.wrong_count, all.wrong.len()), (4, 14, QUOTED));
    }
}
