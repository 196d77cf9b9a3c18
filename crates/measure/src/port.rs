//! Free ports on loopback.
//!
//! Ports below the kernel's ephemeral range, so that the load's own outgoing connections
//! cannot take one between the search and the use.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::MeasureError;

/// First port tried.
const FIRST: u16 = 20_000;
/// One past the last port tried; Linux hands out 32768 and above by itself.
const END: u16 = 30_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A free port on 127.0.0.1 that this process has not returned before.
pub fn free() -> Result<u16, MeasureError> {
    let span = END - FIRST;
    // Two runs at once begin at different places.
    let offset = u16::try_from(std::process::id() % u32::from(span)).unwrap_or(0);
    for _ in 0..span {
        let candidate = FIRST + (offset + NEXT.fetch_add(1, Ordering::Relaxed) % span) % span;
        if TcpListener::bind(("127.0.0.1", candidate)).is_ok() {
            return Ok(candidate);
        }
    }
    Err(MeasureError::Missing(format!("no free port between {FIRST} and {END} on 127.0.0.1")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_differ_and_can_be_bound() {
        let first = super::free().unwrap();
        let second = super::free().unwrap();
        assert_ne!(first, second);
        std::net::TcpListener::bind(("127.0.0.1", second)).unwrap();
    }
}
