//! Data traffic through the gateway at a fixed rate, in quiet and beside 2,000 changes a second: does
//! anyone notice? The same requests on the same policy; only the changes differ.

use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::answered::applied;
use super::contender::{Contender, Turn};
use super::crowd::{Conversation, Crowd};
use super::live::{self, told};
use super::nginx::{self, Directives};
use super::policy::{Change, MemberPlacement, PolicySize, host};
use super::stage::Stage;
use super::weir::Weir;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Answer};
use weir_measure::server::Server;

/// 1,000 routes and 1,000 members on 10 sites.
const SIZE: PolicySize = PolicySize { members: 1_000, sites: 10, routes: 1_000 };
/// Requests per second: about a third of what two cores can do, so that queues are short in quiet.
const REQUESTS_PER_SECOND: f64 = 3_000.0;
/// Addresses of the origin.
const ADDRESSES: usize = 10;
/// As fast as answers come, before the counted part of a turn.
const WARM_UP: Duration = Duration::from_millis(700);
/// Connections of the clients.
const CLIENTS: usize = 16;
/// Connections that changes come on.
const CHANGERS: usize = 8;
/// Step between the routes that are asked for one after the other; has no factor in common with 1,000.
const STRIDE: u64 = 617;

/// Both rows share a gateway and an origin.
pub struct Shared {
    weir: Weir,
    _origin: Server,
}

struct Traffic {
    shared: Rc<Shared>,
    changes_per_second: Option<f64>,
    next: u64,
}

/// Traffic beside so many changes a second, or none.
pub fn start(stage: &Stage<'_>, changes_per_second: Option<f64>) -> Result<Box<dyn Contender>, MeasureError> {
    let shared = stage.traffic(|| {
        let port = weir_measure::port::free()?;
        let origin = start_origin(stage, port)?;
        Ok(Shared {
            weir: Weir::start(stage, "traffic", SIZE, MemberPlacement { port, addresses: ADDRESSES })?,
            _origin: origin,
        })
    })?;
    Ok(Box::new(Traffic { shared, changes_per_second, next: 0 }))
}

fn start_origin(stage: &Stage<'_>, port: u16) -> Result<Server, MeasureError> {
    let listen: String = (1..=ADDRESSES).map(|n| format!("    listen 127.0.0.{n}:{port};\n")).collect();
    let http = format!("  server {{\n{listen}    location / {{ return 200 \"ok\"; }}\n  }}\n");
    nginx::start(stage.site, "traffic-origin", port, &[], &Directives { http, ..Directives::default() })
}

/// The clients' side.
struct Clients {
    next: u64,
    failed: u64,
    first_failure: Option<String>,
}

impl Conversation for Clients {
    fn request(&mut self, into: &mut Vec<u8>) {
        use std::io::Write;
        self.next += 1;
        let route = self.next * STRIDE % SIZE.routes as u64;
        let host = host(route as usize % SIZE.sites);
        into.clear();
        write!(into, "GET /r{route}/item?id={} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: weir-bench\r\n\r\n", self.next)
            .expect("a Vec takes every byte");
    }

    fn answer(&mut self, head: &[u8], answer: &Answer) -> Result<(), MeasureError> {
        let head = String::from_utf8_lossy(head);
        if answer.status != 200 || told(&head).is_none() {
            return self.failed(format!("{head}: {:.200}", String::from_utf8_lossy(&answer.body)));
        }
        Ok(())
    }

    fn failed(&mut self, why: String) -> Result<(), MeasureError> {
        self.failed += 1;
        self.first_failure.get_or_insert(why);
        Ok(())
    }
}

/// The changers' side: every hundredth revision goes to the checker.
struct Changers<'c> {
    weir: &'c Weir,
    answered: u64,
    revisions: Sender<u64>,
}

impl Conversation for Changers<'_> {
    fn request(&mut self, into: &mut Vec<u8>) {
        Change::Weight.request(self.weir.next(), SIZE, into);
    }

    fn answer(&mut self, _head: &[u8], answer: &Answer) -> Result<(), MeasureError> {
        let applied = applied(answer).map_err(|message| MeasureError::wrong("traffic", message))?;
        self.answered += 1;
        if self.answered.is_multiple_of(live::EVERY) {
            // A checker that has ended says why itself.
            let _ = self.revisions.send(applied.revision);
        }
        Ok(())
    }

    fn failed(&mut self, why: String) -> Result<(), MeasureError> {
        Err(MeasureError::wrong("traffic", format!("a change was not answered: {why}")))
    }
}

impl Traffic {
    /// Makes changes for `length` if there are to be any; how many a second were answered. The checker ends
    /// with the sender.
    fn change(&self, length: Duration, revisions: Sender<u64>) -> Result<Option<f64>, MeasureError> {
        let weir = &self.shared.weir;
        let Some(rate) = self.changes_per_second else { return Ok(None) };
        let crowd = Crowd { address: weir.address(), connections: CHANGERS, rate: Some(rate) };
        crowd.run(length, &mut Changers { weir, answered: 0, revisions }).map(|figures| Some(figures.per_second))
    }
}

impl Contender for Traffic {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let (address, weir) = (Address::local(self.shared.weir.port), &self.shared.weir);
        let mut clients = Clients { next: self.next, failed: 0, first_failure: None };
        // Every member gets its idle connection, and sleepers wake up.
        Crowd { address: address.clone(), connections: CLIENTS, rate: None }.run(WARM_UP, &mut clients)?;
        weir.take_held_us()?;
        let (sender, revisions) = channel();
        let crowd = Crowd { address, connections: CLIENTS, rate: Some(REQUESTS_PER_SECOND) };
        let (figures, changed, checked) = std::thread::scope(|scope| {
            let data = scope.spawn(|| crowd.run(length, &mut clients));
            let port = weir.port;
            let checker = scope.spawn(move || live::check(port, &host(0), &revisions));
            let changed = self.change(length, sender);
            (joined(data), changed, joined(checker))
        });
        let (figures, changed, checked) = (figures?, changed?, checked?);
        if let Some(why) = &clients.first_failure {
            eprintln!("{} data requests failed; the first: {why}", clients.failed);
        }
        self.next = clients.next;
        Ok(Turn {
            held_us: changed.is_some().then(|| weir.take_held_us()).transpose()?,
            failed: Some(clients.failed),
            changes_per_second: changed,
            checked: changed.map(|_| checked),
            ..Turn::from(figures)
        })
    }
}

fn joined<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
