//! Names of endpoints, resolved by a thread beside the event loop, again every [`AGAIN`]. While a name cannot be resolved,
//! its last addresses stay.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::live::builder;

/// How often names are resolved.
const AGAIN: Duration = Duration::from_secs(30);
/// How soon one that had no address is tried again.
const SOON: Duration = Duration::from_secs(2);
/// Names that are resolved; one thread does it, one after the other.
const MAX_NAMES: usize = 256;

type Found = Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>;

struct Resolver {
    wanted: Sender<String>,
    found: Found,
}

thread_local! {
    static RESOLVER: RefCell<Option<Resolver>> = const { RefCell::new(None) };
}

/// Addresses of `host:port`: at once if that is an address, otherwise what was found so far. The name is resolved from now
/// on.
pub fn addresses(endpoint: &str) -> Vec<SocketAddr> {
    if let Ok(address) = endpoint.parse() {
        return vec![address];
    }
    RESOLVER.with_borrow_mut(|resolver| {
        let resolver = resolver.get_or_insert_with(start);
        let mut found = resolver.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(addresses) = found.get(endpoint) {
            return addresses.clone();
        }
        if found.len() < MAX_NAMES {
            found.insert(endpoint.to_owned(), Vec::new());
            let _ = resolver.wanted.send(endpoint.to_owned()); // without a thread it stays without an address
        }
        Vec::new()
    })
}

fn start() -> Resolver {
    let (wanted, names) = channel();
    let found = Found::default();
    let shared = Arc::clone(&found);
    builder::without_signals(|| {
        let thread = std::thread::Builder::new().name("weir-resolve".into());
        let _ = thread.spawn(move || work(&names, &shared));
    });
    Resolver { wanted, found }
}

fn work(wanted: &Receiver<String>, found: &Found) {
    let mut names: Vec<(Instant, String)> = Vec::new();
    loop {
        let next = names.iter().map(|(at, _)| *at).min();
        let pause = next.map_or(AGAIN, |at| at.saturating_duration_since(Instant::now()));
        match wanted.recv_timeout(pause) {
            Ok(name) => names.push((Instant::now(), name)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for (at, name) in names.iter_mut().filter(|(at, _)| *at <= Instant::now()) {
            let addresses: Vec<SocketAddr> = name.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            *at = Instant::now() + if addresses.is_empty() { SOON } else { AGAIN };
            if !addresses.is_empty() {
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), addresses);
            }
        }
    }
}
