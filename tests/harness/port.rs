//! Ports for listeners, below the kernel's ephemeral range, so that no outgoing connection of
//! another test can take one between its choice and the `bind`.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port to try, above those of well-known services.
const FIRST: u16 = 12_000;
/// The number of ports to use in turn; Linux assigns ephemeral ports from 32768 on.
const COUNT: u16 = 20_000;

/// A free port on 127.0.0.1 that no other test of this process gets.
///
/// # Panics
/// If no port of the range is free.
#[must_use]
pub fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time start at different ports.
    let start = std::process::id().wrapping_mul(7919) % u32::from(COUNT);
    for _ in 0..COUNT {
        let at = (start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed) % COUNT)) % u32::from(COUNT);
        let port = FIRST + u16::try_from(at).expect("below COUNT");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
