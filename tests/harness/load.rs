//! Load: several concurrent clients while something else happens.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::{Connection, Request};

/// The results of a load.
#[derive(Debug, Default)]
pub struct Totals {
    /// Requests answered 200.
    pub answered: usize,
    /// Everything else: other statuses, and connections lost during a request.
    pub failed: Vec<String>,
}

/// How long a client keeps its connection before it opens a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// One request per connection.
    One,
    /// Until the server closes it, which it may do between two requests.
    KeepAlive,
}

/// Sends `request` repeatedly from `clients` threads while `meanwhile` runs.
pub fn during(
    port: u16,
    clients: usize,
    life: Life,
    request: &Request,
    meanwhile: impl FnOnce(&AtomicUsize),
) -> Totals {
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let run = || client(port, life, request, &stop, &count);
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(run)).collect();
        meanwhile(&count);
        stop.store(true, Ordering::Relaxed);
        let totals = clients.into_iter().map(|client| client.join().expect("clients do not panic"));
        totals.fold(Totals::default(), |mut sum, totals| {
            sum.answered += totals.answered;
            sum.failed.extend(totals.failed);
            sum
        })
    })
}

fn client(port: u16, life: Life, request: &Request, stop: &AtomicBool, count: &AtomicUsize) -> Totals {
    let mut totals = Totals::default();
    let mut kept: Option<Connection> = None;
    while !stop.load(Ordering::Relaxed) {
        let fresh = kept.is_none();
        let opened = kept.take().map_or_else(|| Connection::try_open(port), Ok);
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(error) => {
                totals.failed.push(format!("connect: {error}"));
                continue;
            }
        };
        match request.try_send_on(&mut connection) {
            Ok(response) if response.status == 200 => {
                totals.answered += 1;
                count.fetch_add(1, Ordering::Relaxed);
                let closing = response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
                kept = (life == Life::KeepAlive && !closing).then_some(connection);
            }
            Ok(response) => totals.failed.push(format!("status {}", response.status)),
            // A server may close an idle connection at any time (RFC 9112, section 9.3.1): a
            // request that crosses with that is sent again on a new one, as every client does.
            Err(_) if !fresh && !connection.has_begun() => {}
            Err(error) => totals.failed.push(error.to_string()),
        }
    }
    totals
}
