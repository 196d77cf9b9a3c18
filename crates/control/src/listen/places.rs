//! How many connections there may be: in all, and of one client address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections of one listener at most. Watchers keep theirs, so it is beyond what scripts need.
pub const MAX_CONNECTIONS: usize = 1024;

/// Descriptors that are kept for everything that is not a connection over TCP: the Unix socket, the
/// store, files, health checks, sandboxes.
const RESERVED_DESCRIPTORS: usize = 256;

/// The share of all places that one client address may take: one of this many.
const SHARES: usize = 4;

/// The places of a listener.
#[derive(Debug)]
pub(super) struct Places {
    all: usize,
    share: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// A place, which becomes free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    client: Option<IpAddr>,
}

impl Places {
    /// Places for users of the Unix socket.
    pub fn local() -> Arc<Self> {
        Self::new(MAX_CONNECTIONS, MAX_CONNECTIONS)
    }

    /// Places for TCP: as many as the limit of descriptors (`RLIMIT_NOFILE`) allows beside the rest.
    pub fn remote() -> Arc<Self> {
        let descriptors = descriptor_limit().unwrap_or(MAX_CONNECTIONS);
        let all = descriptors.saturating_sub(RESERVED_DESCRIPTORS).min(descriptors / 2).clamp(SHARES, MAX_CONNECTIONS);
        Self::new(all, all / SHARES)
    }

    fn new(all: usize, share: usize) -> Arc<Self> {
        Arc::new(Self { all, share, taken: Mutex::default() })
    }

    /// A place for a client, if there is one. Addresses of IPv6 count by /64.
    pub fn take(self: &Arc<Self>, client: Option<IpAddr>) -> Option<Place> {
        let client = client.map(network);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.all == self.all {
            return None;
        }
        if let Some(client) = client {
            let count = taken.by_client.entry(client).or_default();
            if *count >= self.share {
                return None;
            }
            *count += 1;
        }
        taken.all += 1;
        Some(Place { places: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        if let Some(client) = self.client
            && let Some(count) = taken.by_client.get_mut(&client)
        {
            *count -= 1;
            if *count == 0 {
                taken.by_client.remove(&client);
            }
        }
    }
}

/// The limit of open descriptors, raised as far as the process may.
fn descriptor_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write one struct, which is valid throughout.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return None;
        }
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) == 0 {
            limit = raised;
        }
    }
    usize::try_from(limit.rlim_cur).ok()
}

/// What one client has: an address of IPv4, a /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_share() {
        let places = Places::new(4, 2);
        let take = |address: &str| places.take(Some(address.parse().unwrap()));
        let held = [take("192.0.2.1"), take("::ffff:192.0.2.1"), take("2001:db8::1")];
        assert!(held.iter().all(Option::is_some));
        assert!(take("192.0.2.1").is_none(), "its share is taken");
        let last = take("2001:db8::2");
        assert!(last.is_some() && take("192.0.2.9").is_none() && places.take(None).is_none(), "all are taken");
        drop(last);
        assert!(take("192.0.2.9").is_some());
        drop(held);
        assert!(places.taken.lock().unwrap().by_client.is_empty());
    }
}
