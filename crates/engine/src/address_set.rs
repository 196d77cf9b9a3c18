//! A set of addresses and networks: a million entries, one look-up under 200 ns.
//!
//! Networks are merged into disjoint ranges, which are the leaves of a compressed trie
//! (`range_trie.rs`). `benches/lists.rs` has the figures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::range_trie::RangeTrie;

/// Immutable set of addresses.
#[derive(Clone, Debug, Default)]
pub struct AddressSet {
    v4: RangeTrie<u32>,
    v6: RangeTrie<u128>,
    entries: usize,
}

impl AddressSet {
    /// A set of all addresses in `networks`. IPv4-mapped IPv6 networks count as IPv4.
    #[must_use]
    pub fn from_networks(networks: impl IntoIterator<Item = IpNet>) -> Self {
        let (mut v4, mut v6, mut entries) = (Vec::new(), Vec::new(), 0);
        for network in networks {
            entries += 1;
            match network {
                IpNet::V4(net) => v4.push((net.network().to_bits(), net.broadcast().to_bits())),
                IpNet::V6(net) => match net.network().to_ipv4_mapped() {
                    Some(first) if net.prefix_len() >= 96 => {
                        let last = net.broadcast().to_ipv4_mapped().unwrap_or(first);
                        v4.push((first.to_bits(), last.to_bits()));
                    }
                    _ => v6.push((net.network().to_bits(), net.broadcast().to_bits())),
                },
            }
        }
        Self { v4: RangeTrie::new(v4), v6: RangeTrie::new(v6), entries }
    }

    /// Whether `address` is in the set. IPv4-mapped IPv6 addresses count as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => self.contains_v4(v4),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => self.contains_v4(v4),
                None => self.contains_v6(v6),
            },
        }
    }

    /// Number of networks that it was made of.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    fn contains_v4(&self, address: Ipv4Addr) -> bool {
        self.v4.contains(address.to_bits())
    }

    fn contains_v6(&self, address: Ipv6Addr) -> bool {
        self.v6.contains(address.to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(networks: &[&str]) -> AddressSet {
        AddressSet::from_networks(networks.iter().map(|text| text.parse::<IpNet>().unwrap()))
    }

    #[test]
    fn holds_what_its_networks_hold() {
        let set =
            set(&["192.0.2.0/24", "10.0.0.1/32", "2001:db8::/32", "::ffff:203.0.113.0/120", "255.255.255.255/32"]);
        for (address, expected) in [
            ("192.0.2.0", true),
            ("192.0.2.255", true),
            ("192.0.3.0", false),
            ("192.0.1.255", false),
            ("10.0.0.1", true),
            ("10.0.0.2", false),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
            ("203.0.113.9", true),
            ("::ffff:192.0.2.1", true),
            ("255.255.255.255", true),
            ("0.0.0.0", false),
        ] {
            assert_eq!(set.contains(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn an_empty_set_holds_nothing_and_the_whole_net_everything() {
        assert!(!AddressSet::default().contains("0.0.0.0".parse().unwrap()));
        assert!(set(&["0.0.0.0/0"]).contains("255.1.2.3".parse().unwrap()));
        assert!(set(&["::/0"]).contains("fe80::1".parse().unwrap()));
    }

    #[test]
    fn one_wide_network_after_many_narrow_ones() {
        let mut texts: Vec<String> = (0..64).map(|last| format!("0.0.0.{}/32", last * 2)).collect();
        texts.push("128.0.0.0/1".to_owned());
        let set = set(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for (address, expected) in
            [("0.0.0.2", true), ("0.0.0.3", false), ("127.0.0.1", false), ("255.255.255.255", true)]
        {
            assert_eq!(set.contains(address.parse().unwrap()), expected, "{address}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_linear_search(
            v4 in prop::collection::vec((any::<u32>(), 8u8..=32), 0..300),
            v6 in prop::collection::vec((any::<u64>(), 20u8..=128), 0..300),
            probes in prop::collection::vec(any::<u32>(), 50),
        ) {
            let mut networks: Vec<IpNet> = v4.iter().map(|(bits, len)| {
                IpNet::new(IpAddr::V4(Ipv4Addr::from_bits(*bits)), *len).unwrap().trunc()
            }).collect();
            networks.extend(v6.iter().map(|(bits, len)| {
                let address = (0x2001_0db8u128 << 96) | u128::from(*bits) << 20;
                IpNet::new(IpAddr::V6(Ipv6Addr::from_bits(address)), *len).unwrap().trunc()
            }));
            let set = AddressSet::from_networks(networks.iter().copied());
            let mut addresses: Vec<IpAddr> = probes.iter().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(*bits))).collect();
            for network in &networks {
                addresses.push(network.network());
                addresses.push(network.broadcast());
                if let IpAddr::V4(last) = network.broadcast() {
                    addresses.push(IpAddr::V4(Ipv4Addr::from_bits(last.to_bits().wrapping_add(1))));
                }
                if let IpAddr::V6(last) = network.broadcast() {
                    addresses.push(IpAddr::V6(Ipv6Addr::from_bits(last.to_bits().wrapping_add(1))));
                }
            }
            for address in addresses {
                let expected = networks.iter().any(|network| network.contains(&address));
                prop_assert_eq!(set.contains(address), expected, "{}", address);
            }
        }
    }
}
