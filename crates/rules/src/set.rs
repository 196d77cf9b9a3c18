//! Sets in a unique, minimal normal form, so that equal sets compare equal: strings sorted without
//! duplicates, integer ranges merged, addresses as the fewest networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Sorts and removes duplicates.
pub(crate) fn strings(mut all: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    all.sort_unstable();
    all.dedup();
    all
}

/// Sorts inclusive ranges and merges those that overlap or touch.
pub(crate) fn integers(mut all: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    all.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(all.len());
    for (low, high) in all {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// A range of addresses of one family, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressRange {
    V4(u32, u32),
    V6(u128, u128),
}

impl AddressRange {
    /// The range from one address to another; `None` if their families differ or the order is wrong.
    pub fn between(low: IpAddr, high: IpAddr) -> Option<Self> {
        match (low, high) {
            (IpAddr::V4(low), IpAddr::V4(high)) if low <= high => Some(Self::V4(low.into(), high.into())),
            (IpAddr::V6(low), IpAddr::V6(high)) if low <= high => Some(Self::V6(low.into(), high.into())),
            _ => None,
        }
    }

    /// All addresses of a network.
    pub fn network(network: IpNet) -> Self {
        match network {
            IpNet::V4(network) => Self::V4(network.network().into(), network.broadcast().into()),
            IpNet::V6(network) => Self::V6(network.network().into(), network.broadcast().into()),
        }
    }

    /// Merges with a range that sorts after it, if they overlap or touch.
    fn absorb(&mut self, next: Self) -> bool {
        match (self, next) {
            (Self::V4(_, high), Self::V4(low, end)) if low <= high.saturating_add(1) => {
                *high = end.max(*high);
                true
            }
            (Self::V6(_, high), Self::V6(low, end)) if low <= high.saturating_add(1) => {
                *high = end.max(*high);
                true
            }
            _ => false,
        }
    }
}

/// The fewest networks that cover exactly these ranges: IPv4 first, ascending.
pub(crate) fn networks(mut all: Vec<AddressRange>) -> Vec<IpNet> {
    all.sort_unstable();
    let mut merged: Vec<AddressRange> = Vec::with_capacity(all.len());
    for range in all {
        if !merged.last_mut().is_some_and(|last| last.absorb(range)) {
            merged.push(range);
        }
    }
    let mut networks = Vec::with_capacity(merged.len());
    for range in merged {
        match range {
            AddressRange::V4(low, high) => cut(low.into(), high.into(), 32, &mut |address, length| {
                let address = Ipv4Addr::from(u32::try_from(address).expect("within the range's 32 bits"));
                networks.push(IpNet::V4(Ipv4Net::new_assert(address, length)));
            }),
            AddressRange::V6(low, high) => cut(low, high, 128, &mut |address, length| {
                networks.push(IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from(address), length)));
            }),
        }
    }
    networks
}

/// Cuts `low..=high` into networks: the largest that starts at `low`, then on from its end.
fn cut(mut low: u128, high: u128, bits: u32, add: &mut dyn FnMut(u128, u8)) {
    loop {
        // As many host bits as the alignment of `low` and the distance to `high` allow.
        let aligned = low.trailing_zeros().min(bits);
        let fits = match (high - low).checked_add(1) {
            Some(count) => count.ilog2(),
            None => 128,
        };
        let host = aligned.min(fits);
        add(low, u8::try_from(bits - host).expect("at most 128"));
        let last = low | 1u128.checked_shl(host).map_or(u128::MAX, |size| size - 1);
        if last >= high {
            return;
        }
        low = last + 1;
    }
}
